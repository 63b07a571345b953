"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import engine
from engine import _C, Tensor
from engine.optim.optimizer import Optimizer, Params


class Adam(Optimizer):
    """Adam (Kingma and Ba, arXiv:1412.6980).

    g = gradient + weight_decay * p;  m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g^2;
    p = p - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps), t the parameter's own count
    of steps, from 1.

    Args:
        params: tensors, (name, tensor) pairs, or dicts of groups; see Optimizer.
        lr: learning rate.
        betas: (beta1, beta2), each 0 or more and below 1.
        eps: keeps the division finite.
        weight_decay: L2 penalty, added to the gradient.

    >>> w = engine.nn.Parameter([1.0])
    >>> optimizer = Adam([("w", w)], lr=1e-3)
    """

    _state_tensors: ClassVar[tuple[str, ...]] = ("exp_avg", "exp_avg_sq")
    _decoupled: ClassVar[bool] = False

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        )

    def _state_keys(self) -> tuple[str, ...]:
        return (*self._state_tensors, "step")

    def _check_hyperparameters(self, group: Mapping[str, Any]) -> None:
        super()._check_hyperparameters(group)
        betas, eps = group["betas"], group["eps"]
        if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
            raise ValueError(
                f"{self._name}: betas={betas}; expected two numbers, 0 or more and below 1"
            )
        if not 0 <= eps < float("inf"):
            raise ValueError(f"{self._name}: eps={eps}; expected a number, 0 or more")

    def _step_group(self, group: Mapping[str, Any], live: list[tuple[str, Tensor, Tensor]]) -> None:
        # By count of steps: parameters that were unfrozen later are behind the others.
        by_step: dict[int, list[tuple[str, Tensor, Tensor]]] = {}
        for entry in live:
            name, parameter, _ = entry
            if name not in self.state:
                self.state[name] = {
                    "exp_avg": engine.zeros_like(parameter.detach()),
                    "exp_avg_sq": engine.zeros_like(parameter.detach()),
                    "step": 0,
                }
            by_step.setdefault(self.state[name]["step"] + 1, []).append(entry)
        beta1, beta2 = group["betas"]
        for step, entries in by_step.items():
            states = [self.state[name] for name, _, _ in entries]
            _C.adamw_step(
                [parameter for _, parameter, _ in entries],
                [grad for _, _, grad in entries],
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                step,
                group["lr"],
                beta1,
                beta2,
                group["eps"],
                group["weight_decay"],
                self._decoupled,
            )
            for state in states:
                state["step"] = step


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, arXiv:1711.05101).

    As Adam, but with g = gradient, and p = p - lr * weight_decay * p beside its step.

    Args:
        params, lr, betas, eps: as for Adam.
        weight_decay: share of p, times lr, that goes in every step. Give norms and biases a group
            of their own with 0.

    >>> w = engine.nn.Parameter([1.0])
    >>> optimizer = AdamW([("w", w)], lr=1e-3, weight_decay=0.05)
    """

    _decoupled: ClassVar[bool] = True

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)
