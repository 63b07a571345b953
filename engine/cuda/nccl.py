"""Sums, copies and gathers between GPUs, by NCCL.

One process a GPU. Rank 0 makes a key and hands it to the others by whatever means they share (a
file, a socket, MPI); then each makes a Communicator, and all call the same methods in the same
order:

    key = nccl.unique_id()              # rank 0
    group = nccl.Communicator(rank, world_size, key, device="cuda:0")
    group.all_reduce(gradient, "avg")   # in place, on every rank

Calls return once the work is queued, behind what the device already has to do; what reads the
result on that device waits by itself. See https://docs.nvidia.com/deeplearning/nccl.
"""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections.abc import Iterator

from engine._C import Device, Tensor
from engine.cuda import kernels, libraries

ID_BYTES = 128
# As nccl.h numbers them.
_DTYPES = {
    "int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5, "float16": 6,
    "float32": 7, "float64": 8, "bfloat16": 9,
}  # fmt: skip
_OPERATIONS = {"sum": 0, "prod": 1, "max": 2, "min": 3, "avg": 4}


class NcclError(RuntimeError):
    """NCCL refused a call, or another rank is gone; says which call and what NCCL said."""


class _UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * ID_BYTES)]


_P, _Z, _I = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
_SIGNATURES = {
    "ncclGetUniqueId": [_P],
    "ncclCommInitRank": [_P, _I, _UniqueId, _I],
    "ncclCommDestroy": [_P],
    "ncclCommAbort": [_P],
    "ncclCommGetAsyncError": [_P, _P],
    "ncclGroupStart": [],
    "ncclGroupEnd": [],
    "ncclAllReduce": [_P, _P, _Z, _I, _I, _P, _P],
    "ncclBroadcast": [_P, _P, _Z, _I, _I, _P, _P],
    "ncclAllGather": [_P, _P, _Z, _I, _P, _P],
    "ncclReduceScatter": [_P, _P, _Z, _I, _I, _P, _P],
}


class _Functions:
    """NCCL's functions, each looked up once. Raises LibraryError without the library."""

    def __init__(self) -> None:
        handle = libraries.opened(libraries.NCCL).handle
        self._found = {}
        for name, arguments in _SIGNATURES.items():
            function = getattr(handle, name)
            function.argtypes, function.restype = arguments, ctypes.c_int
            self._found[name] = function
        self._text = handle.ncclGetErrorString
        self._text.argtypes, self._text.restype = [ctypes.c_int], ctypes.c_char_p

    def call(self, name: str, *arguments: object) -> None:
        self.check(name, self._found[name](*arguments))

    def check(self, name: str, status: int) -> None:
        if status != 0:
            text = (self._text(status) or b"unknown error").decode("utf-8", "replace")
            raise NcclError(f"{name}: {text} (error {status}); NCCL_DEBUG=INFO makes NCCL say more")


_functions: _Functions | None = None


def _nccl() -> _Functions:
    global _functions
    if _functions is None:
        _functions = _Functions()
    return _functions


def unique_id() -> bytes:
    """A key of 128 bytes for a new group; one rank makes it, all pass it to Communicator. Raises
    LibraryError without NCCL.

    >>> len(unique_id())  # doctest: +SKIP
    128
    """
    key = _UniqueId()
    _nccl().call("ncclGetUniqueId", ctypes.byref(key))
    return bytes(key)


class Communicator:
    """One rank's place in a group of GPUs.

    Args:
        rank: this process's number, 0 to world_size - 1.
        world_size: how many processes there are; the constructor waits for all of them.
        key: what `unique_id` gave on one of them.
        device: where this rank's tensors live, "cuda:0" and so on.

    Tensors must be contiguous and on that device. All methods change tensors in place, or the one
    named `out`; they are no part of any gradient. Raises ValueError and TypeError for tensors that
    do not fit, NcclError where NCCL fails. Usable in a with statement.

    >>> with Communicator(0, 1, unique_id(), "cuda:0") as group:  # doctest: +SKIP
    ...     group.all_reduce(engine.ones(3, device="cuda:0"))
    """

    def __init__(self, rank: int, world_size: int, key: bytes, device: Device | str) -> None:
        if world_size < 1 or not 0 <= rank < world_size:
            raise ValueError(
                f"Communicator: rank {rank} of {world_size}; expected a rank from 0 to "
                "world_size - 1"
            )
        if len(key) != ID_BYTES:
            raise ValueError(
                f"Communicator: the key has {len(key)} bytes, expected the {ID_BYTES} of "
                "nccl.unique_id()"
            )
        self.rank, self.world_size, self.device = rank, world_size, Device(device)
        nccl = _nccl()
        handle = ctypes.c_void_p()
        _stream(self.device)  # NCCL takes the current device
        nccl.call(
            "ncclCommInitRank", ctypes.byref(handle), world_size, _UniqueId.from_buffer_copy(key),
            rank,
        )  # fmt: skip
        self._handle: ctypes.c_void_p | None = handle
        # A process that ends without close() must not wait for ranks that are gone.
        self._abort = weakref.finalize(self, _abort, nccl, handle)

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        self.abort() if kind is not None else self.close()

    def close(self) -> None:
        """Waits for what was queued, and leaves the group. A second call does nothing.

        >>> group.close()  # doctest: +SKIP
        """
        if self._abort.detach() is not None:
            handle, self._handle = self._handle, None
            _nccl().call("ncclCommDestroy", handle)

    def abort(self) -> None:
        """Leaves the group at once, whatever other ranks do: after an error.

        >>> group.abort()  # doctest: +SKIP
        """
        self._handle = None
        self._abort()

    def check(self) -> None:
        """Raises NcclError if the connection to another rank broke while queued work ran.

        >>> group.check()  # doctest: +SKIP
        """
        status = ctypes.c_int(0)
        _nccl().call("ncclCommGetAsyncError", self._open(), ctypes.byref(status))
        _nccl().check("queued work", status.value)

    def all_reduce(self, tensor: Tensor, op: str = "sum") -> None:
        """tensor = the sum ("prod", "max", "min", "avg") of all ranks' tensors, on every rank.

        >>> group.all_reduce(gradient, "avg")  # doctest: +SKIP
        """
        dtype = self._checked("all_reduce", tensor)
        data = tensor.data_ptr()
        self._run("ncclAllReduce", data, data, tensor.size, dtype, _operation("all_reduce", op))

    def broadcast(self, tensor: Tensor, root: int = 0) -> None:
        """tensor = that of rank `root`, on every rank.

        >>> group.broadcast(weight)  # doctest: +SKIP
        """
        dtype = self._checked("broadcast", tensor)
        if not 0 <= root < self.world_size:
            raise ValueError(f"broadcast: root {root}; expected 0 to {self.world_size - 1}")
        data = tensor.data_ptr()
        self._run("ncclBroadcast", data, data, tensor.size, dtype, root)

    def all_gather(self, out: Tensor, tensor: Tensor) -> None:
        """out = the tensors of all ranks one behind the other, by rank. `out` has world_size times
        the elements of `tensor`.

        >>> group.all_gather(everything, mine)  # doctest: +SKIP
        """
        dtype = self._checked_pair("all_gather", out, tensor, whole=out, part=tensor)
        self._run("ncclAllGather", tensor.data_ptr(), out.data_ptr(), tensor.size, dtype)

    def reduce_scatter(self, out: Tensor, tensor: Tensor, op: str = "sum") -> None:
        """out = this rank's part of the sum ("prod", "max", "min", "avg") of all ranks' tensors.
        `tensor` has world_size times the elements of `out`; rank r gets the r-th stretch.

        >>> group.reduce_scatter(mine, gradients)  # doctest: +SKIP
        """
        dtype = self._checked_pair("reduce_scatter", out, tensor, whole=tensor, part=out)
        self._run(
            "ncclReduceScatter", tensor.data_ptr(), out.data_ptr(), out.size, dtype,
            _operation("reduce_scatter", op),
        )  # fmt: skip

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Calls in the with statement become one piece of work: for many small tensors.

        >>> with group.together():  # doctest: +SKIP
        ...     for gradient in gradients:
        ...         group.all_reduce(gradient, "avg")
        """
        nccl = _nccl()
        nccl.call("ncclGroupStart")
        try:
            yield
        finally:
            nccl.call("ncclGroupEnd")

    def _open(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise NcclError("this Communicator is closed; make a new one with a new key")
        return self._handle

    def _run(self, name: str, *arguments: object) -> None:
        handle = self._open()
        _nccl().call(name, *arguments, handle, _stream(self.device))

    def _checked(self, op: str, tensor: Tensor) -> int:
        if tensor.device != self.device:
            raise ValueError(
                f"{op}: the tensor is on '{tensor.device}', this rank's are on '{self.device}'; "
                f"move it: tensor.to('{self.device}')"
            )
        if not tensor.is_contiguous():
            raise ValueError(
                f"{op}: a tensor of shape {tensor.shape} has strides {tensor.strides()}; expected "
                "a contiguous one: tensor.contiguous()"
            )
        name = str(tensor.dtype)
        if name not in _DTYPES:
            raise TypeError(f"{op}: a tensor of {name}; expected one of {', '.join(_DTYPES)}")
        return _DTYPES[name]

    def _checked_pair(
        self, op: str, out: Tensor, tensor: Tensor, *, whole: Tensor, part: Tensor
    ) -> int:
        dtype = self._checked(op, tensor)
        if self._checked(op, out) != dtype:
            raise TypeError(f"{op}: out is {out.dtype}, the tensor {tensor.dtype}; they must agree")
        if whole.size != self.world_size * part.size:
            raise ValueError(
                f"{op}: tensors of shape {whole.shape} and {part.shape}; expected the first to "
                f"have {self.world_size} times the elements of the second, one part a rank"
            )
        return dtype


def _operation(op: str, name: str) -> int:
    if name not in _OPERATIONS:
        raise ValueError(f"{op}: op '{name}'; expected one of {', '.join(_OPERATIONS)}")
    return _OPERATIONS[name]


def _abort(nccl: _Functions, handle: ctypes.c_void_p) -> None:
    with contextlib.suppress(NcclError):
        nccl.call("ncclCommAbort", handle)


def _stream(device: Device) -> int | None:
    return kernels.stream(device)
