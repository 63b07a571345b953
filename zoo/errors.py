"""Every way a model can fail to load, one typed error each.

All derive from `LoadError`. Each message says what was found, what was expected and what to type
next. Faults of downloads and files are `hub.HubError`.
"""

from __future__ import annotations


class LoadError(Exception):
    """A model cannot be made as asked; the message says why and what to do."""


class UnknownModelError(LoadError):
    """No architecture and no model card has this name; `near` lists the most similar names."""

    def __init__(self, message: str, near: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.near = near


class NoPublishedWeights(LoadError):
    """The architecture has no model card, so there are no weights to start from."""


class WeightsNotFound(LoadError):
    """The weights are neither a card's name nor a file, nor a folder with a run in it."""


class WeightsDoNotFit(LoadError):
    """Names or shapes of the weights are not those of the model; nothing was loaded."""


class ArchMismatch(WeightsDoNotFit):
    """The weights say that they belong to another architecture."""


class ClassCountMismatch(LoadError):
    """A trained run was asked for with another number of classes than it has."""


class UnknownOption(LoadError):
    """The architecture cannot be built with this option."""


class WrongTask(LoadError):
    """The model is for another kind of data, such as text instead of pictures."""


class ExportError(Exception):
    """A model cannot be written in this format; nothing was written."""
