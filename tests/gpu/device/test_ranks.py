"""Ranks with a device each: two processes of `zoo finetune --device cuda`, gradients by NCCL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine import _C
from tests.gpu import stand_ins
from tests.gpu.device.runs import LOAD, assert_alike, draw_pictures

ROOT = Path(__file__).resolve().parents[3]
START = LOAD + "import sys\nfrom cli.main import main\nsys.exit(main(sys.argv[1:]))\n"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("ranks")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "ZOO_HOME": str(folder / "home")}
    if _C._backend_info()["name"] == "emulation":
        stand_ins.build("nccl_between_processes", folder / "libraries")
        env["ZOO_CUDA_LIBRARIES"] = str(folder / "libraries")
        env["ZOO_FAKE_NCCL"] = str(folder)
    elif _C._backend_info()["device_count"] < 2:
        pytest.skip("needs two GPUs")
    return env


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_pictures(tmp_path_factory.mktemp("drawn") / "pictures", 16)


def zoo(env: dict[str, str], ranks: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    mpiexec = [str(Path(sys.executable).with_name("mpiexec")), "-n", str(ranks)]
    return subprocess.run(
        [*(mpiexec if ranks > 1 else []), sys.executable, "-c", START, *arguments],
        env=env, text=True, capture_output=True, timeout=300,
    )  # fmt: skip


def trained(env: dict[str, str], out: Path, ranks: int, *arguments: str) -> Path:
    done = zoo(env, ranks, "finetune", "--out", str(out), "--threads", "1", "--no-report",
               "--batch-size", "4", "--epochs", "1", "--optimizer", "sgd", *arguments)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.mark.parametrize("more", [[], ["--shard-optimizer", "on", "--exchange", "bfloat16"]])
def test_two_ranks_on_gpus_learn_what_two_on_processors_do(
    more: list[str], environment: dict[str, str], pictures: Path, tmp_path: Path
) -> None:
    common = ["resnet20", "--data", str(pictures), "--size", "16", "--augment", "none",
              "--recipe", "full", *more]  # fmt: skip
    on_cpu, on_gpus = (
        trained(environment, tmp_path / device, 2, "--device", device, *common)
        for device in ("cpu", "cuda")
    )
    assert_alike(on_cpu / "model.safetensors", on_gpus / "model.safetensors")
    summaries = [json.loads((run / "summary.json").read_text()) for run in (on_cpu, on_gpus)]
    assert summaries[0]["val_accuracy"] == summaries[1]["val_accuracy"]


def test_more_ranks_than_gpus_are_refused(
    environment: dict[str, str], pictures: Path, tmp_path: Path
) -> None:
    count = _C._backend_info()["device_count"]
    text = tmp_path / "text.txt"
    text.write_text("To be, or not to be. " * 200)
    for model, data in (("resnet20", pictures), ("gpt_shakespeare", text)):
        for ranks, device, said in (
            (count + 1, "cuda", f"{count + 1} ranks on this machine, and {count} GPUs"),
            (2, "cuda:1", "2 ranks on this machine cannot share a GPU; expected cuda"),
        ):
            done = zoo(environment, ranks, "finetune", model, "--data", str(data),
                       "--device", device, "--out", str(tmp_path / "run"))  # fmt: skip
            assert done.returncode != 0, done.stdout
            assert f"zoo: device={device}: {said}" in done.stderr, done.stderr
            assert not (tmp_path / "run").exists()
