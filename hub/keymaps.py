"""Fits the tensor names of a weights file to the names of a model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from hub.errors import KeyMismatch

T = TypeVar("T")

# Wrappers put these before every name: DataParallel, training frameworks, torch.compile.
PREFIXES = ("module.", "model.", "_orig_mod.")
_MAX_PREFIXES = 4
_LISTED = 5


@dataclass(frozen=True)
class KeyMap:
    """How one layout of files differs from the model's own names and shapes."""

    # (from, to): starts of names to replace.
    renames: tuple[tuple[str, str], ...] = ()
    # Patterns of names (fnmatch) that the model has no use for: they are dropped.
    ignored: tuple[str, ...] = ()
    # Names, as the model has them, of weights (K, C, kh, kw) that the model has as (K, C kh kw).
    flattened: tuple[str, ...] = ()
    # (copy, name): `copy` may be there too and must then hold what `name` holds; it is dropped.
    tied: tuple[tuple[str, str], ...] = ()

    def name_of(self, name: str, wanted: Collection[str]) -> str | None:
        """The model's name for an entry of the file; None for one to drop."""
        if name not in wanted and any(fnmatchcase(name, pattern) for pattern in self.ignored):
            return None
        for old, new in self.renames:
            if name not in wanted and name.startswith(old):
                return new + name[len(old) :]
        return name


KEY_MAPS: dict[str, KeyMap] = {
    # The names of torchvision are those of our image models.
    "torchvision": KeyMap(),
    # timm makes convolutions of VGG's first two fully connected layers.
    "timm_vgg": KeyMap(
        renames=(
            ("pre_logits.fc1.", "classifier.0."),
            ("pre_logits.fc2.", "classifier.3."),
            ("head.fc.", "classifier.6."),
        ),
        flattened=("classifier.0.weight", "classifier.3.weight"),
    ),
    # GPT-2 as published: the names of the body, which our model has too, or of the whole model.
    # Projections are stored (in, out), as our model has them. The masks are constants, and the
    # output projection is the token embedding again.
    "hf_gpt2": KeyMap(
        renames=(("transformer.", ""),),
        ignored=("*.attn.bias", "*.attn.masked_bias"),
        tied=(("lm_head.weight", "wte.weight"),),
    ),
}


def match_keys(
    state: Mapping[str, T],
    expected: Iterable[str],
    *,
    key_map: str | Iterable[str] = "torchvision",
    source: str = "the weights file",
) -> dict[str, T]:
    """Rename the entries of a state dict so that they fit a model.

    A prefix of `PREFIXES` is taken off, where present, if that makes more names fit, or if nothing
    fits yet; up to four nested prefixes. Then the key map is applied. Entries that still fit
    nothing stay, for a strict load to report.

    Args:
        state: values by name.
        expected: names of the model's parameters and buffers.
        key_map: a name in `KEY_MAPS`, from the card's file entry, or several, of which the one is
            taken that makes most names fit.
        source: what to call the file in messages.

    Raises:
        KeyMismatch: not one name fits, two entries would get the same name, or a tied entry holds
            something else than the one it is tied to.

    >>> match_keys({"module.fc.bias": 1}, ["fc.bias"])
    {'fc.bias': 1}
    """
    wanted = set(expected)
    best: tuple[int, KeyMap, dict[str, T]] | None = None
    for name in [key_map] if isinstance(key_map, str) else key_map:
        layout = KEY_MAPS[name]
        bare = _bare(state, layout, wanted, source)
        fits = _fits(bare, layout, wanted)
        if best is None or fits > best[0]:
            best = fits, layout, bare
    if best is None or best[0] == 0:
        raise KeyMismatch(
            f"{source} does not fit this model: none of its {len(state)} names is one of the "
            f"model's {len(wanted)}. In the file: {_some(state)}. In the model: {_some(wanted)}. "
            "Choose the model that the weights were made for (`zoo list`), or other weights."
        )
    _, layout, bare = best
    renamed = _rename(bare, {name: layout.name_of(name, wanted) for name in bare}, source)
    for name in layout.flattened:
        value: Any = renamed.get(name)
        if value is not None:
            renamed[name] = value.reshape(value.shape[0], -1)
    for copy, name in layout.tied:
        if copy in renamed and copy not in wanted and name in renamed:
            if not _same(renamed.pop(copy), renamed[name]):
                raise KeyMismatch(
                    f"{source}: {copy!r} and {name!r} hold different values, but the model has one "
                    "tensor for both. These are weights of a model that does not tie them."
                )
    return renamed


def _bare(
    state: Mapping[str, T], layout: KeyMap, wanted: Collection[str], source: str
) -> dict[str, T]:
    """The entries without the prefixes that wrappers put before names."""
    bare = dict(state)
    for _ in range(_MAX_PREFIXES):
        for prefix in PREFIXES:
            carriers = [name for name in bare if name.startswith(prefix)]
            gained = sum(layout.name_of(name[len(prefix) :], wanted) in wanted for name in carriers)
            lost = sum(layout.name_of(name, wanted) in wanted for name in carriers)
            if gained > lost or (carriers and _fits(bare, layout, wanted) == 0):
                bare = _rename(bare, {name: name.removeprefix(prefix) for name in bare}, source)
                break
        else:
            break
    return bare


def _fits(state: Iterable[str], layout: KeyMap, wanted: Collection[str]) -> int:
    return sum(layout.name_of(name, wanted) in wanted for name in state)


def _rename(state: Mapping[str, T], names: Mapping[str, str | None], source: str) -> dict[str, T]:
    """The entries under their new names, without those whose new name is None."""
    renamed: dict[str, T] = {}
    for name, value in state.items():
        fitted = names[name]
        if fitted is None:
            continue
        if fitted in renamed:
            first = next(other for other, new in names.items() if new == fitted)
            raise KeyMismatch(
                f"{source} has both {first!r} and {name!r}, two entries for {fitted!r}, so it is "
                "unclear which one the model should get. Save one state dict only."
            )
        renamed[fitted] = value
    return renamed


def _same(a: Any, b: Any) -> bool:
    import numpy as np

    return np.array_equal(a, b)


def _some(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = f", and {len(ordered) - _LISTED} more" if len(ordered) > _LISTED else ""
    return ", ".join(name[:80] for name in ordered[:_LISTED]) + more
