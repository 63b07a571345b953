"""The language model inside the package: it loads with no network, and has learned something."""

from __future__ import annotations

from pathlib import Path

import pytest

import zoo
from zoo.models.text_model import TextModel, expect_text
from zoo.text.open import is_text_model, open_text_model
from zoo.text.perplexity import measure_text

# Of no work that the model was trained on, but in their manner.
VERSES = """\
KING.
What say you, my good lord? Is it the hour
That we should go to meet him in the field?

QUEEN.
My lord, I think it is not; for the day
Is yet too young to see the end of this.
Come, let us in, and speak no more of it.
[Exeunt.]
"""


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "zoo-home"))
    monkeypatch.setenv("ZOO_OFFLINE", "1")


@pytest.fixture
def verses(tmp_path: Path) -> str:
    path = tmp_path / "verses.txt"
    path.write_text(VERSES)
    return str(path)


def test_it_writes_whole_characters_from_its_own_vocabulary() -> None:
    model = expect_text(zoo.load("gpt_shakespeare"))
    assert (model.tokenizer.size, model.context) == (2048, 256)
    pieces = list(model.generate("ROMEO.", max_tokens=60, seed=3))
    assert len("".join(pieces)) > 60 and "\ufffd" not in "".join(pieces)
    assert model.tokenizer.decode(model.tokenizer.encode(VERSES)) == VERSES


def test_verses_surprise_it_less_than_other_text(verses: str, tmp_path: Path) -> None:
    model: TextModel = open_text_model("gpt_shakespeare")
    other = tmp_path / "other.txt"
    other.write_text("def f(x): return {k: v ** 2 for k, v in x.items() if k != 'id'}\n" * 3)
    found = [measure_text(model, path).perplexity for path in (verses, str(other))]
    assert found[0] < 120 < 1000 < found[1]


@pytest.mark.parametrize("dtype, cost", [("bfloat16", 1.002), ("int8", 1.005), ("int4", 1.05)])
def test_fewer_bits_cost_little(verses: str, dtype: str, cost: float) -> None:
    exact = measure_text(open_text_model("gpt_shakespeare"), verses).perplexity
    found = measure_text(open_text_model("gpt_shakespeare", dtype=dtype), verses).perplexity
    assert exact != found < exact * cost


def test_names_of_language_models_are_known_without_loading_them(tmp_path: Path) -> None:
    assert is_text_model("gpt_shakespeare") and is_text_model("gpt2-xl.hf")
    assert not is_text_model("resnet18") and not is_text_model(str(tmp_path))
