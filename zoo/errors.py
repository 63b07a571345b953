"""Every way a model can fail to load, one typed error each.

All derive from `LoadError`. Each message says what was found, what was expected and what to type
next. Faults of downloads and files are `hub.HubError`.
"""

from __future__ import annotations


class LoadError(Exception):
    """A model cannot be made as asked; the message says why and what to do.

    >>> try:
    ...     zoo.load("resnet99")
    ... except LoadError as error:
    ...     type(error).__name__
    'UnknownModelError'
    """


class UnknownModelError(LoadError):
    """No architecture and no model card has this name; `near` lists the most similar names.

    >>> try:
    ...     zoo.load("resnet49")
    ... except UnknownModelError as error:
    ...     error.near
    ('resnet44', 'resnet34', 'resnet56')
    """

    def __init__(self, message: str, near: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.near = near


class DeviceMissing(LoadError):
    """This machine has no such device, or the name is none.

    >>> zoo.load("resnet20", device="tpu")
    Traceback (most recent call last):
        ...
    zoo.errors.DeviceMissing: ...
    """


class NoPublishedWeights(LoadError):
    """The architecture has no model card, so there are no weights to start from.

    >>> zoo.load("resnet56")
    Traceback (most recent call last):
        ...
    zoo.errors.NoPublishedWeights: ...
    """


class WeightsNotFound(LoadError):
    """The weights are neither a card's name nor a file, nor a folder with a run in it.

    >>> zoo.load("resnet20", weights="missing.safetensors")
    Traceback (most recent call last):
        ...
    zoo.errors.WeightsNotFound: ...
    """


class WeightsDoNotFit(LoadError):
    """Names or shapes of the weights are not those of the model; nothing was loaded.

    >>> issubclass(WeightsDoNotFit, LoadError)
    True
    """


class ArchMismatch(WeightsDoNotFit):
    """The weights say that they belong to another architecture.

    >>> zoo.load("resnet18", weights="resnet20.letters")
    Traceback (most recent call last):
        ...
    zoo.errors.ArchMismatch: ...
    """


class ClassCountMismatch(LoadError):
    """A trained run was asked for with another number of classes than it has.

    >>> zoo.load("run1", num_classes=3)     # doctest: +SKIP
    Traceback (most recent call last):
        ...
    zoo.errors.ClassCountMismatch: ...
    """


class UnknownOption(LoadError):
    """The architecture cannot be built with this option.

    >>> zoo.load("resnet20", weights="none", colour="red")
    Traceback (most recent call last):
        ...
    zoo.errors.UnknownOption: ...
    """


class WrongTask(LoadError):
    """The model is for another kind of data, such as text instead of pictures.

    >>> zoo.finetune("gpt2", "demo")
    Traceback (most recent call last):
        ...
    zoo.errors.WrongTask: ...
    """


class ExportError(Exception):
    """A model cannot be written in this format; nothing was written.

    >>> from zoo.export import export
    >>> export("gpt_shakespeare", "torchvision", "here.pth")
    Traceback (most recent call last):
        ...
    zoo.errors.ExportError: ...
    """
