"""Fine-tuning: one loop, its configuration, its checkpoints and its reports.

>>> from zoo.train import finetune                                        # doctest: +SKIP
>>> finetune("resnet20", data="demo", out="run1").val_accuracy            # doctest: +SKIP
0.99
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoo.train.callbacks import Callback
    from zoo.train.config import FINE_TUNING, FROM_SCRATCH, TrainConfig
    from zoo.train.errors import TrainError
    from zoo.train.inference import evaluate
    from zoo.train.picture_task import PictureTask
    from zoo.train.predictions import Prediction, embed, predict
    from zoo.train.report import Summary
    from zoo.train.result import Result
    from zoo.train.run import finetune, plan, resume, write_page
    from zoo.train.task import Task
    from zoo.train.tensorboard import TensorBoard
    from zoo.train.text_config import TextConfig
    from zoo.train.text_result import TextResult
    from zoo.train.text_run import finetune_text, plan_text, resume_text
    from zoo.train.trainer import Trainer

_HOMES = {
    "Callback": "callbacks",
    "FINE_TUNING": "config",
    "FROM_SCRATCH": "config",
    "PictureTask": "picture_task",
    "Prediction": "predictions",
    "Result": "result",
    "Summary": "report",
    "Task": "task",
    "TensorBoard": "tensorboard",
    "TextConfig": "text_config",
    "TextResult": "text_result",
    "TrainConfig": "config",
    "TrainError": "errors",
    "Trainer": "trainer",
    "embed": "predictions",
    "evaluate": "inference",
    "finetune": "run",
    "finetune_text": "text_run",
    "plan": "run",
    "plan_text": "text_run",
    "predict": "predictions",
    "resume": "run",
    "resume_text": "text_run",
    "write_page": "run",
}

__all__ = [
    "Callback",
    "FINE_TUNING",
    "FROM_SCRATCH",
    "PictureTask",
    "Prediction",
    "Result",
    "Summary",
    "Task",
    "TensorBoard",
    "TextConfig",
    "TextResult",
    "TrainConfig",
    "TrainError",
    "Trainer",
    "embed",
    "evaluate",
    "finetune",
    "finetune_text",
    "plan",
    "plan_text",
    "predict",
    "resume",
    "resume_text",
    "write_page",
]


def __getattr__(name: str) -> Any:
    # Lazy, so that the command line can read the configuration without loading the engine.
    if name not in _HOMES:
        raise AttributeError(f"module 'zoo.train' has no attribute {name!r}")
    return getattr(importlib.import_module(f"zoo.train.{_HOMES[name]}"), name)
