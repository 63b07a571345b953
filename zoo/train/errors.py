"""Every way a training run can fail by itself, one typed error each.

All derive from `TrainError`. Each message says what was found, what was expected and what to type
next. Faults of the pictures are `zoo.data.DataError`, those of weights are the hub's.
"""

from __future__ import annotations

import os
import shlex


def quoted(path: str | os.PathLike[str]) -> str:
    """A path as it may be typed in a shell.

    >>> quoted("my runs/1")
    "'my runs/1'"
    """
    return shlex.quote(os.fspath(path))


class TrainError(Exception):
    """A run cannot start, go on or be read; the message says why and what to do.

    >>> issubclass(ConfigError, TrainError)
    True
    """


class ConfigError(TrainError, ValueError):
    """A setting has a value that cannot work; the message names it."""


class OutFolderInUse(TrainError):
    """The folder to write to exists and is not empty."""


class NothingToResume(TrainError):
    """The folder holds no whole checkpoint."""


class SettingsConflict(TrainError):
    """A resumed run was given a setting that differs from its own."""


class DataChanged(TrainError):
    """The pictures are not those that the run started with."""


class NotARun(TrainError):
    """The path is neither a run's folder nor a weights file that a run wrote."""


class ForeignCheckpoint(TrainError):
    """A checkpoint is whole, but says of itself what cannot be gone on from."""


class CannotSave(TrainError):
    """A checkpoint could not be written; the one before it is intact."""


class TrainingDiverged(TrainError):
    """Loss or gradients were not finite for several steps in a row."""


class Interrupted(TrainError):
    """The run was asked to stop (Ctrl-C), has saved its state and can be resumed."""
