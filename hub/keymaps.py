"""Fits the tensor names of a weights file to the names of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from hub.errors import KeyMismatch

T = TypeVar("T")

# Wrappers put these before every name: DataParallel, training frameworks, torch.compile.
PREFIXES = ("module.", "model.", "_orig_mod.")
_MAX_PREFIXES = 4
_LISTED = 5

# How a card's file names its tensors: (from, to) starts of names to replace. torchvision's names
# are the model's own.
KEY_MAPS: dict[str, tuple[tuple[str, str], ...]] = {"torchvision": ()}


def match_keys(
    state: Mapping[str, T],
    expected: Iterable[str],
    *,
    key_map: str = "torchvision",
    source: str = "the weights file",
) -> dict[str, T]:
    """Rename the entries of a state dict so that they fit a model.

    The key map is applied first. Then a prefix of `PREFIXES` is taken off, where present, if that
    makes more names fit, or if nothing fits yet; up to four nested prefixes. Entries that still
    fit nothing stay, for a strict load to report.

    Args:
        state: values by name.
        expected: names of the model's parameters and buffers.
        key_map: a name in `KEY_MAPS`, from the card's file entry.
        source: what to call the file in messages.

    Raises:
        KeyMismatch: not one name fits, or two entries would get the same name.

    >>> match_keys({"module.fc.bias": 1}, ["fc.bias"])
    {'fc.bias': 1}
    """
    wanted = set(expected)
    renamed = dict(state)
    for old, new in KEY_MAPS[key_map]:
        renamed = _rename(renamed, old, new, source)
    for _ in range(_MAX_PREFIXES):
        better = _without_prefix(renamed, wanted, source)
        if better is None:
            break
        renamed = better
    if not wanted & renamed.keys():
        raise KeyMismatch(
            f"{source} does not fit this model: none of its {len(state)} names is one of the "
            f"model's {len(wanted)}. In the file: {_some(state)}. In the model: {_some(wanted)}. "
            "Choose the model that the weights were made for (`zoo list`), or other weights."
        )
    return renamed


def _without_prefix(state: dict[str, T], wanted: set[str], source: str) -> dict[str, T] | None:
    fits = len(wanted & state.keys())
    for prefix in PREFIXES:
        carriers = [name for name in state if name.startswith(prefix)]
        gained = sum(name[len(prefix) :] in wanted for name in carriers)
        lost = sum(name in wanted for name in carriers)
        if gained > lost or (carriers and fits == 0):
            return _rename(state, prefix, "", source)
    return None


def _rename(state: dict[str, T], old: str, new: str, source: str) -> dict[str, T]:
    """Replace `old` at the start of each name by `new`."""
    renamed: dict[str, T] = {}
    for name, value in state.items():
        fitted = new + name[len(old) :] if name.startswith(old) else name
        if fitted in renamed or (fitted != name and fitted in state):
            raise KeyMismatch(
                f"{source} has both {name!r} and another entry for {fitted!r}, so it is unclear "
                "which one the model should get. Save one state dict only."
            )
        renamed[fitted] = value
    return renamed


def _some(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = f", and {len(ordered) - _LISTED} more" if len(ordered) > _LISTED else ""
    return ", ".join(name[:80] for name in ordered[:_LISTED]) + more
