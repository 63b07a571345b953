"""What happens to a run when the world around it changes: files, clocks, memory, other runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiny_run import CLASSES, Tiny, pictures

import engine
from zoo.data import UnreadableImage, prepare_folder
from zoo.train.callbacks import Callback
from zoo.train.checkpoint import Checkpoints
from zoo.train.config import TrainConfig
from zoo.train.errors import ForeignCheckpoint, OutFolderInUse
from zoo.train.out_folder import OutFolder, alone_in
from zoo.train.picture_task import PictureTask
from zoo.train.trainer import Trainer

CONFIG = TrainConfig(epochs=3, batch_size=4, lr=0.1, freeze="none", threads=1)


class At(Callback):
    """Does something after a step, or after validation."""

    def __init__(self, step: int, act, event: str = "on_step") -> None:
        self.step, self.act = step, act
        setattr(self, event, self._told)

    def _told(self, trainer: Trainer, *facts: object) -> None:
        if trainer.progress.step == self.step:
            self.act()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twelve noisy pictures of each class, as files."""
    source = pictures(36)
    for index in range(36):
        path = tmp_path / "data" / CLASSES[source.labels[index]] / f"{index}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.asarray(source.load(index))).save(path)
    return tmp_path / "data"


def trainer_on(folder: Path, out: Path, *callbacks: Callback, make=Tiny) -> Trainer:
    engine.manual_seed(0)
    out.mkdir(exist_ok=True)
    found = prepare_folder(folder, threads=1)
    task = PictureTask(make(), found.train, found.val, CONFIG)
    origin = {"source": {"name": "random", "sha256": None}, "data": {"fingerprint": "f"}}
    return Trainer(task, CONFIG, out, origin, lambda line: None, callbacks=callbacks)


def straight(folder: Path, out: Path) -> bytes:
    """The weights of a run that nothing happened to."""
    trainer_on(folder, out).fit()
    return (out / "model.safetensors").read_bytes()


def gone_on(folder: Path, out: Path) -> bytes:
    """The weights of the run in `out`, when it has been resumed and has ended."""
    trainer, last = trainer_on(folder, out), Checkpoints(out / "last").newest()
    assert last is not None
    trainer.go_on(last)
    return (out / "model.safetensors").read_bytes()


# ---------------------------------------------------------------- files


def no_cache(trainer: Trainer) -> Trainer:
    """Without prepared pictures in memory: files are read in each epoch, as they are of a set that
    is larger than the memory."""
    for loader in (trainer.task._train_loader, trainer.task._val_loader):
        loader._cache._budget = loader._cache._free = 0
    return trainer


@pytest.mark.parametrize("damage", ["deleted", "changed", "cut", "swapped for a folder"])
@pytest.mark.parametrize("part", ["train", "val"])
def test_a_picture_that_changes_ends_the_run_saved_and_named(folder, tmp_path, damage, part):
    wanted = straight(folder, tmp_path / "straight")
    images = getattr(prepare_folder(folder, threads=1), part)
    victim = Path(images.pictures[0].path)
    content = victim.read_bytes()

    def act():
        if damage == "cut":
            victim.write_bytes(content[:-20])
            return
        victim.unlink()
        if damage == "changed":
            Image.new("RGB", (8, 8), "red").save(victim)
        elif damage == "swapped for a folder":
            victim.mkdir()

    out = tmp_path / "out"
    trainer = no_cache(trainer_on(folder, out, At(9, act)))
    with pytest.raises(UnreadableImage) as caught:
        trainer.fit()
    assert victim.name in str(caught.value)
    assert f"zoo finetune --resume {out}" in str(caught.value)
    assert trainer.progress.step >= 9
    last = Checkpoints(out / "last").newest()
    assert last is not None and last.state["progress"]["step"] == trainer.progress.step

    if victim.is_dir():
        victim.rmdir()
    victim.write_bytes(content)
    assert gone_on(folder, out) == wanted


def test_the_newest_checkpoint_deleted_during_training_costs_nothing(folder, tmp_path):
    out = tmp_path / "out"

    def act():
        for path in (out / "last").iterdir():
            path.unlink()

    trainer = trainer_on(folder, out, At(9, act))
    trainer.fit()
    last = Checkpoints(out / "last").newest()
    assert last is not None and last.state["progress"]["epoch"] == CONFIG.epochs
    assert (out / "model.safetensors").read_bytes() == straight(folder, tmp_path / "straight")


def test_a_checkpoint_of_another_form_is_refused(folder, tmp_path):
    out = tmp_path / "out"
    trainer = trainer_on(folder, out)
    Checkpoints(out / "last").save(0, 1, {"model/x": np.zeros(2)}, {"progress": {"step": "many"}})
    last = Checkpoints(out / "last").newest()
    assert last is not None
    with pytest.raises(ForeignCheckpoint, match="cannot go on from it"):
        trainer.restore(last)
    with pytest.raises(ForeignCheckpoint, match="cannot go on from it"):
        last.settings(TrainConfig)
    with pytest.raises(ForeignCheckpoint, match="origin"):
        last.origin("model")


# ---------------------------------------------------------------- permissions

AS_NOBODY = """
import os, sys, tempfile
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import test_train_faults as t
import engine
from tiny_run import Tiny, pictures
from zoo.train.errors import CannotSave

def train(out, *callbacks, last=None):
    engine.manual_seed(0)
    task = t.PictureTask(Tiny(), pictures(24), pictures(9, seed=1), t.CONFIG)
    trainer = t.Trainer(task, t.CONFIG, out, {"source": {}, "data": {}}, lambda line: None,
                        callbacks=callbacks)
    return trainer.fit() if last is None else trainer.go_on(last)

folder = Path(sys.argv[3])
(folder / "first").mkdir()
train(folder / "first")
t.Checkpoints(folder / "first" / "last").newest()
# All modules are loaded now, which an unprivileged user may not read.
out = folder / "run"
out.mkdir()
out.chmod(0o777)
shut = folder / "shut"
shut.mkdir()
shut.chmod(0o555)
if os.geteuid() == 0:
    os.setuid(65534)
try:
    t.OutFolder.choose(shut / "run", "resnet20", "demo")
except PermissionError as error:
    print("refused:", error)
try:
    train(out, t.At(9, lambda: (out / "last").chmod(0o555)))
except CannotSave as error:
    print("ended:", error)
(out / "last").chmod(0o755)
last = t.Checkpoints(out / "last").newest()
train(out, last=last)
same = (out / "model.safetensors").read_bytes() == (folder / "first/model.safetensors").read_bytes()
print("same:", same, "from step", last.state["progress"]["step"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="folder permissions are POSIX")
def test_folders_that_may_not_be_written_to(tmp_path_factory, python_env):
    import tempfile

    # Not below pytest's folder: an unprivileged user must be able to reach it.
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        here = Path(__file__).parent
        result = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(here), str(here.parents[2]), place],
            env={**python_env, "ZOO_HOME": f"{place}/home"},
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stderr
    refused, *ended, same = result.stdout.splitlines()
    assert refused.startswith("refused:") and "no permission to write" in refused
    ended = "\n".join(ended)
    assert ended.startswith("ended:") and "Permission denied" in ended and "--resume" in ended
    assert same == "same: True from step 0"


# ---------------------------------------------------------------- clocks


@pytest.mark.parametrize("jump", [-(10**9), 10**9], ids=["back", "forth"])
def test_a_clock_that_jumps_by_decades_changes_nothing(folder, tmp_path, monkeypatch, jump):
    wanted = straight(folder, tmp_path / "straight")
    now, now_ns = time.time, time.time_ns

    def act():
        monkeypatch.setattr(time, "time", lambda: now() + jump)
        monkeypatch.setattr(time, "time_ns", lambda: now_ns() + jump * 10**9)

    out = tmp_path / "out"
    trainer = trainer_on(folder, out, At(5, act))
    progress = trainer.fit()
    assert (out / "model.safetensors").read_bytes() == wanted
    assert 0 <= progress.seconds < 600
    trainer_on(folder, tmp_path / "again").fit()  # the cache of facts is read with that clock


# ---------------------------------------------------------------- memory


class Hungry(Tiny):
    """Wants 2 GiB in its forward pass number `at` of training."""

    def __init__(self, at: int) -> None:
        super().__init__(dropout=0.3)
        self.at, self.calls = at, 0

    def forward(self, x):
        if self.training:
            self.calls += 1
            if self.calls == self.at:
                # Half of a pass has been done then: averages moved, random numbers drawn.
                super().forward(x)
                engine.zeros((2**29,))
        return super().forward(x)


def test_a_step_without_memory_ends_the_run_saved_as_it_was_before(folder, tmp_path):
    resource = pytest.importorskip("resource")
    trainer_on(folder, tmp_path / "straight", make=lambda: Hungry(0)).fit()
    wanted = (tmp_path / "straight" / "model.safetensors").read_bytes()
    before = resource.getrlimit(resource.RLIMIT_AS)
    out = tmp_path / "out"

    def act():
        engine.empty_cache()  # or what earlier tests used would do
        held = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (held + 2**30, before[1]))

    trainer = trainer_on(folder, out, At(5, act), make=lambda: Hungry(8))
    try:
        with pytest.raises(MemoryError, match="(?s)cannot allocate.*after step 7.*--resume"):
            trainer.fit()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    last = Checkpoints(out / "last").newest()
    assert last is not None and last.state["progress"]["step"] == 7
    trainer_on(folder, out, make=lambda: Hungry(0)).go_on(last)
    assert (out / "model.safetensors").read_bytes() == wanted


# ---------------------------------------------------------------- other runs


def test_of_two_runs_in_one_folder_one_goes_on_and_one_is_refused(tmp_path):
    ways = [OutFolder.choose(tmp_path / "run", "tiny", "demo") for _ in range(2)]  # both are free
    with ways[0] as path:
        (path / "theirs").write_text("of the first")
        with pytest.raises(OutFolderInUse), ways[1]:
            raise AssertionError("two runs write to one folder")
        assert (path / "theirs").read_text() == "of the first"
        Checkpoints(path / "last").save(0, 0, {}, {})
    assert (path / "theirs").exists()


def test_a_folder_that_another_run_filled_meanwhile_is_refused(tmp_path):
    way = OutFolder.choose(tmp_path / "run", "tiny", "demo")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "theirs").write_text("x")
    with pytest.raises(OutFolderInUse, match="not empty"), way:
        raise AssertionError("a folder of another run was taken")
    assert (tmp_path / "run" / "theirs").read_text() == "x"


def test_a_run_is_resumed_by_one_process_at_a_time(tmp_path):
    with alone_in(tmp_path):
        with pytest.raises(OutFolderInUse, match="another process"), alone_in(tmp_path):
            raise AssertionError("two were let in")
    with alone_in(tmp_path):
        pass  # it was let go


def test_a_killed_run_lets_go_of_its_folder(tmp_path, python_env):
    code = (
        "import sys, time; from pathlib import Path; from zoo.train.out_folder import alone_in\n"
        "with alone_in(Path(sys.argv[1])):\n    print('in', flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, env=python_env
    ) as other:
        assert other.stdout is not None and other.stdout.readline() == b"in\n"
        with pytest.raises(OutFolderInUse), alone_in(tmp_path):
            raise AssertionError("two were let in")
        other.kill()
    with alone_in(tmp_path):
        pass
