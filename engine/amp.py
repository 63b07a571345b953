"""Mixed precision: products in 16 bits, for GPUs that do those several times as fast.

>>> x, w = engine.ones((2, 3)), engine.ones((4, 3))
>>> with engine.autocast("cpu"):
...     y = engine.nn.functional.linear(x, w)
>>> y.dtype
bfloat16
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine import _C
from engine._C import Tensor
from engine.mode import Mode

if TYPE_CHECKING:
    from engine.optim import Optimizer

__all__ = ["GradScaler", "autocast"]

_DEVICES = ("cpu", "cuda")
_NARROW = (_C.bfloat16, _C.float16)


class autocast(Mode):  # noqa: N801 - the field's name for it
    """Products, linear layers, convolutions and heads of float32 tensors are computed in `dtype`
    inside; losses, softmax and the statistics of norms stay in float32 (Micikevicius et al.,
    arXiv:1710.03740). Parameters keep their float32, and so do their gradients.

    Per thread, reusable, a decorator too. The backward pass belongs outside, and is computed in the
    dtypes of the forward pass wherever it is called. On CPUs 16-bit tensors go through float32: the
    same numbers, but no gain in speed.

    Args:
        device_type: "cuda" or "cpu": where the tensors are that this is for.
        dtype: engine.bfloat16, whose range is that of float32; or engine.float16, for GPUs without
            bfloat16, which wants a `GradScaler` in training.
        enabled: False switches autocasting off inside.

    Raises:
        ValueError: for another kind of device or dtype.

    >>> with engine.autocast("cpu", dtype=engine.float16):
    ...     (engine.ones((2, 2)) @ engine.ones((2, 2))).dtype
    float16
    """

    def __init__(
        self, device_type: str, dtype: _C.dtype = _C.bfloat16, enabled: bool = True
    ) -> None:
        if device_type not in _DEVICES:
            raise ValueError(f"autocast: device_type {device_type!r}; expected 'cpu' or 'cuda'")
        if dtype not in _NARROW:
            raise ValueError(f"autocast: dtype {dtype}; expected engine.bfloat16 or engine.float16")
        super().__init__()
        self._device, self._dtype = _DEVICES.index(device_type), dtype if enabled else None

    def _switch(self) -> list[_C.dtype | None]:
        before = _C._autocast_dtypes()
        inside = list(before)
        inside[self._device] = self._dtype
        _C._set_autocast_dtypes(inside)
        return before

    def _put_back(self, before: list[_C.dtype | None]) -> None:
        _C._set_autocast_dtypes(before)


class GradScaler:
    """Keeps small gradients of float16 from becoming 0: the loss is multiplied by a large number,
    gradients are divided by it before the step. A step whose gradients overflowed is left out and
    the number made smaller; after many good steps it grows (Micikevicius et al., arXiv:1710.03740,
    section 3.2). bfloat16 does not need it.

    Args:
        init_scale: the number to begin with.
        growth_factor: what it is multiplied by after `growth_interval` good steps in a row.
        backoff_factor: and after a step that overflowed.
        growth_interval: steps.
        enabled: False makes it do nothing, so that a loop needs no second way.

    Raises:
        ValueError: growth_factor is not above 1, or backoff_factor not between 0 and 1.

    >>> scaler = engine.amp.GradScaler()
    >>> with engine.autocast("cuda", dtype=engine.float16):       # doctest: +SKIP
    ...     loss = F.cross_entropy(model(x), y)
    >>> scaler.scale(loss).backward()                              # doctest: +SKIP
    >>> scaler.step(optimizer)                                     # doctest: +SKIP
    >>> scaler.update()                                            # doctest: +SKIP
    """

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if not growth_factor > 1 or not 0 < backoff_factor < 1:
            raise ValueError(
                f"GradScaler: growth_factor {growth_factor} must be above 1 and backoff_factor "
                f"{backoff_factor} between 0 and 1"
            )
        self._scale, self._enabled = init_scale, enabled
        self._growth, self._backoff, self._interval = growth_factor, backoff_factor, growth_interval
        self._good_steps = 0
        self._finite: bool | None = None  # of the gradients unscaled since the last update

    def is_enabled(self) -> bool:
        """Whether it does anything.

        >>> engine.amp.GradScaler(enabled=False).is_enabled()
        False
        """
        return self._enabled

    def get_scale(self) -> float:
        """What losses are multiplied by.

        >>> engine.amp.GradScaler(init_scale=8.0).get_scale()
        8.0
        """
        return self._scale if self._enabled else 1.0

    def scale(self, loss: Tensor) -> Tensor:
        """The loss to call backward on.

        >>> engine.amp.GradScaler(init_scale=8.0).scale(engine.asarray(0.5)).item()
        4.0
        """
        return loss * self._scale if self._enabled else loss

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, in place: before they
        are clipped. `step` does it where this was not called.

        Raises:
            RuntimeError: they have been unscaled already.

        >>> scaler.unscale_(optimizer)                             # doctest: +SKIP
        """
        if not self._enabled:
            return
        if self._finite is not None:
            raise RuntimeError(
                "GradScaler.unscale_: the gradients have been unscaled since the last update(); "
                "call it once a step"
            )
        grads = [
            p.grad
            for group in optimizer.param_groups
            for p in group["params"]
            if p.grad is not None
        ]
        self._finite = True
        if grads:
            _C.scale_grads(grads, 1 / self._scale)
            self._finite = math.isfinite(_C.grad_norm(grads))

    def step(self, optimizer: Optimizer) -> None:
        """The optimizer's step, unless a gradient is not finite.

        >>> scaler.step(optimizer)                                 # doctest: +SKIP
        """
        if self._enabled and self._finite is None:
            self.unscale_(optimizer)
        if self._finite is not False:
            optimizer.step()

    def update(self) -> None:
        """Make the scale smaller after a step that overflowed, larger after many that did not.

        >>> scaler.update()                                        # doctest: +SKIP
        """
        if not self._enabled:
            return
        if self._finite is False:
            self._scale *= self._backoff
            self._good_steps = 0
        elif self._finite:
            self._good_steps += 1
            if self._good_steps == self._interval:
                self._scale *= self._growth
                self._good_steps = 0
        self._finite = None

    def state_dict(self) -> dict[str, Any]:
        """What a run that goes on needs, plain numbers; empty if it is not enabled.

        >>> engine.amp.GradScaler(init_scale=8.0).state_dict()
        {'scale': 8.0, 'good_steps': 0}
        """
        return {"scale": self._scale, "good_steps": self._good_steps} if self._enabled else {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The inverse of `state_dict`.

        >>> engine.amp.GradScaler().load_state_dict({"scale": 8.0, "good_steps": 0})
        """
        if self._enabled:
            self._scale, self._good_steps = float(state["scale"]), int(state["good_steps"])
