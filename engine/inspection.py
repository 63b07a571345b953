"""What this namespace can do, as the Python array API standard asks."""

from __future__ import annotations

from typing import Any

from engine import _C
from engine._C import Device, dtype
from engine.data_types import KINDS, isdtype

# The standard knows no float16 and no bfloat16; they are here beside its dtypes.
_STANDARD = ("bool", *(name for name in KINDS["numeric"] if name not in ("float16", "bfloat16")))


class Info:
    """The answer of __array_namespace_info__: capabilities, devices and dtypes."""

    def capabilities(self) -> dict[str, Any]:
        """What the namespace supports: boolean indexing, shapes that depend on data, and how many
        axes a tensor may have.

        >>> engine.__array_namespace_info__().capabilities()["boolean indexing"]
        True
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_DIMS}

    def default_device(self) -> Device:
        """The device that creation functions use when not told: the CPU, unless ``engine.device``
        is entered.

        >>> engine.__array_namespace_info__().default_device()
        Device('cpu')
        """
        return _C._default_device()

    def devices(self) -> list[Device]:
        """Every device that this process can use.

        >>> engine.__array_namespace_info__().devices()[0]
        Device('cpu')
        """
        found = _C._backend_info()
        return [
            Device("cpu"),
            *(Device(f"cuda:{i}") for i in range(found["device_count"] if found else 0)),
        ]

    def default_dtypes(self, *, device: Device | str | None = None) -> dict[str, dtype]:
        """The dtypes that Python numbers take.

        >>> engine.__array_namespace_info__().default_dtypes()["real floating"]
        float32
        """
        if device is not None:
            Device(device)
        return {
            "real floating": _C.float32,
            "complex floating": _C.complex64,
            "integral": _C.int64,
            "indexing": _C.int64,
        }

    def dtypes(
        self, *, device: Device | str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, dtype]:
        """The standard's dtypes by name, all or those of a kind (see isdtype).

        >>> sorted(engine.__array_namespace_info__().dtypes(kind="real floating"))
        ['float32', 'float64']
        """
        if device is not None:
            Device(device)
        every = {name: getattr(_C, name) for name in _STANDARD}
        return {n: d for n, d in every.items() if kind is None or isdtype(d, kind)}


# core/dims.h: kMaxDims.
MAX_DIMS = 32


def __array_namespace_info__() -> Info:
    """Capabilities, devices and dtypes of this namespace (array API standard, inspection).

    >>> engine.__array_namespace_info__().default_dtypes()["integral"]
    int64
    """
    return Info()
