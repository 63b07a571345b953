"""What a configuration means: freezing, optimizer, schedule, augmentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine import nn
from engine.optim import SGD, AdamW, Optimizer
from engine.optim.schedule import ConstantLR, CosineLR, LinearWarmup, OneCycleLR, Schedule
from zoo.data import Preprocessing, TrainAugmentation
from zoo.train.config import TrainConfig

if TYPE_CHECKING:
    from engine import Tensor
    from zoo.models.image_model import ImageModel

_SEQUENCES = ("features", "blocks", "layers")  # names of children that are stages in a row
_LARGEST_SHIFTED = 64  # pixels; the CIFAR networks shift, the ImageNet ones crop


def head_epochs(config: TrainConfig) -> int:
    """How many epochs, from the first, train the last layer alone."""
    if config.freeze == "backbone":
        return config.epochs
    return min(config.head_epochs, config.epochs - 1) if config.freeze == "auto" else 0


def stages(model: ImageModel) -> dict[str, int]:
    """The depth of each parameter, by name: 0 for the first stage, and the highest for the last
    layer. A stage is a direct child of the model, or, in a child that is a numbered sequence with
    no names of its own, one of its parts that has parameters.

    >>> sorted(set(stages(zoo.load("resnet20", None)).values()))     # doctest: +SKIP
    [0, 1, 2, 3, 4, 5]
    """
    head = model.classifier_name + "."
    order: dict[str, int] = {}
    depths = {}
    for name, _ in model.named_parameters():
        parts = name.split(".")
        numbered = parts[0] in _SEQUENCES and len(parts) > 2 and parts[1].isdigit()
        stage = ".".join(parts[: 2 if numbered else 1])
        depths[name] = order.setdefault(stage, len(order)) if not name.startswith(head) else -1
    return {name: len(order) if depth < 0 else depth for name, depth in depths.items()}


def freeze_for_epoch(model: ImageModel, config: TrainConfig, epoch: int) -> None:
    """Set which parameters get gradients in `epoch` (from 0)."""
    depths = stages(model)
    top = max(depths.values())
    thawed = 0 if epoch < head_epochs(config) else top
    if thawed and config.freeze == "auto" and config.thaw == "gradual":
        thawed = min(epoch - head_epochs(config) + 1, top)
        if epoch == config.epochs - 1:
            thawed = top  # the last epoch trains all, however few epochs there are
    for name, parameter in model.named_parameters():
        parameter.requires_grad = depths[name] >= top - thawed


def set_training_mode(model: ImageModel, config: TrainConfig) -> None:
    """Training mode for what is trained, inference mode for layers whose parameters are frozen: a
    frozen batch norm must keep the averages that its frozen neighbours were trained with. Where the
    last layer alone is trained, all before it is in inference mode, dropout too."""
    head = model.classifier_name + "."
    trained = [name for name, p in model.named_parameters() if p.requires_grad]
    if all(name.startswith(head) for name in trained):
        model.eval()
        model.get_classifier().train()
        return
    model.train()
    for module in model.modules():
        own = [p for name, p in module.named_parameters() if "." not in name]
        frozen = own and not any(p.requires_grad for p in own)
        if frozen or (config.batch_norm == "frozen" and isinstance(module, nn.BatchNorm2d)):
            module.training = False


def make_optimizer(model: ImageModel, config: TrainConfig) -> Optimizer:
    """The optimizer of `config` over all parameters, frozen ones included, so that its state stays
    valid when they thaw.

    Norms and biases are not decayed: pulling a scale towards 0 regularises nothing (He et al.,
    2018, "Bag of Tricks for Image Classification", section 3.1).
    """
    depths = stages(model)
    top = max(depths.values())
    groups: dict[tuple[int, bool], list[tuple[str, Tensor]]] = {}
    for name, parameter in model.named_parameters():
        groups.setdefault((depths[name], parameter.ndim > 1), []).append((name, parameter))
    described = [
        {
            "params": members,
            "lr": config.lr * _rate(config, depth, top),
            "weight_decay": config.weight_decay if decayed else 0.0,
        }
        for (depth, decayed), members in groups.items()
    ]
    if config.optimizer == "adamw":
        return AdamW(described, lr=config.lr, betas=(config.momentum, 0.999))
    nesterov = config.momentum > 0
    return SGD(described, lr=config.lr, momentum=config.momentum, nesterov=nesterov)


def _rate(config: TrainConfig, depth: int, top: int) -> float:
    """Learning rate of a stage, as a fraction of lr."""
    if depth == top:
        return 1.0
    below = (top - 1 - depth) / max(top - 1, 1)  # 0 just before the last layer, 1 at the first
    return config.backbone_lr * config.first_lr**below


@dataclass(frozen=True)
class InTurn:
    """One schedule for the first `steps` steps, then another, which counts from there."""

    first: Schedule
    steps: int
    then: Schedule

    def lr_at(self, step: int) -> float:
        """The learning rate of that step."""
        return self.first.lr_at(step) if step < self.steps else self.then.lr_at(step - self.steps)


def make_schedule(config: TrainConfig, steps_per_epoch: int) -> Schedule:
    """The learning rate of each step: a warm-up and a way down for the epochs that train the last
    layer alone, and again for the others.

    >>> make_schedule(TrainConfig(freeze="none", lr=1.0, warmup=0.0, epochs=2), 2).lr_at(2)
    0.5
    """
    head = head_epochs(config) * steps_per_epoch
    rest = config.epochs * steps_per_epoch - head
    parts = [_cycle(config, steps) for steps in (head, rest) if steps]
    return parts[0] if len(parts) == 1 else InTurn(parts[0], head, parts[1])


def _cycle(config: TrainConfig, steps: int) -> Schedule:
    if config.schedule == "constant":
        return LinearWarmup(ConstantLR(config.lr), round(config.warmup * steps))
    if config.warmup == 0:
        return CosineLR(config.lr, steps)
    return OneCycleLR(config.lr, steps, pct_start=config.warmup)


def class_weights(counts: NDArray[np.int64], config: TrainConfig) -> NDArray[np.float32] | None:
    """(classes,) weight of each class in the loss, or None for ones: all classes together weigh the
    same, and the mean over all pictures is 1.

    >>> class_weights(np.array([30, 10]), TrainConfig(class_weights="auto")).round(2).tolist()
    [0.6700000166893005, 2.0]
    """
    if config.class_weights == "none":
        return None
    present = counts > 0
    weights = np.zeros(len(counts), dtype=np.float64)
    weights[present] = counts.sum() / (present.sum() * counts[present])
    return weights.astype(np.float32)


def augmentation(config: TrainConfig, preprocessing: Preprocessing) -> TrainAugmentation:
    """The random views that `config` asks for, for a model with `preprocessing`."""
    kind = config.augment
    if kind == "auto":
        kind = "crop" if preprocessing.size > _LARGEST_SHIFTED else "shift"
    return TrainAugmentation(
        preprocessing,
        kind="resized_crop" if kind == "crop" else kind,
        scale=(config.crop_scale, 1.0),
        hflip=config.flip,
        policy=config.policy,
        jitter=config.jitter,
        erasing=config.erasing,
    )
