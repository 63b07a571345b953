"""`zoo.load`: from a name and weights to a model that is ready to predict."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hub
from engine.nn import StateDictError, init
from zoo.data.transforms import Preprocessing
from zoo.errors import (
    ArchMismatch,
    ClassCountMismatch,
    LoadError,
    NoPublishedWeights,
    WeightsDoNotFit,
    WeightsNotFound,
)
from zoo.registry import Arch, archs, get_arch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zoo.models.image_model import ImageModel

log = logging.getLogger("zoo")

RUN_WEIGHTS = "model.safetensors"  # the file that stands for the folder of a finished run
_SUFFIXES = (".safetensors", ".pth", ".pt", ".bin")
_RANDOM: dict[str, Any] = {"name": "random values", "sha256": None}


def load(
    name: str | os.PathLike[str],
    weights: str | os.PathLike[str] | None = "default",
    num_classes: int | None = None,
) -> ImageModel:
    """A model in inference mode.

    Args:
        name: an architecture ("resnet50"), a card ("resnet50.tv_in1k_v1"), or a finished run: its
            folder or its model.safetensors.
        weights: "default" for the architecture's default card, a card's name, the path of a
            .safetensors or .pth file or of a finished run, or None (or "none") for random values.
        num_classes: outputs; None for as many as the weights have. With another number than theirs
            the last layer is new and random, and the model's `notices` say so.

    Returns:
        The model with `arch`, `card`, `classes`, `preprocessing`, `source` and `notices` set; see
        zoo.models.image_model.ImageModel.

    Raises:
        UnknownModelError: no such name; near ones are suggested.
        NoPublishedWeights: "default", where the architecture has no card.
        WeightsNotFound: weights that are neither a card nor a file nor a run.
        ArchMismatch, WeightsDoNotFit: weights of another model; nothing is loaded.
        ClassCountMismatch: `name` is a run with another number of classes.
        hub.HubError: a download or a damaged file.

    >>> model = load("resnet50", weights=None, num_classes=4)
    >>> len(model.classes), model.training
    (4, False)
    """
    if num_classes is not None and num_classes < 1:
        raise ValueError(f"load: num_classes={num_classes}; expected 1 or more")
    name = os.fspath(name)
    weights = os.fspath(weights) if weights is not None else "none"
    if not _is_known(name) and (Path(name).exists() or _looks_like_path(name)):
        return _load_run(Path(name), weights, num_classes)
    arch = get_arch(name)
    if weights == "none":
        return _random(arch, num_classes)
    if weights == "default" and name not in archs():
        weights = name
    return _pretrained(arch, _find(arch, weights), num_classes)


@dataclass(frozen=True)
class _Stored:
    """Weights that were found, and what is known about them."""

    label: str  # a card's name or a file's path, for messages
    state: Mapping[str, NDArray[Any]]
    sha256: str
    card: hub.Card | None = None
    key_map: str = "torchvision"
    arch: str | None = None
    classes: tuple[str, ...] = ()
    preprocessing: Preprocessing | None = None


def _is_known(name: str) -> bool:
    return name in archs() or name in hub.load_cards()


def _looks_like_path(text: str) -> bool:
    return os.sep in text or "/" in text or text.endswith(_SUFFIXES)


def _load_run(path: Path, weights: str, num_classes: int | None) -> ImageModel:
    if weights != "default":
        raise LoadError(
            f"{path}: a run has its own weights, so weights={weights!r} cannot be loaded too. To "
            "load other weights, name the architecture instead of the run."
        )
    stored = _from_path(path)
    if stored.arch is None:
        raise LoadError(
            f"{stored.label}: the file does not say which architecture it is for, so it is no run. "
            f"Name the architecture: zoo.load(ARCH, weights={str(path)!r})"
        )
    if num_classes not in (None, len(stored.classes)):
        raise ClassCountMismatch(
            f"{stored.label} was trained on {len(stored.classes)} classes "
            f"({', '.join(stored.classes[:5])}{', ...' if len(stored.classes) > 5 else ''}), not "
            f"{num_classes}. To give its body a new last layer, type: "
            f"zoo.load({stored.arch!r}, weights={str(path)!r}, num_classes={num_classes})"
        )
    return _pretrained(get_arch(stored.arch), stored, num_classes)


def _find(arch: Arch, weights: str) -> _Stored:
    """The weights that the text `weights` names."""
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
                f"{_own_cards(arch)}"
            )
        return _from_card(card)
    if Path(weights).exists() or _looks_like_path(weights):
        return _from_path(Path(weights))
    raise WeightsNotFound(
        f"weights '{weights}': there is no card of that name, nor a file or folder. "
        f"{_own_cards(arch)}"
    )


def _own_cards(arch: Arch) -> str:
    names = [card.name for card in hub.cards_for(arch.name)]
    return f"Expected {', '.join([*names, 'a path'])} or 'none'."


def _from_card(card: hub.Card) -> _Stored:
    found = hub.fetch(card)
    return _Stored(
        label=card.name,
        state=hub.read_state_dict(found.path),
        sha256=found.sha256,
        card=card,
        key_map=found.file.key_map,
        arch=card.arch,
        classes=card.classes.names,
        preprocessing=_card_preprocessing(card),
    )


def _card_preprocessing(card: hub.Card) -> Preprocessing:
    given = card.input
    return Preprocessing(
        size=given.crop,
        resize=given.resize,
        interpolation=given.interpolation,
        mean=(given.mean[0], given.mean[1], given.mean[2]),
        std=(given.std[0], given.std[1], given.std[2]),
    )


def _from_path(path: Path) -> _Stored:
    file = path / RUN_WEIGHTS if path.is_dir() else path
    if not file.is_file():
        what = f"no {RUN_WEIGHTS} in this folder" if path.is_dir() else "no such file"
        raise WeightsNotFound(
            f"{path}: {what}. Expected a .safetensors or .pth file, or the folder of a run that "
            "has finished an epoch."
        )
    state = hub.read_state_dict(file)
    stored = _Stored(label=str(file), state=state, sha256=hub.sha256_file(file))
    return replace(stored, **_described(file))


def _described(file: Path) -> dict[str, Any]:
    """What a file that a run wrote says about itself; nothing for other files."""
    with open(file, "rb") as opened:
        # A zip or pickle cannot start so: a safetensors header is JSON behind 8 bytes of length.
        if opened.read(9)[8:] != b"{":
            return {}
    metadata = hub.SafetensorsFile(file).metadata
    if not {"arch", "classes", "preprocessing"} <= metadata.keys():
        return {}
    try:
        return {
            "arch": str(json.loads(metadata["arch"])),
            "classes": tuple(str(name) for name in json.loads(metadata["classes"])),
            "preprocessing": Preprocessing.from_dict(json.loads(metadata["preprocessing"])),
        }
    except (ValueError, TypeError, AttributeError) as error:
        raise LoadError(
            f"{file}: its metadata cannot be read ({error}). Expected arch, classes and "
            "preprocessing as JSON, as `zoo finetune` writes them."
        ) from error


def _random(arch: Arch, num_classes: int | None) -> ImageModel:
    model = arch.build(num_classes)
    return _ready(model, arch, None, _designed_preprocessing(arch), dict(_RANDOM))


def _designed_preprocessing(arch: Arch) -> Preprocessing:
    """For weights that do not say how pictures were prepared for them."""
    # Photographs lose a margin, as for the published ImageNet weights; small pictures are whole.
    resize = 256 if arch.image_size == 224 else arch.image_size
    return Preprocessing(arch.image_size, resize)


def _pretrained(arch: Arch, stored: _Stored, num_classes: int | None) -> ImageModel:
    if stored.arch not in (None, arch.name):
        raise ArchMismatch(
            f"{stored.label} holds weights of {stored.arch}, not of {arch.name}. Load it as "
            f"{stored.arch}, or choose other weights. {_own_cards(arch)}"
        )
    config = dict(stored.card.config) if stored.card else {}
    with init.skip_random():
        model = arch.build(**config)
    state: dict[str, Any] = hub.match_keys(
        stored.state, model.state_dict(), key_map=stored.key_map, source=stored.label
    )
    head = model.classifier_name
    found = state.get(f"{head}.weight")
    stored_classes = None if found is None or found.ndim != 2 else found.shape[0]
    wanted = num_classes or stored_classes or arch.num_classes
    notices: tuple[str, ...] = ()
    if wanted == stored_classes:
        with init.skip_random():
            model.reset_classifier(wanted)
    elif num_classes is not None:
        model.reset_classifier(wanted)
        state = {key: value for key, value in state.items() if not key.startswith(f"{head}.")}
        fresh = model.get_classifier().state_dict()
        state |= {f"{head}.{key}": value for key, value in fresh.items()}
        has = "none" if stored_classes is None else f"one for {stored_classes}"
        notices = (f"new last layer for {wanted} classes; {stored.label} has {has}",)
        log.info("%s: %s", arch.name, notices[0])
    _fill(model, arch, state, stored)
    source = {"name": stored.label, "sha256": stored.sha256}
    preprocessing = stored.preprocessing or _designed_preprocessing(arch)
    classes = stored.classes if len(stored.classes) == wanted else ()
    return _ready(model, arch, stored.card, preprocessing, source, classes, notices)


def _fill(model: ImageModel, arch: Arch, state: Mapping[str, Any], stored: _Stored) -> None:
    try:
        model.load_state_dict(state)
    except StateDictError as error:
        fitting = _archs_that_fit(state, model.classifier_name)
        hint = f"It has the names and shapes of {fitting[0]}: load it as that. " if fitting else ""
        raise WeightsDoNotFit(
            f"{stored.label} does not fit {arch.name}. {hint}{_own_cards(arch)}\n{error}"
        ) from error


def _archs_that_fit(state: Mapping[str, Any], head: str) -> list[str]:
    """Architectures whose names and shapes are those of the state, but for the last layer's."""

    def shapes(values: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        # Counters of batches may be missing; see BatchNorm2d.
        return {
            key: tuple(value.shape)
            for key, value in values.items()
            if not key.startswith(f"{head}.") and not key.endswith("num_batches_tracked")
        }

    wanted = shapes(state)
    with init.skip_random():
        return [
            arch.name for arch in archs().values() if shapes(arch.build().state_dict()) == wanted
        ]


def _ready(
    model: ImageModel,
    arch: Arch,
    card: hub.Card | None,
    preprocessing: Preprocessing,
    source: dict[str, Any],
    classes: tuple[str, ...] = (),
    notices: tuple[str, ...] = (),
) -> ImageModel:
    model.arch = arch.name
    model.card = card
    model.classes = classes or tuple(map(str, range(model.get_classifier().out_features)))
    model.preprocessing = preprocessing
    model.source = source
    model.notices = notices
    model.eval()
    return model
