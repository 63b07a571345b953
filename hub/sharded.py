"""Checkpoints in several files: `model.safetensors.index.json` names the file of each tensor.

    {"metadata": {"total_size": 1234},
     "weight_map": {"wte.weight": "model-00001-of-00002.safetensors", ...}}

The index is the truth: each tensor it names must be in the file it names, beside the index; a file
or a tensor that it does not name is not looked at. `pytorch_model.bin.index.json` with `.bin` files
is read in the same way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn, TypeVar

from hub.errors import CorruptCheckpoint
from hub.strict_json import strict_json

T = TypeVar("T")

# A million tensors would have one of about 100 MB; the largest published ones have 10 MB.
MAX_INDEX_BYTES = 32 << 20


def read_index(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """The names of the tensors in each shard: {file name: [tensor, ...]}, in the index's order.

    Raises:
        CorruptCheckpoint: no index, or a shard that is not a plain name of a file beside it.

    >>> read_index("model.safetensors.index.json")                            # doctest: +SKIP
    {'model-00001-of-00002.safetensors': ['wte.weight', ...], ...}
    """
    path = Path(path)
    size = path.stat().st_size
    if size > MAX_INDEX_BYTES:
        _corrupt(path, f"it has {size:,} bytes; at most {MAX_INDEX_BYTES:,} are read")
    try:
        table = strict_json(path.read_bytes())
    except ValueError as error:
        _corrupt(path, f"it is no valid JSON ({str(error)[:120]})")
    weight_map = table.get("weight_map") if isinstance(table, dict) else None
    if not isinstance(weight_map, dict) or not weight_map:
        _corrupt(path, "it has no table `weight_map` of tensors and files")
    shards: dict[str, list[str]] = {}
    for name, file in weight_map.items():
        if not isinstance(file, str) or not _is_plain(file):
            _corrupt(
                path,
                f"tensor {name[:80]!r} is said to be in {str(file)[:80]!r}: expected the name of "
                "a file beside the index",
            )
        shards.setdefault(file, []).append(name)
    return shards


def read_shards(
    path: str | os.PathLike[str], read: Callable[[Path], Mapping[str, T]]
) -> dict[str, T]:
    """All tensors that an index names, each from its own shard.

    Args:
        path: the index.
        read: reads one shard.

    Raises:
        CorruptCheckpoint: the index is damaged, a shard is missing, or a tensor is not in its
            shard. The message names them. Nothing of the rest is returned.
    """
    path = Path(path)
    shards = read_index(path)
    missing = [file for file in shards if not (path.parent / file).is_file()]
    if missing:
        raise CorruptCheckpoint(
            f"{path} names {len(shards)} files, of which {len(missing)} are missing beside it: "
            f"{', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''}. Copy or download "
            "them into the same folder."
        )
    found: dict[str, T] = {}
    for file, names in shards.items():
        state = read(path.parent / file)
        absent = [name for name in names if name not in state]
        if absent:
            raise CorruptCheckpoint(
                f"{path} says that tensor {absent[0][:80]!r} is in {file}, but it is not (nor "
                f"are {len(absent) - 1} others). The index and the file are of different "
                "checkpoints; download both again."
            )
        found |= {name: state[name] for name in names}
    return {name: found[name] for names in shards.values() for name in names}


def _is_plain(file: str) -> bool:
    # Both separators and drive letters, so that a file made here is safe everywhere.
    return bool(file) and not set(file) & set("/\\:\0") and file not in (".", "..")


def _corrupt(path: Path, fault: str) -> NoReturn:
    raise CorruptCheckpoint(
        f"{path} is not a sound index of shards: {fault}. Copy or download it again."
    )


def looks_like_index(path: Path, start: bytes) -> bool:
    """Whether a file that begins with `start` is JSON with a `weight_map`."""
    if start[:1] != b"{" or path.stat().st_size > MAX_INDEX_BYTES:
        return False
    try:
        table = strict_json(path.read_bytes())
    except ValueError:
        # Damaged, but meant to be one: the reader says what is wrong.
        return b'"weight_map"' in start
    return isinstance(table, dict) and "weight_map" in table
