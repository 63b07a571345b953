"""From a card to a verified file: the distribution, the cache, a file put by hand, the network."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path

from hub.cache import Cache, default_cache, offline, sha256_file
from hub.cards import Card, CardFile, get_card, load_cards
from hub.errors import (
    CacheError,
    DownloadError,
    HashMismatch,
    HubError,
    NotWeights,
    OfflineError,
    TruncatedDownload,
)
from hub.obtain import Obtainer
from hub.policy import Expected, Policy
from hub.project_lock import Pin, ProjectLock
from hub.sources import Source, local_mirrors, parse_source, with_mirrors

log = logging.getLogger("hub")


@dataclass(frozen=True)
class Weights:
    """A verified weights file.

    Attributes:
        path: the file; read it with `hub.read_state_dict`.
        sha256: its content's SHA-256, 64 hex digits.
        file: the card's entry it satisfies.

    >>> hub.fetch(hub.get_card("resnet20.letters")).path.name
    'resnet20.letters.safetensors'
    """

    path: Path
    sha256: str
    file: CardFile


def weights(card: Card | str, *, progress: bool = True) -> Path:
    """Path of a card's verified weights file; see `fetch`.

    >>> hub.read_state_dict(hub.weights("resnet18.tv_in1k_v1"))               # doctest: +SKIP
    """
    return fetch(card, progress=progress).path


def fetch(card: Card | str, *, progress: bool = True, policy: Policy | None = None) -> Weights:
    """A card's verified weights: from this distribution, the cache, or the network.

    Looked for in this order: a file shipped in the distribution; the cache (`ZOO_HOME`, then those
    of `ZOO_SHARED`); a file put by hand at `ZOO_HOME/manual/CARD.FORMAT`; each address of the card
    behind its copies in `ZOO_MIRROR`. Of processes that ask at once one downloads and the others
    wait. Where a card knows only the start of a digest, the full one is recorded in
    `ZOO_HOME/lock.json` and required from then on; where the project has a `zoo.lock`, its digest
    is.

    Args:
        card: a card or its name.
        progress: show a bar while downloading, if stderr is a terminal.
        policy: patience with servers.

    Raises:
        OfflineError: not at hand, and `ZOO_OFFLINE=1`.
        DownloadError, TruncatedDownload, HashMismatch, NotWeights: no address gave the file; the
            message lists each one and what can be done by hand.
        DiskFull, CacheError: the cache cannot take it.
        LockError: `zoo.lock` pins a digest that the card does not name any more.
        UnknownCard: no card has this name.

    >>> hub.fetch("resnet50.tv_in1k_v1").sha256[:8]                           # doctest: +SKIP
    '5d061a3c'
    """
    if isinstance(card, str):
        card = get_card(card)
    lock = ProjectLock.find()
    pin = lock.pins().get(card.name) if lock else None
    if lock and pin:
        card = _pinned(card, pin, lock)
    found = _found(card, progress, policy or Policy())
    if lock and not pin:
        source = parse_source(found.file.url) if found.file.url else None
        name = source.file_name if source else found.path.name
        shown = source.shown if source else "this distribution"
        lock.add(card.name, Pin(found.sha256, found.path.stat().st_size, name, shown))
    return found


def _pinned(card: Card, pin: Pin, lock: ProjectLock) -> Card:
    """The card with the one file that the project has pinned."""
    files = [
        replace(file, sha256=pin.sha256, sha256_prefix=None, verified="full", bytes=pin.bytes)
        for file in card.files
        if pin.sha256.startswith(file.digest)
    ]
    if not files:
        raise lock.other_digest(card.name, pin, " or ".join(file.digest for file in card.files))
    return replace(card, files=tuple(files))


def _found(card: Card, progress: bool, policy: Policy) -> Weights:
    cache = default_cache()
    at_hand = _packaged(card) or _cached(card, cache, repair=not offline())
    if at_hand:
        return at_hand
    if offline() and not any(local_mirrors(file.urls) for file in card.files):
        return _put_by_hand(card, cache) or _refuse_offline(card, cache)
    new_cache = not cache.home.exists()
    try:
        with cache.lock(card.name):
            # Another process may have been faster while this one waited.
            return (
                _cached(card, cache, repair=True)
                or _put_by_hand(card, cache)
                or _from_network(card, cache, progress, policy)
            )
    except BaseException:
        cache.remove_empty_folders(home_too=new_cache)
        raise


def packaged_path(file: CardFile) -> Path | None:
    """Where a file shipped in the distribution is; None for others."""
    return Path(__file__).resolve().parent.parent / file.packaged if file.packaged else None


def known_digests(card: Card, cache: Cache) -> list[str]:
    """The full digests of a card's files, as far as the card or the cache's records know them."""
    digests = [_expected(card, file, cache).digest for file in card.files]
    return [digest for digest in digests if len(digest) == 64]


def _packaged(card: Card) -> Weights | None:
    for file in card.files:
        path = packaged_path(file)
        if path is None:
            continue
        try:
            actual = sha256_file(path)
        except FileNotFoundError:
            actual = "missing"
        if actual != file.sha256:
            raise CacheError(
                f"{path}, the file of card {card.name}, is damaged: its SHA-256 is {actual}, "
                f"expected {file.sha256}. Install the package again: "
                "pip install --force-reinstall zoo"
            )
        return Weights(path, actual, file)
    return None


def _lock_key(card: Card, file: CardFile) -> str:
    return f"{card.name}/{(file.url or '').rpartition('/')[2]}"


def _expected(card: Card, file: CardFile, cache: Cache) -> Expected:
    # An approximate size is right to 1%: a quarter more is another file, or one without end.
    most = file.bytes_approx * 5 // 4 + 1_000_000 if file.bytes_approx else None
    if file.sha256 is None:
        recorded = cache.recorded(_lock_key(card, file))
        if recorded and recorded.startswith(file.digest):
            return Expected(
                recorded, file.bytes, f"recorded in {cache.lock_file} at the first download", most
            )
    return Expected(file.digest, file.bytes, at_most=most)


def _cached(card: Card, cache: Cache, *, repair: bool) -> Weights | None:
    for file in card.files:
        digest = _expected(card, file, cache).digest
        if len(digest) < 64:
            continue
        path = cache.find(digest, repair=repair)
        if path is not None:
            return Weights(path, digest, file)
    return None


def _put_by_hand(card: Card, cache: Cache) -> Weights | None:
    for form in dict.fromkeys(file.format for file in card.files):
        path = cache.manual(f"{card.name}.{form}")
        if not path.is_file():
            continue
        digest = sha256_file(path)
        for file in card.files:
            if digest.startswith(_expected(card, file, cache).digest):
                return _published(card, file, cache, path, digest)
        wanted = " or ".join(_expected(card, file, cache).digest for file in card.files)
        raise HashMismatch(
            f"{path} has the SHA-256 {digest}, expected {wanted}. Replace it by the file that "
            f"card {card.name} names, or pass it with --weights PATH if you trust it."
        )
    return None


def _published(card: Card, file: CardFile, cache: Cache, part: Path, digest: str) -> Weights:
    if file.sha256 is None:
        cache.record(_lock_key(card, file), digest)
    return Weights(cache.publish(part, digest), digest, file)


def _from_network(card: Card, cache: Cache, progress: bool, policy: Policy) -> Weights:
    failures: list[tuple[CardFile, Source, HubError]] = []
    obtainer = Obtainer(card.name, progress, policy)
    for file in card.files:
        expected = _expected(card, file, cache)
        for source in local_mirrors(file.urls) if offline() else with_mirrors(file.urls):
            part = cache.part(expected.digest)
            try:
                digest = obtainer.obtain(source, part, expected)
            except (DownloadError, NotWeights) as error:
                failures.append((file, source, error))
                continue
            except PermissionError as error:
                raise cache.unusable(error) from error
            return _published(card, file, cache, part, digest)
    raise _failed(card, cache, failures)


def _failed(
    card: Card, cache: Cache, failures: list[tuple[CardFile, Source, HubError]]
) -> HubError:
    lines = [f"cannot get the weights of card {card.name}."]
    for file, source, error in failures:
        reason = error.reason if isinstance(error, DownloadError) else str(error)
        hand = _hand(card, file, cache)
        lines += [f"  {source.shown}", f"    {reason}", f"    by hand: save it as {hand}"]
    text = "\n".join([*lines, *_ways_out(card)])
    kinds = {type(error) for _, _, error in failures}
    if kinds == {NotWeights}:
        return NotWeights(text)
    if len(kinds) == 1 and kinds <= {HashMismatch, TruncatedDownload}:
        return kinds.pop()(text)
    return DownloadError(text)


def _refuse_offline(card: Card, cache: Cache) -> Weights:
    lines = [
        f"the weights of card {card.name} are not in the cache ({cache.home}), and ZOO_OFFLINE is "
        "set, so nothing was downloaded."
    ]
    for file in card.files:
        for url in file.urls[:1]:
            lines += [
                f"  {parse_source(url).shown}",
                f"    by hand: save it as {_hand(card, file, cache)}",
            ]
    raise OfflineError("\n".join([*lines, "  or unset ZOO_OFFLINE", *_ways_out(card)]))


def _hand(card: Card, file: CardFile, cache: Cache) -> str:
    size = file.bytes or file.bytes_approx
    about = f"{size / 1e6:.1f} MB, " if size else ""
    return f"{cache.manual(f'{card.name}.{file.format}')} ({about}SHA-256 {file.digest[:12]}…)"


def _ways_out(card: Card) -> list[str]:
    here = [
        other.arch
        for other in load_cards().values()
        if other.default and other.task == card.task and other.files[0].packaged
    ]
    return [
        *(f"  or take {arch} instead: its weights come with Zoo" for arch in here),
        f"  or pass --weights PATH: a file of {card.arch} weights that you have",
        "  or pass --weights none: start from random weights",
    ]
