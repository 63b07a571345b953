"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import engine
from engine import _C, Tensor
from engine.optim.optimizer import Optimizer, Params


class SGD(Optimizer):
    """Stochastic gradient descent with momentum (Sutskever et al., ICML 2013).

    g = gradient + weight_decay * p;  b = momentum * b + (1 - dampening) * g (at first b = g);
    p = p - lr * b, or with nesterov p - lr * (g + momentum * b).

    Args:
        params: tensors, (name, tensor) pairs, or dicts of groups; see Optimizer.
        lr: learning rate.
        momentum: share of the last step that is kept, 0 to 1.
        weight_decay: L2 penalty, added to the gradient.
        nesterov: look ahead along the momentum.
        dampening: share of the gradient that momentum leaves out.

    >>> w = engine.nn.Parameter([1.0])
    >>> optimizer = SGD([("w", w)], lr=0.1, momentum=0.9)
    """

    _state_tensors: ClassVar[tuple[str, ...]] = ("momentum_buffer",)

    def __init__(
        self,
        params: Params,
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        dampening: float = 0.0,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "dampening": dampening,
        }
        super().__init__(params, defaults)

    def _check_hyperparameters(self, group: Mapping[str, Any]) -> None:
        super()._check_hyperparameters(group)
        momentum, dampening = group["momentum"], group["dampening"]
        if not 0 <= momentum < 1:
            raise ValueError(f"SGD: momentum={momentum}; expected 0 or more, and below 1")
        if group["nesterov"] and (momentum == 0 or dampening != 0):
            raise ValueError(
                f"SGD: nesterov with momentum={momentum}, dampening={dampening}; it needs a "
                "momentum above 0 and no dampening"
            )

    def _step_group(self, group: Mapping[str, Any], live: list[tuple[str, Tensor, Tensor]]) -> None:
        if group["momentum"] == 0:
            self._step(group, live, [], first=False)
            return
        # Parameters may start late, when they are unfrozen: their buffers are filled, not read.
        known = [entry for entry in live if entry[0] in self.state]
        fresh = [entry for entry in live if entry[0] not in self.state]
        for name, parameter, _ in fresh:
            self.state[name] = {"momentum_buffer": engine.zeros_like(parameter.detach())}
        for entries, first in ((known, False), (fresh, True)):
            buffers = [self.state[name]["momentum_buffer"] for name, _, _ in entries]
            if entries:
                self._step(group, entries, buffers, first)

    @staticmethod
    def _step(
        group: Mapping[str, Any],
        entries: list[tuple[str, Tensor, Tensor]],
        buffers: list[Tensor],
        first: bool,
    ) -> None:
        _C.sgd_step(
            [parameter for _, parameter, _ in entries],
            [grad for _, _, grad in entries],
            buffers,
            group["lr"],
            group["momentum"],
            group["dampening"],
            group["weight_decay"],
            group["nesterov"],
            first,
        )
