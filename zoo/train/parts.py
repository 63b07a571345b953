"""What a configuration means: freezing, optimizer, schedule, augmentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.optim import SGD, AdamW, Optimizer
from engine.optim.schedule import ConstantLR, CosineLR, LinearWarmup, OneCycleLR, Schedule
from zoo.data import Preprocessing, TrainAugmentation
from zoo.train.config import TrainConfig

if TYPE_CHECKING:
    from engine import Tensor
    from zoo.models.image_model import ImageModel

_LARGEST_SHIFTED = 64  # pixels; the CIFAR networks shift, the ImageNet ones crop


def freeze_for_epoch(model: ImageModel, config: TrainConfig, epoch: int) -> None:
    """Set which parameters get gradients in `epoch` (from 0)."""
    head_epochs = min(config.head_epochs, config.epochs - 1)
    head_only = config.freeze == "backbone" or (config.freeze == "auto" and epoch < head_epochs)
    head = model.classifier_name + "."
    for name, parameter in model.named_parameters():
        parameter.requires_grad = not head_only or name.startswith(head)


def set_training_mode(model: ImageModel) -> None:
    """Training mode for what is trained, inference mode for layers whose parameters are frozen: a
    frozen batch norm must keep the averages that its frozen neighbours were trained with."""
    model.train()
    for module in model.modules():
        own = [p for name, p in module.named_parameters() if "." not in name]
        if own and not any(p.requires_grad for p in own):
            module.training = False


def make_optimizer(model: ImageModel, config: TrainConfig) -> Optimizer:
    """The optimizer of `config` over all parameters, frozen ones included, so that its state stays
    valid when they thaw.

    Norms and biases are not decayed: pulling a scale towards 0 regularises nothing (He et al.,
    2018, "Bag of Tricks for Image Classification", section 3.1).
    """
    head = model.classifier_name + "."
    groups: dict[tuple[bool, bool], list[tuple[str, Tensor]]] = {}
    for name, parameter in model.named_parameters():
        key = (name.startswith(head), parameter.ndim > 1)
        groups.setdefault(key, []).append((name, parameter))
    described = [
        {
            "params": members,
            "lr": config.lr * (1.0 if in_head else config.backbone_lr),
            "weight_decay": config.weight_decay if decayed else 0.0,
        }
        for (in_head, decayed), members in groups.items()
    ]
    if config.optimizer == "adamw":
        return AdamW(described, lr=config.lr, betas=(config.momentum, 0.999))
    nesterov = config.momentum > 0
    return SGD(described, lr=config.lr, momentum=config.momentum, nesterov=nesterov)


def make_schedule(config: TrainConfig, total_steps: int) -> Schedule:
    """The learning rate of each step.

    >>> make_schedule(TrainConfig(lr=1.0, warmup=0.0), 4).lr_at(2)
    0.5
    """
    if config.schedule == "constant":
        return LinearWarmup(ConstantLR(config.lr), round(config.warmup * total_steps))
    if config.warmup == 0:
        return CosineLR(config.lr, total_steps)
    return OneCycleLR(config.lr, total_steps, pct_start=config.warmup)


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
    )
