"""The settings of a run on pictures. This dataclass is the only schema: the flags of `zoo
finetune`, their help and the recipe stored in checkpoints all derive from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from zoo.train.errors import ConfigError
from zoo.train.loop_config import LoopConfig, setting


@dataclass(frozen=True)
class TrainConfig(LoopConfig):
    """How to train. The defaults are for fine-tuning pretrained weights (`FINE_TUNING`).

    Raises:
        ConfigError: on construction, for a value out of range, naming the setting.

    >>> TrainConfig(epochs=3).epochs
    3
    """

    epochs: int = setting(8, "passes over the training pictures (the demo: 5)", least=1)
    batch_size: int = setting(16, "pictures a batch", least=2)
    freeze: str = setting(
        "auto",
        "none: train all of the model; backbone: train its last layer only; auto: its last layer "
        "for the first head_epochs, then all",
        choices=("auto", "none", "backbone"),
    )
    head_epochs: int = setting(
        4,
        "epochs that freeze=auto trains the last layer alone; at most all epochs but one",
        least=0,
    )
    backbone_lr: float = setting(
        0.1, "learning rate of the layers before the last, as a fraction of lr", least=0
    )
    first_lr: float = setting(
        0.1,
        "learning rate of the first layers, as a fraction of that of the layers before the last; "
        "geometrically in between",
        least=0,
        most=1,
    )
    thaw: str = setting(
        "all",
        "after the head_epochs of freeze=auto; all: train all at once; gradual: one more stage "
        "each epoch, from the last to the first",
        choices=("all", "gradual"),
    )
    batch_norm: str = setting(
        "train",
        "batch norms of layers that are trained; train: by the batch, their averages follow; "
        "frozen: by the averages of the weights that training started from",
        choices=("train", "frozen"),
    )
    norm_batches: int = setting(
        0,
        "batches on which the statistics of batch norms that are trained are measured anew before "
        "each validation, where their averages lag behind the weights (average=swa: at least 16); "
        "0: the averages",
        least=0,
    )
    views: int = setting(
        1,
        "views of each picture whose features are computed for epochs that train the last layer "
        "alone; the first is the one that validation sees, others are random",
        least=1,
        most=1000,
    )
    feature_cache: float = setting(
        4.0, "GiB of disk for features to be found again by later runs; 0: none", least=0, free=True
    )
    sync_norm: str = setting(
        "on",
        "batch norms of several ranks; on: over the whole batch; off: each rank its part, faster",
        choices=("on", "off"),
    )
    optimizer: str = setting("adamw", "update rule", choices=("adamw", "sgd"))
    momentum: float = setting(
        0.9, "momentum of sgd (Nesterov's); first beta of adamw", least=0, most=0.9999
    )
    weight_decay: float = setting(
        0.05, "decay of weight matrices and filters; norms and biases have none", least=0
    )
    label_smoothing: float = setting(
        0.1, "probability spread evenly over all classes in the targets", least=0, most=0.9999
    )
    class_weights: str = setting(
        "none",
        "weights of classes in the loss; auto: the rarer the heavier, 1 on average over pictures",
        choices=("none", "auto"),
    )
    sampling: str = setting(
        "shuffle",
        "pictures of an epoch; shuffle: each once; balanced: as many of each class, drawn with "
        "replacement",
        choices=("shuffle", "balanced"),
    )
    augment: str = setting(
        "auto",
        "random views of training pictures; crop: random boxes, resized; shift: moved by a few "
        "pixels; none; auto: crop for models of over 64 pixels, else shift",
        choices=("auto", "crop", "shift", "none"),
    )
    crop_scale: float = setting(
        0.35, "smallest random box, as a fraction of the picture's area", least=0.01, most=1
    )
    flip: float = setting(
        0.5, "probability of mirroring left to right (the demo's digits: 0)", least=0, most=1
    )
    policy: str = setting(
        "none",
        "further changes of training pictures; trivial: TrivialAugment; rand: RandAugment",
        choices=("none", "trivial", "rand"),
    )
    jitter: float = setting(
        0.0, "largest change of brightness, contrast and saturation, as a fraction", least=0, most=1
    )
    erasing: float = setting(
        0.0, "probability of filling a random box of a picture with noise", least=0, most=1
    )
    mixup: float = setting(
        0.0, "alpha of mixup, which blends two pictures and their labels; 0: none", least=0, most=1
    )
    cutmix: float = setting(
        0.0, "alpha of CutMix, which pastes a box of another picture; 0: none", least=0, most=1
    )
    size: int = setting(0, "side of the square fed to the model, pixels; 0: the model's", least=0)
    minutes: float = setting(
        0.0,
        "time that the run may take; where its epochs would take longer, it has fewer; 0: no limit",
        least=0,
        free=True,
    )
    folds: int = setting(
        0,
        "parts of equal size into which the pictures are cut, of which one validates, instead of "
        "val_fraction; 0: none",
        least=0,
        most=100,
    )
    fold: int = setting(0, "which of the folds validates, from 0", least=0)
    val_fraction: float = setting(
        0.2, "part of each class that validates, where DATA has no val folder", least=0.01, most=0.9
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.folds == 1 or (self.folds and self.fold >= self.folds):
            raise ConfigError(
                f"folds={self.folds}, fold={self.fold}; expected 2 folds or more, and a fold below "
                "their number"
            )


FINE_TUNING = TrainConfig()
"""For pretrained weights."""

FROM_SCRATCH = replace(
    FINE_TUNING, epochs=30, lr=0.002, head_epochs=0, backbone_lr=1.0, first_lr=1.0, norm_batches=16
)
"""For `weights="none"`: there is nothing to keep, and more to learn."""


def default_config(*, pretrained: bool, **settings: Any) -> TrainConfig:
    """The defaults for pretrained weights or for none, with `settings` put in.

    Raises:
        ConfigError: a value that cannot work, or a setting that does not exist.

    >>> default_config(pretrained=False, epochs=2).lr == FROM_SCRATCH.lr
    True
    """
    return check_start(
        TrainConfig.from_dict(
            {**(FINE_TUNING if pretrained else FROM_SCRATCH).to_dict(), **settings}
        ),
        pretrained,
    )


def check_start(config: TrainConfig, pretrained: bool) -> TrainConfig:
    """`config`, if it can work from pretrained weights or from none.

    Raises:
        ConfigError: it would keep random values.
    """
    if config.freeze == "backbone" and not pretrained:
        raise ConfigError(
            "freeze='backbone' with weights='none' would keep random values; expected pretrained "
            "weights, or freeze='none'"
        )
    return config


def check_several(config: TrainConfig) -> None:
    """Refuse what makes no sense where pictures have several labels.

    Raises:
        ConfigError: a setting that is for pictures of one class each.
    """
    if config.sampling == "balanced":
        raise ConfigError(
            "sampling='balanced' is for pictures of one class each, and these have several labels; "
            "expected sampling='shuffle'. class_weights='auto' makes rare labels weigh more"
        )
    if config.folds:
        raise ConfigError(
            f"folds={config.folds}: folds are cut by class, and these pictures have several "
            "labels; expected folds=0"
        )
