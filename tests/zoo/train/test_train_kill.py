"""A run that is killed at any moment ends, when resumed, as if nothing had happened."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from zoo.train.checkpoint import Checkpoints
from zoo.train.log import read_rows

# All that has state of its own: averages, features, groups of batches, mixed pictures, dropout,
# early stopping, classes drawn with replacement.
RUN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tiny_run import Tiny, pictures
import engine
from zoo.train.checkpoint import Checkpoints
from zoo.train.config import TrainConfig
from zoo.train.picture_task import PictureTask
from zoo.train.trainer import Trainer

config = TrainConfig(
    epochs=6, head_epochs=3, views=2, batch_size=4, accumulation=2, lr=0.05, first_lr=0.5,
    mixup=0.4, cutmix=1.0, average=sys.argv[3], ema_decay=0.9, swa_start=0.3, patience=5,
    thaw="gradual", sampling="balanced", class_weights="auto", norm_batches=2, policy="trivial",
    jitter=0.2, erasing=0.5, save_every=2, threads=int(sys.argv[4]),
)
engine.set_num_threads(config.threads)
engine.manual_seed(0)
out = Path(sys.argv[2])
out.mkdir(exist_ok=True)
task = PictureTask(Tiny(dropout=0.3), pictures(50), pictures(9, seed=1), config)
origin = {"source": {"name": "random", "sha256": None}, "data": {"fingerprint": "f"}}
trainer = Trainer(task, config, out, origin, say=lambda line: None)
last = Checkpoints(out / "last").newest()
if last is not None:
    trainer.restore(last)
print("ready", flush=True)
trainer.fit()
print("done", flush=True)
"""


def start(out: Path, average: str, threads: int, env: dict[str, str]) -> subprocess.Popen[str]:
    here = str(Path(__file__).parent)
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, here, str(out), average, str(threads)],
        env={**env, "ZOO_HOME": str(out.parent / f"home-{out.name}")},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def outcome(out: Path) -> tuple[bytes, list[dict], dict[str, np.ndarray]]:
    """The kept weights, the rows without times, and all tensors of the last checkpoint."""
    timed = {"seconds", "images_per_second", "features_per_second"}
    rows = [
        {k: v for k, v in row.items() if k not in timed} for row in read_rows(out / "metrics.jsonl")
    ]
    last = Checkpoints(out / "last").newest()
    assert last is not None
    return (out / "model.safetensors").read_bytes(), rows, last.arrays


def kill_again_and_again(
    tmp_path: Path, average: str, kills: int, seed: int, env: dict[str, str]
) -> None:
    straight = tmp_path / "straight"
    with start(straight, average, 1, env) as process:
        begun = time.monotonic()
        assert process.wait(timeout=120) == 0
        length = time.monotonic() - begun
    moments = random.Random(seed)
    for number in range(kills):
        killed = tmp_path / f"killed{number}"
        with start(killed, average, 1, env) as process:
            time.sleep(moments.random() * length)
            process.send_signal(signal.SIGKILL)
        with start(killed, average, 1 + number % 2, env) as process:
            assert process.wait(timeout=120) == 0
        one, other = outcome(straight), outcome(killed)
        assert one[0] == other[0]
        assert one[1] == other[1]
        assert set(one[2]) == set(other[2])
        for name, value in one[2].items():
            assert np.array_equal(value, other[2][name]), name


def test_two_kills_of_a_run_with_everything_on(tmp_path, python_env):
    kill_again_and_again(tmp_path, "ema", 2, seed=1, env=python_env)


def test_a_kill_of_a_run_that_averages_epochs(tmp_path, python_env):
    kill_again_and_again(tmp_path, "swa", 1, seed=2, env=python_env)


@pytest.mark.slow
@pytest.mark.parametrize("average", ["ema", "swa"])
def test_25_kills_of_a_run_with_everything_on(tmp_path, python_env, average):
    kill_again_and_again(tmp_path, average, 25, seed=3, env=python_env)
