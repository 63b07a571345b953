"""Optimizers, learning-rate schedules and gradient clipping.

>>> model = engine.nn.Linear(3, 1)
>>> optimizer = AdamW(model.named_parameters(), lr=1e-3)
"""

from engine.optim import schedule
from engine.optim.adam import Adam, AdamW
from engine.optim.clip import NonFiniteGradientError, clip_grad_norm_, clip_grad_value_
from engine.optim.optimizer import Optimizer, OptimizerStateError
from engine.optim.schedule import Scheduler
from engine.optim.sgd import SGD

__all__ = [
    "Adam",
    "AdamW",
    "NonFiniteGradientError",
    "Optimizer",
    "OptimizerStateError",
    "SGD",
    "Scheduler",
    "clip_grad_norm_",
    "clip_grad_value_",
    "schedule",
]
