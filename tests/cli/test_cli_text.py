"""`zoo train`, `finetune`, `generate` and `evaluate` with language models, by the real command."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Result, environment_in, finish, start_in

TEXT = "the quick brown fox jumps over the lazy dog.\n" * 60
TRAIN = (
    "train", "--config", "nano", "--tokenizer", "bytes", "--width", "24", "--batch-size", "2",
    "--threads", "1",
)  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with book.txt and a finished run of one epoch on it. Not to be changed."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "book.txt").write_text(TEXT)
    arguments = (*TRAIN, "--data", "book.txt", "--epochs", "1", "--out", "run")
    result = finish(start_in(folder, environment_in(folder), arguments))
    assert result.returncode == 0, result.stderr
    assert "Found 1 document in 1 file: 2,701 tokens" in result.stdout
    assert "zoo generate run --prompt TEXT" in result.stdout
    return folder


@pytest.fixture
def here(trained: Path, tmp_path: Path) -> Path:
    """A copy of `trained` in which `zoo` runs."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return tmp_path


Zoo = Callable[..., Result]


def test_generate_goes_on_from_a_prompt_the_same_every_time(zoo: Zoo, here: Path) -> None:
    made = [zoo("generate", "run", "--prompt", "the q", "--max-tokens", 9) for _ in range(2)]
    assert made[0].returncode == 0, made[0].stderr
    assert made[0].stdout.startswith("the q") and len(made[0].stdout) > len("the q\n")
    assert made[0].stdout == made[1].stdout
    streamed = zoo("generate", "run", "--prompt", "the q", "--max-tokens", 9, "--stream")
    assert streamed.stdout == made[0].stdout


def test_generate_several_texts_as_json(zoo: Zoo, here: Path) -> None:
    result = zoo("generate", "run", "--prompt", "a", "--max-tokens", 4, "--n", 2, "--json")
    made = json.loads(result.stdout)
    assert [row["prompt"] for row in made] == ["a", "a"]
    assert made[0]["text"] != made[1]["text"] and made[0]["reason"] in ("length", "end")


def test_generate_takes_a_prompt_a_line_from_standard_input(
    here: Path,
) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "cli.main", "generate", "run", "--max-tokens", "2"],
        cwd=here, env=environment_in(here), input="one\n\ntwo\n", text=True,
        capture_output=True, timeout=120,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith("one") and "\ntwo" in process.stdout


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("--prompt", "x" * 70), "has 71 tokens, and the model reads at most 64"),
        (("--prompt", "x" * 60, "--max-tokens", 9), "69 tokens.* at most 64.*--window"),
        (("--prompt", "x", "--top-p", 2), "top_p=2.0; expected"),
        (("--prompt", "x", "--stream", "--n", 2), "--stream shows one text"),
    ],
)
def test_generate_refuses(zoo: Zoo, here: Path, arguments: Any, said: str) -> None:
    result = zoo("generate", "run", *arguments)
    assert result.returncode == 2 and result.stdout == ""
    assert re.search(said, result.stderr), result.stderr


def test_evaluate_gives_perplexity_and_bits(zoo: Zoo, here: Path) -> None:
    result = zoo("evaluate", "run", "--data", "book.txt", "--stride", 16, "--json")
    found = json.loads(result.stdout)
    assert found["tokens"] == 2700 and found["stride"] == 16
    text = zoo("evaluate", "run", "--data", "book.txt", "--stride", 16).stdout
    assert f"Perplexity {found['perplexity']:.3f}, {found['bits_per_byte']:.4f} bits" in text


def test_bad_bytes_are_named_with_their_offset(zoo: Zoo, here: Path) -> None:
    (here / "bad.txt").write_bytes(b"ab\xff\xfeA" * 9)
    result = zoo("evaluate", "run", "--data", "bad.txt")
    assert result.returncode == 1
    assert "bad.txt: byte 0xff at offset 2 is not UTF-8" in result.stderr
    assert zoo("evaluate", "run", "--data", "bad.txt", "--bad-bytes", "replace").returncode == 0


def test_finetune_with_adapters(zoo: Zoo, here: Path) -> None:
    result = zoo(
        "finetune", "gpt_nano", "--weights", "run", "--data", "book.txt", "--lora", "--epochs", 1,
        "--block-size", 32, "--tokens-per-step", 256, "--out", "two", "--threads", 1,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "LoRA of rank 8 beside c_attn" in result.stdout
    assert "Before training: validation perplexity" in result.stdout
    assert "blocks of 32 tokens, 8 a step" in result.stdout
    assert (here / "two" / "adapter" / "adapter_config.json").is_file()


def test_a_run_that_is_interrupted_goes_on(zoo: Zoo, start: Callable[..., Any], here: Path) -> None:
    arguments = (*TRAIN, "--data", "book.txt", "--epochs", 400, "--out", "long")
    process = start(*arguments)
    for line in process.stdout:
        if line.lstrip().startswith("1/400"):
            break
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "zoo finetune --resume long" in error
    refused = zoo("finetune", "--resume", "long", "--epochs", 2)
    assert refused.returncode == 2 and "epochs is 400, not 2" in refused.stderr
    process = start("train", "--resume", "long")
    assert "Resuming long after step" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)


def test_a_plan_says_what_is_there_and_writes_nothing(zoo: Zoo, here: Path) -> None:
    (here / "book.txt").write_bytes(TEXT.replace("\n", "\r\n").encode())
    result = zoo("finetune", "gpt_nano", "--weights", "run", "--data", "book.txt", "--plan")
    assert result.returncode == 0, result.stderr
    assert "Carriage returns, made line feeds: 1 file" in result.stdout
    assert "Recipe full: a model of 0.11 million parameters" in result.stdout
    assert re.search(r"About \d+ .*s and \d+\.\d GiB of memory", result.stdout)
    assert "Nothing was written, and nothing was trained." in result.stdout
    assert not (here / "runs").exists()


def test_a_printed_recipe_can_be_changed_and_used(zoo: Zoo, here: Path) -> None:
    printed = zoo("train", "--data", "book.txt", "--print-recipe", "--epochs", 2)
    assert printed.returncode == 0 and "no pretrained weights to keep" in printed.stdout
    (here / "mine.toml").write_text(printed.stdout.replace("epochs = 2", "epochs = 1"))
    result = zoo(*TRAIN, "--data", "book.txt", "--recipe", "mine.toml", "--out", "two")
    assert result.returncode == 0, result.stderr
    assert "Recipe mine.toml" in result.stdout and "1 epoch, blocks of 64 tokens" in result.stdout
    pretrained = zoo("finetune", "gpt2", "--print-recipe", "--lora").stdout
    assert "lora_rank = 8" in pretrained and "lr = 0.0003" in pretrained


def test_the_page_of_a_run_is_written_and_made_anew(zoo: Zoo, here: Path) -> None:
    page = here / "run" / "report.html"
    assert "validation perplexity" in page.read_text()
    page.unlink()
    result = zoo("report", "run")
    assert result.returncode == 0 and page.is_file(), result.stderr
    assert zoo("report", "run", "--data", "book.txt").returncode == 2


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("train",), "train needs --data TEXT"),
        (("train", "--data", "none.txt"), "none.txt: no such file, folder or pattern"),
        (("finetune", "gpt2", "--data", "book.txt", "--flip", "0.5"), "--flip: for models of pict"),
        (("finetune", "gpt2", "--data", "book.txt", "--fix"), "--fix: for models of pictures"),
        (("finetune", "gpt2"), "finetune needs --data TEXT"),
        (("finetune", "gpt2", "--data", "book.txt", "--recipe", "linear"), "auto, lora, full, scr"),
        (("finetune", "gpt2", "--data", "book.txt", "--lora", "--recipe", "full"), "of its own"),
        (("train", "--data", "book.txt", "--recipe", "lora"), "would keep random values"),
        (("finetune", "resnet20", "--data", "demo", "--lora"), "--lora: for language models only"),
        (("evaluate", "resnet20", "--data", "demo", "--stride", "3"), "for language models only"),
        (("train", "--data", "book.txt", "--width", "51"), "width=51 is no multiple of heads=5"),
        (("train", "--data", "book.txt", "--block-size", "999"), "the model reads at most 128"),
    ],
)
def test_refusals(zoo: Zoo, here: Path, arguments: Any, said: str) -> None:
    result = zoo(*arguments)
    assert result.returncode in (1, 2) and said in result.stderr, result.stderr
    assert not (here / "runs").exists()
