"""The same seed gives the same bits: run after run, for any number of threads, killed or not."""

from __future__ import annotations

import random
import signal
import time

import numpy as np
import pytest
from test_train_kill import outcome, start


@pytest.mark.slow
def test_three_runs_of_four_numbers_of_threads_killed_and_resumed(tmp_path, python_env):
    dice = random.Random(7)
    with start(tmp_path / "straight", "ema", 1, python_env) as process:
        begun = time.monotonic()
        assert process.wait(timeout=300) == 0
        length = time.monotonic() - begun
    wanted = outcome(tmp_path / "straight")
    for threads in (1, 2, 3, 5):
        for number in range(3):
            out = tmp_path / f"run-{threads}-{number}"
            for _ in range(number):  # not at all, once, twice
                with start(out, "ema", dice.choice((1, 2, 3, 5)), python_env) as process:
                    time.sleep(dice.random() * length / 2)
                    process.send_signal(signal.SIGKILL)
            with start(out, "ema", threads, python_env) as process:
                assert process.wait(timeout=300) == 0
            weights, rows, arrays = outcome(out)
            assert weights == wanted[0] and rows == wanted[1], (threads, number)
            assert all(np.array_equal(arrays[name], wanted[2][name]) for name in wanted[2])
