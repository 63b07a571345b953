"""Trainers of the tiny model, and an environment for child processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_run import Tiny, pictures

import engine
import zoo
from engine import nn
from zoo.data import ArrayImages
from zoo.train.callbacks import Callback
from zoo.train.config import TrainConfig
from zoo.train.picture_task import PictureTask
from zoo.train.trainer import Trainer


@pytest.fixture
def make_trainer(tmp_path: Path) -> Callable[..., Trainer]:
    """Trainers that start from equal weights; keywords beside the named ones are settings."""

    def make(
        model: nn.Module | None = None,
        train: ArrayImages | None = None,
        out: str = "run",
        norm: bool = True,
        dropout: float = 0.0,
        callbacks: Sequence[Callback] = (),
        **settings: Any,
    ) -> Trainer:
        engine.manual_seed(0)
        folder = tmp_path / out
        folder.mkdir(exist_ok=True)
        defaults = {
            "freeze": "none",
            "batch_size": 4,
            "epochs": 2,
            "optimizer": "sgd",
            "lr": 0.1,
            "backbone_lr": 1.0,
            "first_lr": 1.0,
            "threads": 1,
        }
        config = TrainConfig(**{**defaults, **settings})
        task = PictureTask(
            Tiny(norm, dropout) if model is None else model,
            pictures(24) if train is None else train,
            pictures(9, seed=1),
            config,
        )
        return Trainer(
            task,
            config,
            folder,
            {"source": {"name": "random", "sha256": None}, "data": {"fingerprint": "f"}},
            say=lambda line: None,
            callbacks=callbacks,
        )

    return make


@pytest.fixture
def weights_of() -> Callable[[nn.Module], dict[str, np.ndarray]]:
    """A copy of a model's parameters and buffers."""
    return lambda model: {k: v.numpy().copy() for k, v in model.state_dict().items()}


@pytest.fixture
def python_env() -> dict[str, str]:
    """Environment in which a fresh Python finds the packages under test."""
    return {**os.environ, "PYTHONPATH": str(Path(zoo.__file__).parents[1])}
