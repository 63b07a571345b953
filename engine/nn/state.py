"""Loading a state dict: comparing keys and shapes first, filling only if all is well."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import engine
from engine import Tensor

_SHOWN = 8  # keys listed in a message before "and N more"


class IncompatibleKeys(NamedTuple):
    """What a lenient load left out.

    >>> IncompatibleKeys(["fc.bias"], []).missing_keys
    ['fc.bias']
    """

    missing_keys: list[str]  # of the model, not in the dict
    unexpected_keys: list[str]  # of the dict, not in the model


class StateDictError(RuntimeError):
    """A state dict does not fit the model; nothing was loaded.

    Attributes:
        missing_keys: keys of the model that the dict lacks.
        unexpected_keys: keys of the dict that the model lacks.
        mismatched: key -> what is wrong with its value, such as both shapes.
        matched: how many keys are in both.

    >>> try:
    ...     engine.nn.Linear(2, 3).load_state_dict({})
    ... except StateDictError as error:
    ...     error.missing_keys
    ['weight', 'bias']
    """

    def __init__(
        self,
        message: str,
        missing_keys: Sequence[str] = (),
        unexpected_keys: Sequence[str] = (),
        mismatched: Mapping[str, str] | None = None,
        matched: int = 0,
    ) -> None:
        super().__init__(message)
        self.missing_keys = list(missing_keys)
        self.unexpected_keys = list(unexpected_keys)
        self.mismatched = dict(mismatched or {})
        self.matched = matched


def check_state(
    model_name: str,
    own: Mapping[str, Tensor],
    optional: Iterable[str],
    given: Mapping[str, Any],
    strict: bool,
) -> tuple[IncompatibleKeys, dict[str, Tensor]]:
    """What of `given` goes into the tensors of `own`, if it may.

    Args:
        model_name: for messages.
        own: the model's tensors by key.
        optional: keys that may be missing even when strict.
        given: tensors or numpy arrays by key.
        strict: refuse missing and unexpected keys. Wrong shapes, and a dict in which no key at
            all is the model's, are refused either way.

    Returns:
        The keys that are left out, and the values by key.

    Raises:
        StateDictError: listing every missing, unexpected and mismatched key.
    """
    may_miss = set(optional)
    missing = [key for key in own if key not in given and key not in may_miss]
    unexpected = [key for key in given if key not in own]
    values = {key: _as_tensor(key, given[key]) for key in own if key in given}
    mismatched = {
        key: problem for key, value in values.items() if (problem := _misfit(own[key], value))
    }
    nothing_matched = bool(own) and not values
    if mismatched or nothing_matched or (strict and (missing or unexpected)):
        raise StateDictError(
            _message(model_name, own, len(values), missing, unexpected, mismatched),
            missing,
            unexpected,
            mismatched,
            len(values),
        )
    return IncompatibleKeys(missing, unexpected), values


def adoptable(own: Mapping[str, Tensor], values: Mapping[str, Any]) -> set[str]:
    """Keys whose value can be a tensor of the model as it lies, without a copy: of the model's
    dtype, writable, dense and in order, and sharing no memory with another key's.

    Args:
        own: the model's tensors by key.
        values: tensors or numpy arrays by key.
    """
    spans: list[tuple[int, int, str]] = []
    for key, value in values.items():
        if any(t.device.type != "cpu" for t in (own[key], value) if isinstance(t, Tensor)):
            continue
        array = value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)
        fits = engine.asarray(array).dtype == own[key].dtype
        if fits and array.flags.c_contiguous and array.flags.writeable:
            start = array.__array_interface__["data"][0]
            spans.append((start, start + array.nbytes, key))
    found, end = set(), 0
    for start, stop, key in sorted(spans):
        if start >= end or start == stop:
            found.add(key)
        end = max(end, stop)
    return found


def _as_tensor(key: str, value: Any) -> Tensor:
    try:
        return value if isinstance(value, Tensor) else engine.asarray(value)
    except (TypeError, ValueError) as error:
        raise StateDictError(
            f"state dict: the value of '{key}' is a {type(value).__name__}, expected a tensor or "
            f"a numpy array ({error})"
        ) from error


def _misfit(own: Tensor, given: Tensor) -> str:
    if own.shape != given.shape:
        return f"shape {given.shape} in the dict, {own.shape} in the model"
    if own.dtype.is_floating_point != given.dtype.is_floating_point:
        return f"dtype {given.dtype} in the dict, {own.dtype} in the model"
    return ""


def _message(
    model_name: str,
    own: Mapping[str, Tensor],
    matched: int,
    missing: list[str],
    unexpected: list[str],
    mismatched: Mapping[str, str],
) -> str:
    lines = [
        f"state dict does not fit {model_name}: {matched} of its {len(own)} keys matched, "
        f"{len(missing)} missing, {len(unexpected)} unexpected, {len(mismatched)} mismatched. "
        "Nothing was loaded."
    ]
    lines += _listing("missing", [_with_hint(key, unexpected) for key in missing[:_SHOWN]], missing)
    lines += _listing("unexpected", unexpected[:_SHOWN], unexpected)
    wrong = [f"{key}: {problem}" for key, problem in mismatched.items()]
    lines += _listing("mismatched", wrong[:_SHOWN], wrong)
    prefix = _prefix(own, unexpected)
    if prefix:
        lines.append(
            f"The dict's keys start with '{prefix}': remove it, for example "
            f"{{key.removeprefix({prefix!r}): value for key, value in state.items()}}"
        )
    return "\n".join(lines)


def _listing(title: str, shown: list[str], keys: list[str]) -> list[str]:
    if not keys:
        return []
    rest = [f"    and {len(keys) - len(shown)} more"] if len(keys) > len(shown) else []
    return [f"  {title}:", *(f"    {line}" for line in shown), *rest]


def _with_hint(key: str, unexpected: list[str]) -> str:
    near = difflib.get_close_matches(key, unexpected, n=1, cutoff=0.8)
    return f"{key} (the dict has {near[0]})" if near else key


def _prefix(own: Iterable[str], unexpected: list[str]) -> str:
    """The text before every unexpected key that would make it a key of the model, or ''."""
    keys = set(own)
    if not unexpected or not keys:
        return ""
    inside = [key for key in keys if unexpected[0].endswith("." + key)]
    prefix = unexpected[0].removesuffix(max(inside, key=len)) if inside else ""
    if not prefix or not all(key.removeprefix(prefix) in keys for key in unexpected):
        return ""
    return prefix
