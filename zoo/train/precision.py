"""Mixed precision, as a run's settings ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import engine
from zoo.placement import device_of

if TYPE_CHECKING:
    from engine.nn import Module
    from zoo.train.loop_config import LoopConfig


def mixed(config: LoopConfig, model: Module) -> engine.autocast:
    """The block that forward passes of training belong into.

    >>> from zoo.train.loop_config import LoopConfig
    >>> with mixed(LoopConfig(precision="bfloat16"), engine.nn.Linear(2, 1)):
    ...     (engine.ones((2, 2)) @ engine.ones((2, 2))).dtype
    bfloat16
    """
    narrow = engine.float16 if config.precision == "float16" else engine.bfloat16
    return engine.autocast(device_of(model).type, narrow, config.precision != "float32")
