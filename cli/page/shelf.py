"""What the page offers: runs and models under keys, loaded when they are first used.

The page names keys, never paths: no text that comes from a browser is ever a file's name.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

_KEPT = 2  # models in memory
_BUSY_SECONDS = 60.0  # for the computation before to end


class NotOffered(Exception):
    """There is nothing under this key; the page is older than the server."""


class Busy(Exception):
    """Other computations did not end in time."""


class NotReady(Exception):
    """A run has no weights yet."""


@dataclass(frozen=True)
class Offer:
    """Something to choose.

    Attributes:
        key: what the page calls it.
        name: for people: a model's name or a run's folder.
        kind: "pictures" or "text".
        group: "runs" or "models".
        folder: of a run, else None.
        published: whether it is a name of the zoo's, with weights that may need a download.
    """

    key: str
    name: str
    kind: str
    group: str
    folder: Path | None = None
    published: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as the page gets them."""
        return {"key": self.key, "name": self.name, "kind": self.kind, "group": self.group}


class Shelf:
    """The offers, and the models that are loaded.

    Args:
        wanted: runs, weights files and names, as typed; none: the runs in `runs`.

    Raises:
        zoo.train.errors.NotARun, zoo.UnknownModelError: one of them is nothing that can be opened.

    >>> [offer.name for offer in Shelf(["resnet20"]).offers][0]               # doctest: +SKIP
    'resnet20'
    """

    def __init__(self, wanted: Sequence[str] = ()) -> None:
        named = list(wanted)
        found = [offer_of(name) for name in named] if named else _runs_here()
        found += [offer_of(name) for name in models_at_hand() if name not in named]
        self.offers = [replace(offer, key=str(i)) for i, offer in enumerate(found)]
        self._models: dict[str, tuple[float, Any]] = {}
        self._computing = threading.Lock()

    def offer(self, key: str) -> Offer:
        """The offer under a key.

        Raises:
            NotOffered: there is none.
        """
        for offer in self.offers:
            if offer.key == key:
                return offer
        raise NotOffered("this model is not offered any more; load the page again")

    @contextmanager
    def computing(self) -> Iterator[None]:
        """One computation at a time: more would only take memory.

        Raises:
            Busy: others did not end within a minute.
        """
        if not self._computing.acquire(timeout=_BUSY_SECONDS):
            raise Busy("another computation has not ended within a minute; try again later")
        try:
            yield
        finally:
            self._computing.release()

    def model(self, offer: Offer) -> Any:
        """Its model, loaded or from memory; a run's again, when it has better weights. To be called
        while `computing`.

        Raises:
            NotReady: a run that has not finished an epoch.
            zoo.LoadError, hub.HubError: it cannot be loaded.
        """
        import zoo
        from zoo.stored import RUN_WEIGHTS

        changed = 0.0
        if offer.folder is not None:
            try:
                changed = (offer.folder / RUN_WEIGHTS).stat().st_mtime
            except FileNotFoundError:
                raise NotReady(
                    f"{offer.name} has no weights yet: they come after its first epoch"
                ) from None
        if offer.key in self._models and self._models[offer.key][0] == changed:
            self._models[offer.key] = self._models.pop(offer.key)  # the latest used is kept longest
            return self._models[offer.key][1]
        self._models.pop(offer.key, None)
        while len(self._models) >= _KEPT:
            del self._models[next(iter(self._models))]
        model = zoo.load(offer.name if offer.folder is None else offer.folder)
        self._models[offer.key] = (changed, model)
        return model


def _runs_here() -> list[Offer]:
    """Runs in the folder that runs go to, the newest first; what is none is passed over."""
    import zoo
    from zoo.train.errors import NotARun

    found = []
    logs = Path("runs").glob("*/metrics.jsonl")
    for log in sorted(logs, key=lambda log: log.stat().st_mtime, reverse=True):
        with suppress(NotARun, zoo.LoadError):
            found.append(offer_of(str(log.parent)))
    return found


def offer_of(name: str) -> Offer:
    """The offer of what was typed, without a key.

    Raises:
        zoo.train.errors.NotARun: a path without a run or its weights.
        zoo.UnknownModelError: neither a path nor a name.

    >>> offer_of("resnet20").kind
    'pictures'
    """
    from zoo.registry import archs, get_arch
    from zoo.stored import looks_like_path, run_facts

    path = Path(name)
    if name not in archs():
        if path.is_dir():
            return Offer("", name, _kind(_arch_of_run(path)), "runs", path.absolute())
        if path.is_file() or looks_like_path(name):
            facts = run_facts(path) if path.is_file() else {}
            if "arch" not in facts:
                raise _no_run(path)
            return Offer("", name, _kind(facts["arch"]), "models")
    return Offer("", name, _kind(get_arch(name).name), "models", published=True)


def _arch_of_run(folder: Path) -> str:
    from zoo.stored import RUN_WEIGHTS, run_facts
    from zoo.train.checkpoint import Checkpoints

    file = folder / RUN_WEIGHTS
    facts = run_facts(file) if file.is_file() else {}
    if "arch" in facts:
        return str(facts["arch"])
    state = Checkpoints(folder / "last").newest_state()
    if state is None:
        raise _no_run(folder)
    return str(state["origin"]["model"])


def _no_run(path: Path) -> Exception:
    from zoo.train.errors import NotARun

    return NotARun(
        f"{path}: no run. Expected the folder that `zoo finetune` wrote to, a model.safetensors, "
        "or a name from `zoo list`."
    )


def _kind(arch: str) -> str:
    from zoo.registry import get_arch

    return "text" if get_arch(arch).config.task == "text-generation" else "pictures"


def models_at_hand() -> list[str]:
    """Models whose default weights need no download: those inside the package, then the cache's."""
    import hub
    from hub.stored import is_stored

    cache = hub.default_cache()
    cards = [card for card in hub.load_cards().values() if card.default and is_stored(card, cache)]
    return [card.arch for card in sorted(cards, key=lambda card: card.files[0].url is not None)]
