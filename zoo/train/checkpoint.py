"""Resumable state: `last/ckpt-EPOCH-STEP-DIGEST.safetensors`.

A checkpoint is written aside, synced and only then given its name, which holds the SHA-256 of its
content. So a name is either whole or gives itself away, and no pointer file can be torn: resuming
takes the file with the highest numbers whose content still has the digest of its name. The one
before is kept as well. A kill at any moment, a full disk or a lost sector costs the newest steps at
most.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import engine
import hub
from zoo.placement import host_array
from zoo.train.errors import CannotSave, ForeignCheckpoint, quoted
from zoo.train.loop_config import LoopConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_Config = TypeVar("_Config", bound=LoopConfig)

_KEPT = 2
_NAME = re.compile(r"ckpt-(\d{4,})-(\d{9,})-([0-9a-f]{16})\.safetensors")
_ASIDE = "writing.safetensors"
_STATE = "zoo.state"  # the metadata entry that holds everything but tensors, as JSON


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint.

    Attributes:
        path: its file.
        state: what was saved beside the tensors.
        arrays: tensors by name; mapped from the file.
    """

    path: Path
    state: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    def settings(self, kind: type[_Config]) -> _Config:
        """The settings of the run.

        Raises:
            ForeignCheckpoint: there are none of that kind in it.
        """
        with self.understood():
            return kind.from_dict(self.state["config"])

    def origin(self, *wanted: str) -> dict[str, Any]:
        """The facts on the run that do not change, all of `wanted` among them.

        Raises:
            ForeignCheckpoint: one is missing.
        """
        with self.understood():
            origin = self.state["origin"]
            missing = [key for key in wanted if key not in origin]
            if missing or not isinstance(origin, dict):
                raise ValueError(f"no {', '.join(missing)} in its origin")
            return origin

    @contextlib.contextmanager
    def understood(self) -> Iterator[None]:
        """What a state of another form does to its reader, as a `ForeignCheckpoint`."""
        try:
            yield
        except (
            ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RuntimeError
        ) as error:  # fmt: skip
            reason = f"{type(error).__name__}: {error}"[:200]
            raise ForeignCheckpoint(
                f"{self.path}: it is whole, but this version cannot go on from it ({reason}). "
                "Expected what `zoo finetune` wrote, of the same version.\nTo start a new run, "
                "type: zoo finetune MODEL --data DIR"
            ) from error

    def tensors(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Arrays named `prefix/NAME`, by NAME."""
        start = f"{prefix}/"
        return {k[len(start) :]: v for k, v in self.arrays.items() if k.startswith(start)}

    def nested(self, prefix: str) -> dict[str, dict[str, NDArray[Any]]]:
        """Arrays named `prefix/NAME/SLOT`, by NAME and then by SLOT."""
        found: dict[str, dict[str, NDArray[Any]]] = {}
        for key, array in self.tensors(prefix).items():
            name, _, slot = key.rpartition("/")
            found.setdefault(name, {})[slot] = array
        return found


class Checkpoints:
    """The checkpoints of one run, in one folder.

    >>> checkpoints = Checkpoints(Path("run1/last"))                          # doctest: +SKIP
    >>> checkpoints.save(1, 120, {"model/fc.bias": bias}, {})                 # doctest: +SKIP
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(
        self, epoch: int, step: int, tensors: Mapping[str, Any], state: dict[str, Any]
    ) -> Path:
        """Write a checkpoint, then remove all but the newest two.

        Args:
            epoch: epochs completed; with `step` it says which of two checkpoints is newer.
            step: steps done.
            tensors: engine tensors, arrays or numbers, by name.
            state: plain JSON values.

        Raises:
            CannotSave: with the system's reason; earlier checkpoints are untouched.
        """
        aside = self.folder / _ASIDE
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            hub.write_safetensors(aside, as_arrays(tensors), {_STATE: json.dumps(state)})
            digest = hub.sha256_file(aside)
            path = self.folder / f"ckpt-{epoch:04d}-{step:09d}-{digest[:16]}.safetensors"
            os.replace(aside, path)
            hub.fsync_folder(self.folder)
        except OSError as error:
            aside.unlink(missing_ok=True)
            raise cannot_save(aside.parent, error, self.newest_path()) from error
        for old in [*self._by_step()[_KEPT:], *self.folder.glob(f".{_ASIDE}.*")]:
            old.unlink(missing_ok=True)  # the second kind is left by a kill while writing
        return path

    def newest(self) -> Checkpoint | None:
        """The newest whole checkpoint, or None. Damaged ones and leftovers are passed over.

        Raises:
            ForeignCheckpoint, hub.CorruptCheckpoint: it is what its name says, but no run wrote it.
        """
        path = self.newest_path()
        if path is None:
            return None
        arrays, metadata = hub.read_safetensors(path)
        found = Checkpoint(path, {}, arrays)
        with found.understood():
            found.state.update(json.loads(metadata[_STATE]))
        return found

    def newest_state(self) -> dict[str, Any] | None:
        """The state of the newest checkpoint by its name, or None; for whoever only looks: neither
        are its tensors read, nor is it hashed, which a resume must do."""
        for path in self._by_step():
            try:
                return dict(json.loads(hub.SafetensorsFile(path).metadata[_STATE]))
            except (FileNotFoundError, hub.HubError, KeyError, ValueError):
                continue  # replaced by a newer one just now, or damaged
        return None

    def newest_path(self) -> Path | None:
        """File of the newest whole checkpoint, or None."""
        for path in self._by_step():
            match = _NAME.fullmatch(path.name)
            if match and hub.sha256_file(path).startswith(match[3]):
                return path
        return None

    def _by_step(self) -> list[Path]:
        """Files named as checkpoints, newest first."""
        if not self.folder.is_dir():
            return []
        named = [(m, p) for p in self.folder.iterdir() if (m := _NAME.fullmatch(p.name))]
        named.sort(key=lambda pair: (int(pair[0][1]), int(pair[0][2])), reverse=True)
        return [path for _, path in named]


def as_arrays(tensors: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Engine tensors as arrays, over the same memory where that is the CPU's; numbers as arrays of
    no dimension."""
    return {
        name: host_array(value) if isinstance(value, engine.Tensor) else np.asarray(value)
        for name, value in tensors.items()
    }


def cannot_save(path: Path, error: OSError, last: Path | None = None) -> CannotSave:
    """The error for a write that failed, with what is left to go on from."""
    text = f"{path} could not be saved: {error.strerror or error}"
    if last is not None:
        run = last.parent.parent
        mend = "Make room" if isinstance(error, hub.DiskFull) else "Mend that"
        text += (
            f"\nThe checkpoint before is intact ({last}). {mend}, then type: "
            f"zoo finetune --resume {quoted(run)}"
        )
    return CannotSave(text)
