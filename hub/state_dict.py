"""Weights of any supported file as one flat dict of numpy arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hub.content import kind_of
from hub.dtypes import BFLOAT16, bfloat16_to_float32
from hub.errors import UnsupportedFormat
from hub.pickle_values import TensorRef
from hub.pth import PthFile
from hub.safetensors_file import SafetensorsFile
from hub.sharded import read_shards

# Entries of a training checkpoint that hold the model, in the order in which they are looked for.
WRAPPERS = ("state_dict", "model_state_dict", "model_state", "model", "module", "net", "weights")
_MAX_WRAPPING = 4


def read_state_dict(
    path: str | os.PathLike[str], *, widen_bfloat16: bool = True, writable: bool = False
) -> dict[str, NDArray[Any]]:
    """Read a `.safetensors` or `.pth` file, or all that an index of shards names.

    Content decides which of them it is, not the suffix. An index (`model.safetensors.index.json`)
    is the truth about its shards, which lie beside it; see `hub.sharded`.

    A `.pth` may hold a state dict, or a training checkpoint around it. The rule: while the value
    has one of the entries `WRAPPERS` and that entry is a dict with a tensor in it (or in a wrapper
    of its own), that entry is taken; then every tensor of the dict reached is returned under its
    name, and entries that are no tensors are left out. Names are as in the file: `match_keys`
    removes `module.` and the like.

    Args:
        path: the file.
        widen_bfloat16: return bfloat16 tensors as float32 (exact, a copy); else with dtype
            `hub.BFLOAT16` and no copy.
        writable: arrays can be written to; the file does not change (it is mapped copy-on-write).

    Returns:
        arrays, read-only unless `writable`, views of the mapped file wherever that is possible.

    Raises:
        NotWeights: a web page, a Git LFS pointer, JSON, or an empty file.
        CorruptCheckpoint: cut short, damaged, contradicting itself, or a shard is missing.
        UnsafePickle: it would run code; nothing was run.
        UnsupportedFormat: another format, or no tensors in it.

    >>> state = read_state_dict("resnet18-f37072fd.pth")                      # doctest: +SKIP
    >>> state["fc.weight"].shape                                              # doctest: +SKIP
    (1000, 512)
    """
    path = Path(path)
    read = partial(_arrays, writable=writable)
    arrays = read_shards(path, read) if kind_of(path) == "index" else dict(read(path))
    if widen_bfloat16:
        arrays = {name: _widened(array) for name, array in arrays.items()}
    return arrays


def _arrays(path: Path, writable: bool) -> Mapping[str, NDArray[Any]]:
    """The tensors of one file; what is not asked for of a safetensors file is not touched."""
    kind = kind_of(path)
    if kind == "safetensors":
        return SafetensorsFile(path, writable=writable)
    if kind == "index":
        raise UnsupportedFormat(f"{path} is an index; expected a file of tensors here.")
    file = PthFile(path, writable=writable)
    return {name: file.tensor(ref) for name, ref in _state_of(file.value, path).items()}


def _widened(array: NDArray[Any]) -> NDArray[Any]:
    return bfloat16_to_float32(array) if array.dtype == BFLOAT16 else array


def _state_of(value: Any, path: Path) -> dict[str, TensorRef]:
    for _ in range(_MAX_WRAPPING):
        inner = _wrapped(value)
        if inner is None:
            break
        value = inner
    tensors = _tensors(value)
    if not tensors:
        holds = f"a dict with {_names(value)}" if isinstance(value, dict) else type(value).__name__
        raise UnsupportedFormat(
            f"{path} holds no named tensors: found {holds}. Expected a state dict, alone or under "
            f"one of {', '.join(WRAPPERS)}. Save torch.save(model.state_dict(), PATH)."
        )
    return tensors


def _wrapped(value: Any) -> dict[Any, Any] | None:
    if not isinstance(value, dict):
        return None
    for name in WRAPPERS:
        inner = value.get(name)
        if isinstance(inner, dict) and (
            _tensors(inner)
            or any(isinstance(inner.get(w), dict) and _tensors(inner[w]) for w in WRAPPERS)
        ):
            return inner
    return None


def _tensors(value: Any) -> dict[str, TensorRef]:
    if not isinstance(value, dict):
        return {}
    return {k: v for k, v in value.items() if isinstance(k, str) and isinstance(v, TensorRef)}


def _names(value: dict[Any, Any]) -> str:
    names = [str(key)[:40] for key in list(value)[:6] if isinstance(key, (str, int))]
    return "the entries " + ", ".join(names) if names else "no entries"
