"""The settings of a training run. This dataclass is the only schema: the flags of `zoo finetune`,
their help and the recipe stored in checkpoints all derive from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields, replace
from typing import Any

from zoo.train.errors import ConfigError


def _setting(
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
class TrainConfig:
    """How to train. The defaults are for fine-tuning pretrained weights (`FINE_TUNING`).

    Raises:
        ConfigError: on construction, for a value out of range, naming the setting.

    >>> TrainConfig(epochs=3).epochs
    3
    """

    epochs: int = _setting(5, "passes over the training pictures (the demo: 1)", least=1)
    batch_size: int = _setting(16, "pictures a batch", least=2)
    lr: float = _setting(0.01, "peak learning rate", least=0)
    freeze: str = _setting(
        "auto",
        "none: train all of the model; backbone: train its last layer only; auto: its last layer "
        "for the first head_epochs, then all",
        choices=("auto", "none", "backbone"),
    )
    head_epochs: int = _setting(
        1,
        "epochs that freeze=auto trains the last layer alone; at most all epochs but one",
        least=0,
    )
    backbone_lr: float = _setting(
        0.1, "learning rate of all but the last layer, as a fraction of lr", least=0
    )
    optimizer: str = _setting("adamw", "update rule", choices=("adamw", "sgd"))
    momentum: float = _setting(
        0.9, "momentum of sgd (Nesterov's); first beta of adamw", least=0, most=0.9999
    )
    weight_decay: float = _setting(
        0.05, "decay of weight matrices and filters; norms and biases have none", least=0
    )
    schedule: str = _setting(
        "cosine",
        "learning rate after the warm-up: along a half cosine to zero, or constant",
        choices=("cosine", "constant"),
    )
    warmup: float = _setting(
        0.25, "part of all steps over which the learning rate rises to lr", least=0, most=0.9
    )
    label_smoothing: float = _setting(
        0.1, "probability spread evenly over all classes in the targets", least=0, most=0.9999
    )
    accumulation: int = _setting(1, "batches whose gradients are added up for one step", least=1)
    clip_norm: float = _setting(
        5.0, "longest gradient, as the norm over all parameters; 0: no limit", least=0
    )
    augment: str = _setting(
        "auto",
        "random views of training pictures; crop: random boxes, resized; shift: moved by a few "
        "pixels; none; auto: crop for models of over 64 pixels, else shift",
        choices=("auto", "crop", "shift", "none"),
    )
    crop_scale: float = _setting(
        0.35, "smallest random box, as a fraction of the picture's area", least=0.01, most=1
    )
    flip: float = _setting(
        0.5, "probability of mirroring left to right (the demo's digits: 0)", least=0, most=1
    )
    size: int = _setting(0, "side of the square fed to the model, pixels; 0: the model's", least=0)
    val_fraction: float = _setting(
        0.2, "part of each class that validates, where DATA has no val folder", least=0.01, most=0.9
    )
    seed: int = _setting(
        0, "of every random choice: split, order, views, new layers", least=0, most=2**63 - 1
    )
    max_bad_steps: int = _setting(
        5, "steps in a row with a loss or gradient that is not finite before the run ends", least=1
    )
    save_every: int = _setting(
        200, "steps between checkpoints; one more is saved after each epoch", least=1, free=True
    )
    threads: int = _setting(0, "CPU threads; 0: one for each CPU", least=0, free=True)
    device: str = _setting("cpu", "where to compute", choices=("cpu",), free=True)

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            if type(setting.default) is float and type(value) is int:
                value = float(value)
                object.__setattr__(self, setting.name, value)
            _check(setting, value)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for checkpoints."""
        return asdict(self)

    def recipe(self) -> dict[str, Any]:
        """Those settings that have a part in the weights that come out."""
        return {f.name: getattr(self, f.name) for f in fields(self) if not f.metadata["free"]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainConfig:
        """The inverse of `to_dict`. Missing keys take defaults.

        Raises:
            ConfigError: an unknown key, by name, or a value out of range.
        """
        unknown = sorted(set(values) - {f.name for f in fields(cls)})
        if unknown:
            raise ConfigError(f"settings: unknown {', '.join(unknown)}")
        return cls(**values)


def _check(setting: Field[Any], value: Any) -> None:
    """Raise ConfigError unless `value` is of the setting's type and within its bounds."""
    kind: type = type(setting.default)
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise ConfigError(f"{setting.name}={value!r}; expected a finite {kind.__name__}")
    choices, least, most = (setting.metadata[key] for key in ("choices", "least", "most"))
    if choices is not None and value not in choices:
        raise ConfigError(f"{setting.name}={value!r}; expected {' or '.join(choices)}")
    if (least is not None and value < least) or (most is not None and value > most):
        bounds = f"{least} or more" if most is None else f"{least} to {most}"
        raise ConfigError(f"{setting.name}={value!r}; expected {bounds}")


FINE_TUNING = TrainConfig()
"""For pretrained weights."""

FROM_SCRATCH = replace(FINE_TUNING, epochs=30, lr=0.002, head_epochs=0, backbone_lr=1.0)
"""For `weights="none"`: there is nothing to keep, and more to learn."""


def default_config(*, pretrained: bool, **settings: Any) -> TrainConfig:
    """The defaults for pretrained weights or for none, with `settings` put in.

    Raises:
        ConfigError: a value that cannot work, or a setting that does not exist.

    >>> default_config(pretrained=False, epochs=2).lr == FROM_SCRATCH.lr
    True
    """
    config = TrainConfig.from_dict(
        {**(FINE_TUNING if pretrained else FROM_SCRATCH).to_dict(), **settings}
    )
    if config.freeze == "backbone" and not pretrained:
        raise ConfigError(
            "freeze='backbone' with weights='none' would keep random values; expected pretrained "
            "weights, or freeze='none'"
        )
    return config
