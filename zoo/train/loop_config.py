"""The settings of the training loop, whatever is trained: the base of every task's settings.

A frozen dataclass is the only schema: flags, their help, recipe files and the recipe stored in
checkpoints all derive from its fields.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from zoo.placement import DEVICES
from zoo.train.errors import ConfigError, SettingsConflict

_Config = TypeVar("_Config", bound="LoopConfig")


def setting(
    default: Any,
    text: str,
    *,
    choices: tuple[str, ...] | None = None,
    least: float | None = None,
    most: float | None = None,
    free: bool = False,
) -> Any:
    """A field with its documentation and bounds (inclusive). `free` settings have no influence on
    the weights that come out, so a resumed run may change them."""
    details = {"text": text, "choices": choices, "least": least, "most": most, "free": free}
    return field(default=default, metadata=details)


@dataclass(frozen=True)
class LoopConfig:
    """How long and how fast to train. A task adds its own settings in a subclass, and may give
    these other defaults.

    Raises:
        ConfigError: on construction, for a value out of range, naming the setting.

    >>> LoopConfig(epochs=3).epochs
    3
    """

    epochs: int = setting(5, "passes over what is trained on", least=1)
    lr: float = setting(0.01, "peak learning rate", least=0)
    schedule: str = setting(
        "cosine",
        "learning rate after the warm-up: along a half cosine to zero, or constant",
        choices=("cosine", "constant"),
    )
    warmup: float = setting(
        0.25, "part of all steps over which the learning rate rises to lr", least=0, most=0.9
    )
    accumulation: int = setting(1, "batches whose gradients are added up for one step", least=1)
    clip_norm: float = setting(
        5.0, "longest gradient, as the norm over all parameters; 0: no limit", least=0
    )
    average: str = setting(
        "none",
        "weights to validate and keep; ema: a running mean over the steps; swa: the mean over the "
        "ends of the last epochs; none: those of the last step",
        choices=("none", "ema", "swa"),
    )
    ema_decay: float = setting(
        0.999, "how much of the mean of average=ema each step keeps", least=0, most=0.999999
    )
    swa_start: float = setting(
        0.75, "part of the epochs after which average=swa begins", least=0, most=1
    )
    patience: int = setting(
        0, "epochs in a row without improvement after which the run ends; 0: never", least=0
    )
    seed: int = setting(
        0, "of every random choice: split, order, views, new layers", least=0, most=2**63 - 1
    )
    max_bad_steps: int = setting(
        5, "steps in a row with a loss or gradient that is not finite before the run ends", least=1
    )
    save_every: int = setting(
        200,
        "steps between checkpoints; one more follows an epoch, unless the last is seconds old",
        least=1,
        free=True,
    )
    threads: int = setting(0, "CPU threads; 0: one for each CPU", least=0, most=1024, free=True)
    exchange: str = setting(
        "full",
        "what gradients are sent as between ranks; bfloat16: half the bytes, less exact",
        choices=("full", "bfloat16"),
    )
    shard_optimizer: str = setting(
        "off",
        "on: each rank keeps a part of the optimizer's state (ZeRO stage 1), for less memory",
        choices=("off", "on"),
        free=True,
    )
    rank_timeout: float = setting(
        300.0, "seconds that ranks wait for each other before the run ends", least=1, free=True
    )
    precision: str = setting(
        "float32",
        "what products and convolutions are computed in while training; bfloat16, or float16 for "
        "GPUs without it: faster there, with weights that stay float32",
        choices=("float32", "bfloat16", "float16"),
    )
    device: str = setting("cpu", f"where to compute: {DEVICES}", free=True)

    def __post_init__(self) -> None:
        for own in fields(self):
            value = getattr(self, own.name)
            if type(own.default) is float and type(value) is int:
                value = float(value)
                object.__setattr__(self, own.name, value)
            _check(own, value)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for checkpoints."""
        return asdict(self)

    def recipe(self) -> dict[str, Any]:
        """Those settings that have a part in the weights that come out."""
        return {f.name: getattr(self, f.name) for f in fields(self) if not f.metadata["free"]}

    @classmethod
    def from_dict(cls: type[_Config], values: Mapping[str, Any]) -> _Config:
        """The inverse of `to_dict`. Missing keys take defaults.

        Raises:
            ConfigError: an unknown key, by name, or a value out of range.
        """
        unknown = sorted(set(values) - {f.name for f in fields(cls)})
        if unknown:
            raise ConfigError(f"settings: unknown {', '.join(unknown)}")
        return cls(**values)


def _check(own: Field[Any], value: Any) -> None:
    """Raise ConfigError unless `value` is of the setting's type and within its bounds."""
    kind: type = type(own.default)
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise ConfigError(f"{own.name}={value!r}; expected a finite {kind.__name__}")
    choices, least, most = (own.metadata[key] for key in ("choices", "least", "most"))
    if choices is not None and value not in choices:
        raise ConfigError(f"{own.name}={value!r}; expected {' or '.join(choices)}")
    if (least is not None and value < least) or (most is not None and value > most):
        bounds = f"{least} or more" if most is None else f"{least} to {most}"
        raise ConfigError(f"{own.name}={value!r}; expected {bounds}")


def agreed(config: _Config, origin: Mapping[str, Any], expected: Mapping[str, Any]) -> _Config:
    """The settings of a run that goes on, with those taken over that may change.

    Args:
        config: the run's own settings.
        origin: the run's facts, with "model" and "weights".
        expected: settings, "model" or "weights" that are meant to hold.

    Raises:
        SettingsConflict: one that may not change differs.

    >>> agreed(LoopConfig(seed=3), {"model": "m", "weights": "none"}, {"seed": 3}).seed
    3
    """
    own = {"model": origin["model"], "weights": origin["weights"], **config.to_dict()}
    free = {f.name for f in fields(config) if f.metadata["free"]}
    differing = {k: v for k, v in expected.items() if k not in free and own.get(k) != v}
    if differing:
        listed = ", ".join(f"{k} is {own.get(k)}, not {v}" for k, v in differing.items())
        raise SettingsConflict(
            f"a resumed run keeps its settings: {listed}. Leave these out, or start a new run "
            "without --resume."
        )
    return replace(config, **{k: v for k, v in expected.items() if k in free})
