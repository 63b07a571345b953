"""What pickles of weights files may name, and the plain values that stand for it.

Storages and tensors become `StorageRef` and `TensorRef`, descriptions without memory, which
`hub.pth` resolves against the file; OrderedDict and defaultdict become dict; torch.Size becomes
tuple; devices and dtypes become names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hub.errors import UnsafePickle, UnsupportedFormat

_MAX_DIMS = 32


@dataclass(frozen=True)
class StorageRef:
    """A storage that a pickle refers to: its key in the file, dtype name and number of elements."""

    key: str
    dtype: str
    numel: int


@dataclass(frozen=True)
class TensorRef:
    """A tensor that a pickle refers to. Offset and strides count elements of the storage."""

    storage: StorageRef
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Global:
    """An allowed name. "Calling" it calls `build`, a function of this module."""

    name: str
    build: Callable[..., Any] | None  # None: a mere name, such as a dtype


# Names of safetensors dtypes, see hub.dtypes; None: known, but numpy or the engine cannot hold it.
STORAGE_DTYPES: dict[str, str | None] = {
    "DoubleStorage": "F64", "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16",
    "LongStorage": "I64", "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8",
    "ByteStorage": "U8", "BoolStorage": "BOOL", "UntypedStorage": "U8",
    "ComplexFloatStorage": None, "ComplexDoubleStorage": None, "QInt8Storage": None,
    "QInt32Storage": None, "QUInt8Storage": None, "QUInt4x2Storage": None, "QUInt2x4Storage": None,
}  # fmt: skip
_TORCH_DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64",
    "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "uint16": "U16", "uint32": "U32",
    "uint64": "U64", "bool": "BOOL",
}  # fmt: skip


def storage_ref(reference: Any) -> StorageRef:
    if not isinstance(reference, tuple) or len(reference) not in (5, 6):
        raise ValueError("a persistent id that is no storage")
    kind, storage_type, key, _device, numel = reference[:5]
    if kind != "storage" or not isinstance(storage_type, Global):
        raise ValueError("a persistent id that is no storage")
    if not isinstance(key, str) or type(numel) is not int or numel < 0:
        raise ValueError("a storage without key or size")
    if len(reference) == 6 and reference[5] is not None:
        raise UnsupportedFormat(
            f"storage {key!r} is a view into another storage, as PyTorch before 0.4 wrote it. "
            "Load the file there and save it again."
        )
    return StorageRef(key, storage_dtype(storage_type, key), numel)


def storage_dtype(kind: Any, key: str) -> str:
    """The dtype name of a storage by its class.

    Raises:
        ValueError: it is no class of storages.
        UnsupportedFormat: one of complex or quantised numbers.
    """
    class_name = kind.name.rpartition(".")[2] if isinstance(kind, Global) else ""
    if class_name not in STORAGE_DTYPES:
        raise ValueError("a storage of a class that is none")
    dtype = STORAGE_DTYPES[class_name]
    if dtype is None:
        raise UnsupportedFormat(
            f"storage {key!r} is a {class_name}: complex and quantised tensors are not read. "
            "Save the model as float32."
        )
    return dtype


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any, *_ignored: Any) -> TensorRef:
    if not isinstance(storage, StorageRef):
        raise TypeError("a tensor without storage")
    return tensor_ref(storage, storage.dtype, offset, shape, strides)


def _tensor_of_dtype(
    storage: Any, offset: Any, shape: Any, strides: Any, _grad: Any, _hooks: Any, dtype: Any,
    *_ignored: Any,
) -> TensorRef:  # fmt: skip
    """`_rebuild_tensor_v3`: an untyped storage, whose size counts bytes, and a dtype beside it."""
    name = _TORCH_DTYPES.get(dtype.name.rpartition(".")[2]) if isinstance(dtype, Global) else None
    if name is None or not isinstance(storage, StorageRef):
        raise TypeError("a tensor with neither storage nor dtype")
    return tensor_ref(storage, name, offset, shape, strides)


def tensor_ref(storage: StorageRef, dtype: str, offset: Any, shape: Any, strides: Any) -> TensorRef:
    """A tensor of a storage; raises TypeError or ValueError where its numbers are none."""
    if not isinstance(shape, tuple) or not isinstance(strides, tuple):
        raise TypeError("a tensor whose shape is no tuple")
    if len(shape) != len(strides) or len(shape) > _MAX_DIMS:
        raise ValueError(f"a tensor of {len(shape)} sizes and {len(strides)} strides")
    if not all(type(n) is int and 0 <= n < 2**62 for n in (offset, *shape, *strides)):
        raise ValueError("a tensor whose offset, sizes or strides are no whole numbers from 0")
    return TensorRef(storage, dtype, offset, shape, strides)


def _parameter(data: Any, *_ignored: Any) -> TensorRef:
    if not isinstance(data, TensorRef):
        raise TypeError("a parameter that is no tensor")
    return data


def _from_type(function: Any, _kind: Any, arguments: Any, _state: Any) -> Any:
    """`_rebuild_from_type_v2`: a tensor that carries attributes. They are dropped."""
    if not isinstance(function, Global) or function.build not in (_tensor, _tensor_of_dtype):
        raise TypeError("a tensor rebuilt by an unknown function")
    return function.build(*arguments)


def _empty_dict(*arguments: Any) -> dict[Any, Any]:
    # OrderedDict(), defaultdict(factory), and OrderedDict([[key, value], ...]) from Python 2.
    found: dict[Any, Any] = {}
    if arguments and isinstance(arguments[0], list):
        for key, value in arguments[0]:
            found[plain_key(key)] = value
        # Moved, not copied: a program that repeats the call cannot multiply memory.
        arguments[0].clear()
    elif arguments and not isinstance(arguments[0], Global):
        raise TypeError("a dict made of something else than a list")
    return found


def plain_key(key: Any) -> Any:
    """The key itself, if a dict may have it; hashing a nested tuple recurses in C without limit."""
    if not isinstance(key, (str, int, float, bytes, type(None))):
        raise TypeError(f"a {type(key).__name__} as key of a dict")
    return key


def _size(items: Any) -> tuple[Any, ...]:
    if not isinstance(items, tuple):
        raise TypeError("a torch.Size that is no tuple")
    return items


def _device(kind: Any, *_index: Any) -> str:
    if not isinstance(kind, str):
        raise TypeError("a device without a name")
    return kind


_GLOBALS: dict[str, Callable[..., Any] | None] = {
    "collections.OrderedDict": _empty_dict,
    "collections.defaultdict": _empty_dict,
    "builtins.dict": _empty_dict,
    "__builtin__.dict": _empty_dict,
    "torch.Size": _size,
    "torch.device": _device,
    "torch.Tensor": None,
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_of_dtype,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch._tensor._rebuild_from_type_v2": _from_type,
    "torch.nn.parameter.Parameter": _parameter,
    **{f"torch.{name}": None for name in (*STORAGE_DTYPES, *_TORCH_DTYPES)},
    "torch.storage.UntypedStorage": None,
    # What files from before 2018 name: storages on a GPU, and classes of tensors.
    **{f"torch.cuda.{name}": None for name in STORAGE_DTYPES if name != "UntypedStorage"},
    **{f"torch.{name.replace('Storage', 'Tensor')}": None for name in STORAGE_DTYPES},
    **{f"torch.cuda.{name.replace('Storage', 'Tensor')}": None for name in STORAGE_DTYPES},
}


def allowed_global(module: str, name: str) -> Global:
    dotted = f"{module}.{name}"
    if dotted not in _GLOBALS:
        raise UnsafePickle(
            f"the pickle asks for {dotted[:200]!r}, which is not on the list of tensors and plain "
            "containers. Nothing was run. If you trust the file, open it with the program that "
            "made it and save only the tensors: torch.save(model.state_dict(), PATH).",
            disallowed=dotted,
        )
    return Global(dotted, _GLOBALS[dotted])
