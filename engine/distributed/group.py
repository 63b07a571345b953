"""Ranks that work together: collective operations on tensors, on any transport."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout  # the builtin from 3.11 on
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import engine
from engine._C import Tensor
from engine.distributed.errors import RankTimeout
from engine.distributed.memory import changed, flat, narrow_tensor
from engine.distributed.transport import OPERATIONS, Transport

if TYPE_CHECKING:
    from engine.distributed.nccl import NcclLane

DEFAULT_TIMEOUT = 300.0  # seconds
_NARROW = (engine.bfloat16, engine.float16)  # added up in float32


class Work:
    """An operation that goes on in the background. What it works on must not be used meanwhile.

    >>> work = all_reduce(gradient, background=True)      # doctest: +SKIP
    >>> work.wait()                                       # doctest: +SKIP
    """

    def __init__(
        self,
        future: Future[float],
        until: float = math.inf,
        late: Callable[[], RankTimeout] | None = None,  # what to raise after `until`
    ) -> None:
        self._future, self._until, self._late = future, until, late

    def done(self) -> bool:
        """Whether it is over, well or not."""
        return self._future.done()

    def wait(self) -> float:
        """Return when it is over: the seconds that it took, of which some may have passed
        unnoticed. Raises what it raised."""
        if self._late is None:
            return self._future.result()
        try:
            return self._future.result(max(self._until - time.monotonic(), 0.0))
        except FutureTimeout:
            raise self._late() from None


class Group:
    """One rank of a group, and all that it can do with the others. All ranks must call the same
    operations in the same order; those in the background are in an order of their own.

    Args:
        transport: to the other ranks.
        timeout: seconds after which an operation gives up, unless it is told otherwise.

    Attributes:
        rank, size: this rank's number, from 0, and how many there are.
        local_rank, local_size: the same among the ranks of this machine.
        timeout: as given.

    >>> group = Group(MpiTransport.start(), timeout=60)      # doctest: +SKIP
    >>> group.all_reduce(engine.ones(3)).tolist()            # doctest: +SKIP
    [2.0, 2.0, 2.0]
    """

    def __init__(self, transport: Transport, timeout: float = DEFAULT_TIMEOUT) -> None:
        self.rank, self.size = transport.rank, transport.size
        self.local_rank, self.local_size = transport.local_rank, transport.local_size
        self.timeout = timeout
        self._front = transport
        # Apart from the operations that this thread waits for, so that neither waits for the other.
        self._back = transport.lane()
        self._ends = transport.lane()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="engine-ranks")
        self._devices: dict[str, NcclLane] = {}

    def all_reduce(
        self,
        tensor: Tensor,
        operation: str = "sum",
        *,
        timeout: float | None = None,
        label: str = "",
        background: bool = False,
    ) -> Any:
        """tensor = its sum over all ranks, or their mean, max or min; in place.

        All ranks get the same bits, and the same from run to run. bfloat16 and float16 are added
        up in float32 and rounded once.

        Args:
            tensor: of the same shape, type and memory order on all ranks, without gaps.
            operation: "sum", "mean", "max" or "min".
            timeout: seconds to wait for other ranks; None for the group's.
            label: what messages call the tensor.
            background: return a `Work` at once.

        Returns:
            The tensor, or the Work.

        Raises:
            RankTimeout, RankLost: other ranks did not come, or are gone.
            ValueError: another operation, or a tensor with gaps in memory.
        """
        scale, operation = _scale(operation, self.size, "all_reduce")
        label = label or _described("all_reduce", tensor)
        device = self._device_lane(tensor)
        if device is not None:
            device.all_reduce(tensor, operation)
            if scale != 1:
                tensor.mul_(scale)
            return self._on_device(device, timeout, label) if background else tensor
        memory = flat(tensor, "all_reduce")
        narrow = tensor.dtype in _NARROW
        if narrow and operation != "sum":
            raise ValueError(f"all_reduce: {operation} of {tensor.dtype}; expected sum or mean")

        def run(lane: Transport) -> None:
            until = self._until(timeout)
            if narrow:
                self._add_narrow(lane, memory, tensor.dtype, scale, until, label)
            else:
                lane.all_reduce(memory, operation, until, label)
                if scale != 1:
                    np.multiply(memory, memory.dtype.type(scale), out=memory)
            changed(tensor)

        if background:
            return Work(self._in_background(lambda: run(self._back)))
        run(self._front)
        return tensor

    def all_gather(
        self, tensor: Tensor, *, timeout: float | None = None, label: str = ""
    ) -> Tensor:
        """The tensors of all ranks, stacked: (size, *tensor.shape), by rank.

        Args:
            tensor: of the same shape and type on all ranks, contiguous.

        Raises:
            RankTimeout, RankLost, ValueError: as all_reduce.
        """
        out = engine.empty((self.size, *tensor.shape), dtype=tensor.dtype)
        device = self._device_lane(tensor)
        if device is not None:
            return device.all_gather(tensor)
        self._front.all_gather(
            self._contiguous(tensor, "all_gather"),
            flat(out, "all_gather"),
            self._until(timeout),
            label or _described("all_gather", tensor),
        )
        return out

    def reduce_scatter(
        self,
        tensor: Tensor,
        operation: str = "sum",
        *,
        timeout: float | None = None,
        label: str = "",
    ) -> Tensor:
        """This rank's part of the sum over all ranks, or of their mean, max or min.

        Args:
            tensor: contiguous, of the same shape and type on all ranks, its first axis a multiple
                of their number; rank r gets the r-th of as many equal parts of it.

        Raises:
            RankTimeout, RankLost, ValueError: as all_reduce; and for an axis that cannot be
                divided.
        """
        scale, operation = _scale(operation, self.size, "reduce_scatter")
        if not tensor.ndim or tensor.shape[0] % self.size:
            raise ValueError(
                f"reduce_scatter: a tensor of shape {tensor.shape}; expected a first axis that is "
                f"a multiple of the {self.size} ranks"
            )
        device = self._device_lane(tensor)
        if device is not None:
            out = device.reduce_scatter(tensor, operation)
        else:
            if tensor.dtype in _NARROW:
                raise ValueError(f"reduce_scatter of {tensor.dtype}; expected float32 or float64")
            shape = (tensor.shape[0] // self.size, *tensor.shape[1:])
            out = engine.empty(shape, dtype=tensor.dtype)
            self._front.reduce_scatter(
                self._contiguous(tensor, "reduce_scatter"),
                flat(out, "reduce_scatter"),
                operation,
                self._until(timeout),
                label or _described("reduce_scatter", tensor),
            )
        return out if scale == 1 else out * scale

    def broadcast(
        self, tensor: Tensor, root: int = 0, *, timeout: float | None = None, label: str = ""
    ) -> Tensor:
        """tensor = that of rank `root`, in place; returns it.

        Args:
            tensor: of the same shape, type and memory order on all ranks, without gaps.

        Raises:
            RankTimeout, RankLost, ValueError: as all_reduce; and for a root that is no rank.
        """
        if not 0 <= root < self.size:
            raise ValueError(f"broadcast: root={root}; expected a rank, 0 to {self.size - 1}")
        device = self._device_lane(tensor)
        if device is not None:
            device.broadcast(tensor, root)
            return tensor
        label = label or _described("broadcast", tensor)
        self._front.broadcast(flat(tensor, "broadcast"), root, self._until(timeout), label)
        if self.rank != root:
            changed(tensor)
        return tensor

    def barrier(self, *, timeout: float | None = None, label: str = "barrier") -> None:
        """Return when all ranks have come here.

        Raises:
            RankTimeout, RankLost: they did not, or are gone.
        """
        self._front.barrier(self._until(timeout), label)

    def leave(self, code: int, grace: float) -> list[int] | None:
        """Tell the others that this rank has come to its end, with a number that says how, and wait
        for them to do so: the numbers of all ranks, or None if some did not within `grace` seconds.

        >>> group.leave(0, grace=math.inf)      # doctest: +SKIP
        [0, 0]
        """
        codes = np.zeros(self.size, np.int64)
        try:
            mine = np.array([code], np.int64)
            self._ends.all_gather(mine, codes, time.monotonic() + grace, "the end of all ranks")
        except RankTimeout:
            return None
        return codes.tolist()

    def abort(self, code: int) -> None:
        """End the processes of all ranks at once, with an exit code that is not 0."""
        self._front.abort(code)

    def _until(self, timeout: float | None) -> float:
        return time.monotonic() + (self.timeout if timeout is None else timeout)

    def _in_background(self, run: Callable[[], None]) -> Future[float]:
        """The seconds that it takes."""

        def timed() -> float:
            started = time.perf_counter()
            run()
            return time.perf_counter() - started

        return self._thread.submit(timed)

    def _on_device(self, device: NcclLane, timeout: float | None, label: str) -> Work:
        """Wait in the background for what was given to a GPU, which may wait for other ranks."""
        started, until = time.monotonic(), self._until(timeout)

        def late() -> RankTimeout:
            device.abort()
            return RankTimeout(
                f"rank {self.rank} of {self.size} waited {until - started:.0f} s for the others' "
                f"GPUs in {label}. A rank may be stopped, cut off or gone"
            )

        return Work(self._in_background(device.finish), until, late)

    def _contiguous(self, tensor: Tensor, operation: str) -> NDArray[Any]:
        if not tensor.is_contiguous():
            raise ValueError(
                f"{operation}: a tensor of shape {tensor.shape} with steps {tensor.strides()}; "
                "expected a contiguous one: tensor.contiguous()"
            )
        return flat(tensor, operation)

    def _add_narrow(
        self, lane: Transport, bits: NDArray[np.uint16], dtype: Any, scale: float, until: float,
        label: str,
    ) -> None:  # fmt: skip
        """Each rank adds up one stretch, of all ranks by rank, and hands the sum to all."""
        bits = bits.view(np.uint16)
        each = -(-bits.size // self.size)
        padded = np.zeros(each * self.size, np.uint16)
        padded[: bits.size] = bits
        theirs = np.empty_like(padded)
        lane.all_to_all(padded, theirs, until, label)
        stretches = narrow_tensor(theirs, dtype).astype(engine.float32).reshape((self.size, each))
        total = stretches[0]
        for rank in range(1, self.size):
            total = total + stretches[rank]
        mine = np.empty(each, np.uint16)
        narrow_tensor(mine, dtype).copy_(total if scale == 1 else total * scale)
        lane.all_gather(mine, padded, until, label)
        bits[...] = padded[: bits.size]

    def _device_lane(self, tensor: Tensor) -> NcclLane | None:
        """For a tensor on a GPU, the way between GPUs."""
        name = str(tensor.device)
        if not name.startswith("cuda"):
            return None
        if name not in self._devices:
            from engine.distributed.nccl import NcclLane

            self._devices[name] = NcclLane(self._front, name, self._until(None))
        return self._devices[name]


def _scale(operation: str, size: int, name: str) -> tuple[float, str]:
    """What a result is multiplied by, and the operation that transports know."""
    if operation == "mean":
        return 1 / size, "sum"
    if operation not in OPERATIONS:
        raise ValueError(
            f"{name}: operation={operation!r}; expected mean or one of {', '.join(OPERATIONS)}"
        )
    return 1.0, operation


def _described(operation: str, tensor: Tensor) -> str:
    return f"{operation} of {tensor.dtype} {tensor.shape}"
