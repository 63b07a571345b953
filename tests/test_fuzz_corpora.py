"""Replays what fuzzing has found, and a few hundred random changes of it, within its limits."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzzing import Forbidden, Suite, changed, watched
from tests.hub import fuzz as hub_fuzz
from tests.zoo import fuzz as zoo_fuzz

SUITES = {"hub": hub_fuzz.SUITE, "zoo": zoo_fuzz.SUITE}
TARGETS = [(name, target) for name, suite in SUITES.items() for target in suite.targets]
_CHANGES = {"hub": 400, "zoo": 80}  # random ones a target; the zoo's readers are slower


@pytest.fixture(scope="module", autouse=True)
def everything_imported() -> None:
    for name, target in TARGETS:
        SUITES[name].warm_up(target)


@pytest.mark.parametrize(("name", "target"), TARGETS)
def test_inputs_of_the_corpus_are_read_or_refused(name: str, target: str) -> None:
    for path in SUITES[name].inputs(target):
        try:
            SUITES[name].check(target, path.read_bytes())
        except (Exception, Forbidden) as error:
            raise AssertionError(f"{path}: {type(error).__name__}: {error}") from error


@pytest.mark.parametrize(("name", "target"), TARGETS)
def test_changed_inputs_are_read_or_refused(name: str, target: str) -> None:
    dice, suite = random.Random(0), SUITES[name]
    seeds = suite.sound(target)
    outcomes = {
        suite.check(target, changed(dice, seeds), memory=False) for _ in range(_CHANGES[name])
    }
    # Some must get as far as the checks of the content, or this tests nothing.
    assert len(outcomes) > 1


def test_the_watch_sees_what_readers_must_not_do(tmp_path: Path) -> None:
    with pytest.raises(Forbidden, match="os.system"), watched():
        __import__("os").system("true")
    with pytest.raises(Forbidden, match="writing"), watched():
        open(tmp_path / "x", "w").close()
    with pytest.raises(Forbidden, match="exec|compile"), watched():
        exec("1")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_every_target_has_a_corpus(suite: Suite) -> None:
    assert {path.name for path in suite.corpus.iterdir() if path.is_dir()} == suite.targets.keys()
