"""Published image models with their weights, fine-tuned on your own pictures.

>>> import zoo
>>> model = zoo.load("resnet50")                       # doctest: +SKIP
>>> zoo.list_models("resnet1*")
['resnet18', 'resnet101', 'resnet152', 'resnet110']

Names are imported when first used: `import zoo` alone loads nothing heavy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoo import data as data
    from zoo import demo as demo
    from zoo import export as export
    from zoo import models as models
    from zoo import registry as registry
    from zoo import text as text
    from zoo import train as train
    from zoo.errors import ArchMismatch as ArchMismatch
    from zoo.errors import ClassCountMismatch as ClassCountMismatch
    from zoo.errors import DeviceMissing as DeviceMissing
    from zoo.errors import ExportError as ExportError
    from zoo.errors import LoadError as LoadError
    from zoo.errors import NoPublishedWeights as NoPublishedWeights
    from zoo.errors import UnknownModelError as UnknownModelError
    from zoo.errors import UnknownOption as UnknownOption
    from zoo.errors import WeightsDoNotFit as WeightsDoNotFit
    from zoo.errors import WeightsNotFound as WeightsNotFound
    from zoo.errors import WrongTask as WrongTask
    from zoo.loading import load as load
    from zoo.registry import list_models as list_models
    from zoo.train.result import Result as Result
    from zoo.train.run import finetune as finetune
    from zoo.train.run import plan as plan
    from zoo.train.run import resume as resume
    from zoo.train.text_report import TextSummary as TextSummary
    from zoo.train.text_result import TextResult as TextResult
    from zoo.train.text_run import finetune_text as finetune_text
    from zoo.train.text_run import plan_text as plan_text

_HOME = {
    "zoo.errors": [
        "ArchMismatch",
        "ClassCountMismatch",
        "DeviceMissing",
        "ExportError",
        "LoadError",
        "NoPublishedWeights",
        "UnknownModelError",
        "UnknownOption",
        "WeightsDoNotFit",
        "WeightsNotFound",
        "WrongTask",
    ],
    # Not zoo.load: a module of that name would hide the function.
    "zoo.loading": ["load"],
    "zoo.registry": ["list_models"],
    "zoo.train.result": ["Result"],
    "zoo.train.run": ["finetune", "plan", "resume"],
    "zoo.train.text_report": ["TextSummary"],
    "zoo.train.text_result": ["TextResult"],
    "zoo.train.text_run": ["finetune_text", "plan_text"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
_SUBMODULES = ("data", "demo", "export", "models", "registry", "text", "train")

__all__ = sorted((*_MODULE_OF, *_SUBMODULES))


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"zoo.{name}")
    value: Any
    if name == "__version__":
        from importlib.metadata import version

        value = version("zoo")
    elif name in _MODULE_OF:
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    else:
        raise AttributeError(f"module 'zoo' has no attribute {name!r}; it has {', '.join(__all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
