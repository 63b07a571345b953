"""Gradients that are added up over all ranks while backward is still at work.

Parameters are laid out in buckets, last ones first, since their gradients come first. When the last
gradient of a bucket is there, a background thread begins to add it up over the ranks, and backward
goes on with what lies before it. Buckets leave in the same order on all ranks, whatever arrives
first; what did not arrive (a parameter without a part in the loss, a rank without samples) counts
as zero.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import engine
from engine import Tensor
from engine.distributed.memory import axes_in_memory
from zoo.train.errors import TrainError

if TYPE_CHECKING:
    from engine.distributed import Group, Work

BUCKET_BYTES = 8 << 20
_FIRST_BYTES = 1 << 20  # the first to leave is small: what follows then has company
_LAST_BYTES = 1 << 20  # and so is the last one, at most: nothing is left to hide it behind


class GradientsOutOfStep(TrainError):
    """A gradient came after its bucket had left: backward ran again in the same step."""


@dataclass
class _Bucket:
    """Parameters of one type, and one memory for the gradients of all."""

    names: list[str] = field(default_factory=list)
    parameters: list[Tensor] = field(default_factory=list)
    memory: Any = None  # (n,) tensor
    slots: list[Tensor] = field(default_factory=list)  # views of it, one a parameter
    narrow: Any = None  # (n,) bfloat16, if that is what is sent
    missing: int = 0  # gradients that are still to come
    work: Work | None = None

    @property
    def label(self) -> str:
        more = f" and {len(self.names) - 1} more" if len(self.names) > 1 else ""
        return f"the gradients of {self.names[0]}{more}"

    def allocate(self, narrow: bool) -> None:
        size, device = sum(p.size for p in self.parameters), self.parameters[0].device
        self.memory = engine.zeros(size, dtype=self.parameters[0].dtype, device=device)
        if narrow:
            self.narrow = engine.zeros(size, dtype=engine.bfloat16, device=device)
        start = 0
        for parameter in self.parameters:
            # In the memory order of the parameter, as the optimizer wants it.
            order = axes_in_memory(parameter)
            slot = self.memory[start : start + parameter.size]
            slot = slot.reshape([parameter.shape[axis] for axis in order])
            self.slots.append(slot.permute_dims(np.argsort(order).tolist()))
            start += parameter.size


@dataclass
class Overlap:
    """How much of the exchange went unnoticed, over all steps.

    Attributes:
        moving: seconds that operations took.
        waiting: seconds that were spent waiting for them after backward.
    """

    moving: float = 0.0
    waiting: float = 0.0

    @property
    def hidden(self) -> float:
        """The share of the exchange that backward covered, 0 to 1."""
        return max(1 - self.waiting / self.moving, 0.0) if self.moving else 0.0


class GradientBuckets:
    """Adds up the gradients of some parameters over a group of ranks.

    Args:
        group: the ranks.
        named: (name, parameter) pairs, the same on all ranks.
        narrow: send bfloat16, added up in float32: half the bytes, three digits.
        bucket_bytes: what a bucket holds at least.

    Attributes:
        overlap: times of the exchange.

    >>> buckets = GradientBuckets(group, model.named_parameters())      # doctest: +SKIP
    >>> buckets.arm()                # the next backward is the last one of this step
    ... # doctest: +SKIP
    >>> loss.backward()              # doctest: +SKIP
    >>> buckets.finish()             # doctest: +SKIP
    """

    def __init__(
        self,
        group: Group,
        named: Iterable[tuple[str, Tensor]],
        *,
        narrow: bool = False,
        bucket_bytes: int = BUCKET_BYTES,
    ) -> None:
        self.group = group
        self.overlap = Overlap()
        self._armed = False
        self._buckets = _cut(list(named), bucket_bytes)
        self._place: dict[int, tuple[_Bucket, int]] = {}
        self._handles: list[Any] = []
        for bucket in self._buckets:
            bucket.allocate(narrow and bucket.parameters[0].dtype == engine.float32)
            for row, parameter in enumerate(bucket.parameters):
                self._place[id(parameter)] = bucket, row
                hook = parameter.register_post_accumulate_grad_hook(self._arrived)
                self._handles.append(hook)

    @property
    def count(self) -> int:
        """Buckets."""
        return len(self._buckets)

    def close(self) -> None:
        """Watch the parameters no more."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def arm(self) -> None:
        """The next backward is the last one of this step: buckets may leave as they fill."""
        # A GPU that waits for another does nothing else, and cannot be asked why: there, gradients
        # leave in `finish`, when all ranks are known to be at the same point.
        self._armed = all(bucket.memory.device == "cpu" for bucket in self._buckets)
        for bucket in self._buckets:
            bucket.missing = len(bucket.parameters)

    def used(self) -> list[bool]:
        """For each parameter, in the order of the buckets, whether it has a gradient here."""
        return [p.grad is not None for bucket in self._buckets for p in bucket.parameters]

    def finish(self, used: Sequence[bool]) -> None:
        """Wait until every gradient is the sum over all ranks.

        Args:
            used: for each parameter, whether it has a gradient on any rank; the others keep none,
                as they would with one process.

        Raises:
            engine.distributed.RankTimeout, RankLost: naming the parameters.
        """
        for bucket in self._buckets:
            if bucket.work is None:
                for row, parameter in enumerate(bucket.parameters):
                    self._take(bucket, row, parameter)
                self._send(bucket)
        started = time.perf_counter()
        for bucket in self._buckets:
            assert bucket.work is not None
            self.overlap.moving += bucket.work.wait()
        self.overlap.waiting += time.perf_counter() - started
        answers = iter(used)
        for bucket in self._buckets:
            if bucket.narrow is not None:
                bucket.memory.copy_(bucket.narrow)
            for parameter, slot in zip(bucket.parameters, bucket.slots, strict=True):
                parameter.grad = slot if next(answers) else None
            bucket.work = None
        self._armed = False

    def _arrived(self, parameter: Tensor) -> None:
        if not self._armed:
            return
        bucket, row = self._place[id(parameter)]
        if bucket.work is not None:
            raise GradientsOutOfStep(
                f"the gradient of {bucket.names[row]} came a second time in one backward, after "
                "it was sent; send gradients after backward (do not call arm)"
            )
        self._take(bucket, row, parameter)
        bucket.missing -= 1
        for waiting in self._buckets:  # in the same order on every rank
            if waiting.work is None:
                if waiting.missing:
                    break
                self._send(waiting)

    def _take(self, bucket: _Bucket, row: int, parameter: Tensor) -> None:
        """Have the gradient of a parameter in its bucket; none counts as zero."""
        slot, grad = bucket.slots[row], parameter.grad
        if grad is None:
            slot.copy_(engine.zeros_like(slot))
        elif grad.data_ptr() != slot.data_ptr():
            slot.copy_(grad.detach())
            parameter.grad = slot

    def _send(self, bucket: _Bucket) -> None:
        sent = bucket.memory
        if bucket.narrow is not None:
            bucket.narrow.copy_(bucket.memory)
            sent = bucket.narrow
        bucket.work = self.group.all_reduce(sent, background=True, label=bucket.label)


def _cut(named: list[tuple[str, Tensor]], bucket_bytes: int) -> list[_Bucket]:
    """Buckets of parameters of one type, the last parameters first."""
    buckets: list[_Bucket] = []
    open_ones: dict[Any, _Bucket] = {}
    filled: dict[int, int] = {}
    before = 0
    left = sum(parameter.nbytes for _, parameter in named)
    for name, parameter in reversed(named):
        if left <= _LAST_BYTES < left + before:
            open_ones.clear()
        left, before = left - parameter.nbytes, parameter.nbytes
        bucket = open_ones.get(parameter.dtype)
        if bucket is None:
            bucket = open_ones[parameter.dtype] = _Bucket()
            buckets.append(bucket)
        bucket.names.append(name)
        bucket.parameters.append(parameter)
        filled[id(bucket)] = filled.get(id(bucket), 0) + parameter.nbytes
        limit = min(_FIRST_BYTES, bucket_bytes) if bucket is buckets[0] else bucket_bytes
        if filled[id(bucket)] >= limit:
            del open_ones[parameter.dtype]
    return buckets
