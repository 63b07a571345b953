"""Replays what fuzzing has found, and a few hundred random changes of it, within its limits."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.hub.fuzz import CORPUS, TARGETS, Forbidden, check, corpus, warm_up, watched

INPUTS = [pytest.param(t, p, id=f"{t}/{p.name}") for t in TARGETS for p in corpus(t)]
_CHANGES = 400


@pytest.fixture(scope="module", autouse=True)
def everything_imported() -> None:
    for target in TARGETS:
        warm_up(target)


@pytest.mark.parametrize(("target", "path"), INPUTS)
def test_an_input_of_the_corpus_is_read_or_refused(target: str, path: Path) -> None:
    check(target, path.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_changed_inputs_are_read_or_refused(target: str) -> None:
    dice = random.Random(0)
    # What fuzzing found is broken already; changes of sound files get further.
    seeds = [p.read_bytes() for p in corpus(target) if not p.name.startswith("fuzz-")]
    outcomes = {check(target, changed(dice, seeds), memory=False) for _ in range(_CHANGES)}
    # Some must get as far as the checks of the content, or this tests nothing.
    assert len(outcomes) > 1


def changed(dice: random.Random, seeds: list[bytes]) -> bytes:
    """One of the seeds with bytes changed, cut out, repeated or taken from another."""
    content = bytearray(dice.choice(seeds))
    for _ in range(dice.choice([1, 1, 2, 5])):
        at = dice.randrange(len(content) + 1)
        stop = min(len(content), at + dice.choice([1, 1, 4, 8, 60]))
        kind = dice.randrange(4)
        if kind == 0:
            content[at:stop] = dice.randbytes(stop - at)
        elif kind == 1:
            del content[at:stop]
        elif kind == 2:
            content[at:at] = content[at:stop] * dice.choice([1, 3, 100])
        else:
            other = dice.choice(seeds)
            begin = dice.randrange(len(other) + 1)
            content[at:stop] = other[begin : begin + dice.choice([1, 8, 60])]
    return bytes(content)


def test_the_watch_sees_what_readers_must_not_do(tmp_path: Path) -> None:
    with pytest.raises(Forbidden, match="os.system"), watched():
        __import__("os").system("true")
    with pytest.raises(Forbidden, match="writing"), watched():
        open(tmp_path / "x", "w").close()
    with pytest.raises(Forbidden, match="exec|compile"), watched():
        exec("1")
    assert not (tmp_path / "x").exists()


def test_every_target_has_a_corpus() -> None:
    assert {path.name for path in CORPUS.iterdir() if path.is_dir()} == TARGETS.keys()
