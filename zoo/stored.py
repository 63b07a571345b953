"""Weights by whatever names them: a card, a file, or the folder of a run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hub
from zoo.errors import ArchMismatch, LoadError, NoPublishedWeights, WeightsNotFound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zoo.registry import Arch

RUN_WEIGHTS = "model.safetensors"  # the file that stands for the folder of a finished run
# What else may stand for a folder, in this order: one file or an index of shards, as others save.
_IN_FOLDER = (RUN_WEIGHTS, f"{RUN_WEIGHTS}.index.json", "pytorch_model.bin",
              "pytorch_model.bin.index.json")  # fmt: skip
_SUFFIXES = (".safetensors", ".pth", ".pt", ".bin", ".index.json")


@dataclass(frozen=True)
class Stored:
    """Weights that were found, and what is known about them."""

    label: str  # a card's name or a file's path, for messages
    state: Mapping[str, NDArray[Any]]
    sha256: str
    card: hub.Card | None = None
    key_map: str | None = None  # None: whichever of the model's layouts fits
    arch: str | None = None
    run: Mapping[str, Any] = field(default_factory=dict)  # what a run wrote beside its weights

    @property
    def config(self) -> dict[str, Any]:
        """Keyword arguments of the architecture's builder that the weights ask for."""
        return dict(self.card.config if self.card else self.run.get("config", {}))


def looks_like_path(text: str) -> bool:
    """Whether the text is meant as a file or folder, be it there or not."""
    return os.sep in text or "/" in text or text.endswith(_SUFFIXES)


def find(arch: Arch, weights: str) -> Stored:
    """The weights that the text `weights` names: "default", a card, an address or a path.

    Raises:
        NoPublishedWeights, ArchMismatch, WeightsNotFound, LoadError, hub.HubError: see zoo.load.
    """
    cards = hub.load_cards()
    if weights == "default":
        own = hub.cards_for(arch.name)
        if not own:
            raise NoPublishedWeights(
                f"there are no published weights for {arch.name}. Start from random values with "
                "weights 'none', or from a file with its path."
            )
        return _from_card(own[0])
    if weights in cards:
        card = cards[weights]
        if card.arch != arch.name:
            raise ArchMismatch(
                f"card {weights} holds weights of {card.arch}, not of {arch.name}. "
                f"{own_cards(arch)}"
            )
        return _from_card(card)
    if hub.is_address(weights):
        found = hub.fetch_file(weights)
        return from_path(found.path, label=found.address, sha256=found.sha256)
    if Path(weights).exists() or looks_like_path(weights):
        return from_path(Path(weights))
    raise WeightsNotFound(
        f"weights '{weights}': there is no card of that name, nor a file or folder. "
        f"{own_cards(arch)}"
    )


def own_cards(arch: Arch) -> str:
    """What may be named as weights of an architecture, for the end of a message."""
    names = [card.name for card in hub.cards_for(arch.name)]
    return f"Expected {', '.join([*names, 'a path'])} or 'none'."


def _from_card(card: hub.Card) -> Stored:
    found = hub.fetch(card)
    return Stored(
        label=card.name,
        state=hub.read_state_dict(found.path, writable=True),
        sha256=found.sha256,
        card=card,
        key_map=found.file.key_map,
        arch=card.arch,
        run=run_facts(found.path),
    )


def from_path(path: Path, *, label: str | None = None, sha256: str | None = None) -> Stored:
    """The weights of a file, or of a run or another checkpoint by its folder.

    Args:
        path: the file or folder.
        label: what to call it in messages; default: its path.
        sha256: of the file, if it was hashed already.

    Raises:
        WeightsNotFound: there is no such file.
        LoadError: what a run wrote beside its weights is damaged.
        hub.HubError: the file is damaged or no weights file.
    """
    file = path
    if path.is_dir():
        here = [path / name for name in _IN_FOLDER if (path / name).is_file()]
        file = here[0] if here else path / RUN_WEIGHTS
    if not file.is_file():
        what = f"no {RUN_WEIGHTS} in this folder" if path.is_dir() else "no such file"
        raise WeightsNotFound(
            f"{path}: {what}. Expected a .safetensors or .pth file, or the folder of a run that "
            "has finished an epoch."
        )
    state, run = hub.read_state_dict(file, writable=True), run_facts(file)
    arch = str(run["arch"]) if run else None
    return Stored(label or str(file), state, sha256 or hub.sha256_file(file), arch=arch, run=run)


def run_facts(file: Path) -> dict[str, Any]:
    """What a file that a run wrote says about itself, by name; nothing for other files.

    Raises:
        LoadError: it says it in a way that cannot be read.
    """
    with open(file, "rb") as opened:
        # A zip or pickle cannot start so: a safetensors header is JSON behind 8 bytes of length.
        if opened.read(9)[8:] != b"{":
            return {}
    metadata = hub.SafetensorsFile(file).metadata
    if "arch" not in metadata or not metadata.keys() & {"config", "classes"}:
        return {}  # some other program's
    try:
        facts = {key: json.loads(text) for key, text in metadata.items() if key != "format"}
        if not isinstance(facts.get("config", {}), dict):
            raise ValueError("config is no table of names and values")
    except (ValueError, RecursionError) as error:
        raise damaged_facts(file, error) from error
    return facts


def damaged_facts(file: str | Path, error: Exception) -> LoadError:
    """The error to raise for facts of a run that cannot be used."""
    return LoadError(
        f"{file}: its metadata cannot be read ({error}). Expected arch, config and the rest "
        "as JSON, as `zoo finetune` writes them."
    )
