"""`zoo.load`: from a name and weights to a model that is ready to use."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hub
from engine.nn import StateDictError, init
from zoo.errors import ArchMismatch, ClassCountMismatch, LoadError, WeightsDoNotFit
from zoo.models.features import FeatureExtractor
from zoo.models.image_model import expect_images
from zoo.models.zoo_model import ZooModel
from zoo.placement import chosen_device
from zoo.registry import Arch, archs, get_arch
from zoo.stored import Stored, damaged_facts, find, from_path, looks_like_path, own_cards

log = logging.getLogger("zoo")


def load(
    name: str | os.PathLike[str],
    weights: str | os.PathLike[str] | None = "default",
    num_classes: int | None = None,
    *,
    device: str = "cpu",
    features_only: bool = False,
    stages: Sequence[int] | None = None,
    **options: Any,
) -> ZooModel:
    """A model in inference mode.

    Args:
        name: an architecture ("resnet50"), a card ("resnet50.tv_in1k_v1"), or a finished run: its
            folder or its model.safetensors.
        weights: "default" for the architecture's default card, a card's name, the path of a
            .safetensors or .pth file, of an index of shards or of a finished run, an address
            (https://..., hf:ORG/REPO/FILE), or None (or "none") for random values.
        num_classes: outputs of a classifier; None for as many as the weights have. With another
            number than theirs the last layer is new and random, and the model's `notices` say so;
            0 leaves it off.
        device: where it shall compute: "cpu", "cuda" (the first GPU), "cuda:1" and so on, or "auto"
            for a GPU if there is one.
        features_only: return a zoo.models.features.FeatureExtractor, which gives the maps of an
            image classifier's stages in place of classes; the file may lack the layers behind.
        stages: numbers of the stages whose maps it gives, from 0 for the largest; None for all.
        options: what else the architecture's builder takes, such as in_chans, to which the first
            layer of published weights is adapted, or dropout.

    Returns:
        The model with `arch`, `card`, `source` and `notices` set, see
        zoo.models.zoo_model.ZooModel, and what its kind adds, such as `classes` and
        `preprocessing`, see zoo.models.image_model.ImageModel.

    Raises:
        UnknownModelError: no such name; near ones are suggested.
        UnknownOption: an option that the architecture does not have.
        NoPublishedWeights: "default", where the architecture has no card.
        DeviceMissing: this machine has no such device; said before anything is loaded.
        WeightsNotFound: weights that are neither a card nor a file nor a run.
        ArchMismatch, WeightsDoNotFit: weights of another model; nothing is loaded.
        ClassCountMismatch: `name` is a run with another number of classes.
        hub.HubError: a download or a damaged file.

    >>> model = load("resnet50", weights=None, num_classes=4)
    >>> len(model.classes), model.training
    (4, False)
    """
    if num_classes is not None:
        if num_classes < 0:
            raise ValueError(f"load: num_classes={num_classes}; expected 0 or more")
        options["num_classes"] = num_classes
    if stages is not None and not features_only:
        raise ValueError("load: stages are of features; pass features_only=True with them")
    place = chosen_device(device)
    name = os.fspath(name)
    weights = os.fspath(weights) if weights is not None else "none"
    if features_only and (name in archs() or name in hub.load_cards()):
        with init.skip_random():  # to refuse before a download what would be refused behind it
            FeatureExtractor(expect_images(get_arch(name).build(**options)), stages)
    model = _load(name, weights, options, features_only)
    if place != "cpu":
        model.to(place)
    return FeatureExtractor(expect_images(model), stages) if features_only else model


def _load(name: str, weights: str, options: dict[str, Any], headless: bool) -> ZooModel:
    known = name in archs() or name in hub.load_cards()
    if not known and (Path(name).exists() or looks_like_path(name)):
        return _load_run(Path(name), weights, options, headless)
    arch = get_arch(name)
    arch.check_options(options)  # before a download
    if weights == "none":
        return _random(arch, options)
    if weights == "default" and name not in archs():
        weights = name
    return _pretrained(arch, find(arch, weights), options, headless)


def _load_run(path: Path, weights: str, options: dict[str, Any], headless: bool) -> ZooModel:
    if weights != "default":
        raise LoadError(
            f"{path}: a run has its own weights, so weights={weights!r} cannot be loaded too. To "
            "load other weights, name the architecture instead of the run."
        )
    stored = from_path(path)
    if stored.arch is None:
        raise LoadError(
            f"{stored.label}: the file does not say which architecture it is for, so it is no run. "
            f"Name the architecture: zoo.load(ARCH, weights={str(path)!r})"
        )
    classes, wanted = stored.run.get("classes", ()), options.get("num_classes")
    if classes and wanted not in (None, 0, len(classes)):
        raise ClassCountMismatch(
            f"{stored.label} was trained on {len(classes)} classes "
            f"({', '.join(map(str, classes[:5]))}{', ...' if len(classes) > 5 else ''}), not "
            f"{wanted}. To give its body a new last layer, type: "
            f"zoo.load({stored.arch!r}, weights={str(path)!r}, num_classes={wanted})"
        )
    return _pretrained(get_arch(stored.arch), stored, options, headless)


def _random(arch: Arch, options: dict[str, Any]) -> ZooModel:
    model = arch.build(**options)
    model.describe(None, {})
    return _ready(model, arch, None, {"name": "random values", "sha256": None}, ())


def _pretrained(arch: Arch, stored: Stored, options: dict[str, Any], headless: bool) -> ZooModel:
    if stored.arch not in (None, arch.name):
        raise ArchMismatch(
            f"{stored.label} holds weights of {stored.arch}, not of {arch.name}. Load it as "
            f"{stored.arch}, or choose other weights. {own_cards(arch)}"
        )
    model = _built(arch, stored, options)
    if headless:
        expect_images(model).drop_head()  # files of bodies do without it
    state, notices = model.adapt(
        hub.match_keys(
            stored.state,
            model.state_dict(),
            key_map=stored.key_map or model.key_maps,
            source=stored.label,
        ),
        options,
        stored.label,
    )
    for notice in notices:
        log.info("%s: %s", arch.name, notice)
    _fill(model, arch, state, stored.label)
    try:
        model.describe(stored.card, stored.run)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise damaged_facts(stored.label, error) from error
    source = {"name": stored.label, "sha256": stored.sha256}
    return _ready(model, arch, stored.card, source, notices)


def _built(arch: Arch, stored: Stored, options: dict[str, Any]) -> ZooModel:
    """An empty model of the sizes that the weights and the caller ask for."""
    layers = stored.run.get("config", {}).get("layers")
    if isinstance(layers, int) and layers > len(stored.state):  # before so many are made
        error = ValueError(f"layers={layers:,}, in a file of {len(stored.state):,} tensors")
        raise damaged_facts(stored.label, error)
    with init.skip_random():
        try:
            return arch.build(**stored.config | options)
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            if stored.run and stored.config:
                raise damaged_facts(stored.label, error) from error
            raise


def _fill(model: ZooModel, arch: Arch, state: Mapping[str, Any], label: str) -> None:
    try:
        model.load_state_dict(state, assign=True)  # no copy of the mapped file
    except StateDictError as error:
        fitting = _archs_that_fit(model, state)
        hint = f"It has the names and shapes of {fitting[0]}: load it as that. " if fitting else ""
        raise WeightsDoNotFit(
            f"{label} does not fit {arch.name}. {hint}{own_cards(arch)}\n{error}"
        ) from error


def _archs_that_fit(model: ZooModel, state: Mapping[str, Any]) -> list[str]:
    """Architectures whose names and shapes are those of the state, but for the last layer's."""

    def shapes(values: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        # Counters of batches may be missing; see BatchNorm2d.
        return {
            key: tuple(value.shape)
            for key, value in values.items()
            if not (model.classifier_name and key.startswith(f"{model.classifier_name}."))
            and not key.endswith("num_batches_tracked")
        }

    wanted = shapes(state)
    with init.skip_random():
        return [
            arch.name for arch in archs().values() if shapes(arch.build().state_dict()) == wanted
        ]


def _ready(
    model: ZooModel,
    arch: Arch,
    card: hub.Card | None,
    source: dict[str, Any],
    notices: tuple[str, ...],
) -> ZooModel:
    model.arch = arch.name
    model.card = card
    model.source = source
    model.notices = notices
    model.eval()
    return model
