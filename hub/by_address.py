"""A file by its address, where no card describes it: `hf:ORG/REPO/FILE`, a URL, a path."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from hub.atomic import put_link
from hub.cache import Cache, default_cache, offline, sha256_file
from hub.errors import DownloadError, HashMismatch, HubError, NotWeights, OfflineError, SourceError
from hub.obtain import Obtainer
from hub.policy import Expected, Policy
from hub.project_lock import Pin, ProjectLock
from hub.sharded import MAX_INDEX_BYTES, read_index
from hub.sources import Source, local_mirrors, parse_source, with_mirrors


@dataclass(frozen=True)
class FetchedFile:
    """A file that is at hand, whole.

    Attributes:
        path: where it is: in the cache, or where the person said.
        sha256: its content's SHA-256, 64 hex digits.
        address: where it came from, without passwords and queries.

    >>> hub.fetch_file("hf:ORG/REPO/model.safetensors").sha256     # doctest: +SKIP
    '694f673d…'
    """

    path: Path
    sha256: str
    address: str


def fetch_file(
    address: str, *, sha256: str | None = None, progress: bool = True, policy: Policy | None = None
) -> FetchedFile:
    """A weights file by its address, downloaded once.

    A local file is hashed and used where it is. Other files go to the cache. Where nobody says the
    digest beforehand, the one that Hugging Face announces must be met; else it is taken as it is
    when it first arrives (over https). It is recorded in `ZOO_HOME/lock.json`, and in `zoo.lock`
    where there is one, and required from then on.

    Of an index of shards (`model.safetensors.index.json`) the files that it names are fetched too;
    the path is that of the index with its shards beside it.

    Args:
        address: see `hub.sources`; `ZOO_MIRROR` is asked first.
        sha256: 64 hex digits that the file must have, if you know them.
        progress: show a bar while downloading, if stderr is a terminal.
        policy: patience with servers.

    Raises:
        SourceError: no address.
        OfflineError: not in the cache, and `ZOO_OFFLINE=1`.
        DownloadError, TruncatedDownload, HashMismatch, NotWeights, DiskFull, CacheError: as
            `hub.fetch`.
        LockError: `zoo.lock` pins another digest.

    >>> hub.fetch_file("hf:timm/resnet18.tv_in1k/model.safetensors")          # doctest: +SKIP
    """
    if sha256 is not None and not re.fullmatch("[0-9a-f]{64}", sha256):
        raise SourceError(f"sha256={sha256!r}; expected 64 lower-case hex digits")
    source = parse_source(address)
    lock = ProjectLock.find()
    pin = lock.pins().get(source.key) if lock else None
    if lock and pin and sha256 not in (None, pin.sha256):
        raise lock.other_digest(source.key, pin, str(sha256))
    wanted = pin.sha256 if pin else sha256
    said_by = str(lock.path) if lock and pin else "the caller"
    if source.path is not None:
        found = _local(source, wanted, said_by)
    else:
        found = _remote(source, wanted, said_by, progress, policy or Policy())
    if lock and not pin:
        size = found.path.stat().st_size
        lock.add(source.key, Pin(found.sha256, size, source.file_name, source.shown))
    if source.url is not None and _is_index(source):
        return _with_shards(source, found, progress, policy)
    return found


def _is_index(source: Source) -> bool:
    return source.file_name.endswith(".index.json")


def _with_shards(
    source: Source, index: FetchedFile, progress: bool, policy: Policy | None
) -> FetchedFile:
    """Fetch the shards and put them under their names beside the index, as links to the cache."""
    if "?" in source.text:
        raise SourceError(
            f"{source.shown} is an index of shards behind a query, so the addresses of its shards "
            "cannot be told. Download index and shards into one folder and pass its path."
        )
    files = {source.file_name: index.path}
    for name in read_index(index.path):
        # An hf: address is text; a URL is quoted already.
        last = name if source.text.startswith("hf:") else quote(name)
        sibling = source.text[: source.text.rindex("/") + 1] + last
        files[name] = fetch_file(sibling, progress=progress, policy=policy).path
    cache = default_cache()
    folder = cache.shards(index.sha256)
    try:
        for name, path in files.items():
            if not (folder / name).exists() or not path.samefile(folder / name):
                folder.mkdir(parents=True, exist_ok=True)
                put_link(folder / name, path)
    except OSError as error:
        raise cache.unusable(error) from error
    return replace(index, path=folder / source.file_name)


def _local(source: Source, wanted: str | None, said_by: str) -> FetchedFile:
    assert source.path is not None
    try:
        digest = sha256_file(source.path)
    except OSError as error:
        raise DownloadError(
            f"{source.path}: {error.strerror or error}", url=source.text, reason=str(error)
        ) from error
    if wanted not in (None, digest):
        raise HashMismatch(
            f"{source.path} has the SHA-256 {digest}, expected {wanted} ({said_by})",
            url=source.text,
        )
    return FetchedFile(source.path, digest, source.shown)


def _remote(
    source: Source, wanted: str | None, said_by: str, progress: bool, policy: Policy
) -> FetchedFile:
    cache = default_cache()
    if wanted is None and (recorded := cache.recorded(source.key)):
        wanted, said_by = recorded, f"recorded in {cache.lock_file} at the first download"
    found = _at_hand(cache, source, wanted, repair=not offline())
    if found:
        return found
    if offline() and not local_mirrors([source.text]):
        raise OfflineError(
            f"{source.shown} is not in the cache ({cache.home}), and ZOO_OFFLINE is set, so "
            "nothing was downloaded. Unset ZOO_OFFLINE, or pass the path of a file."
        )
    is_index = _is_index(source)
    key = wanted or "address-" + hashlib.sha256(os.fsencode(source.text)).hexdigest()[:40]
    new_cache = not cache.home.exists()
    try:
        with cache.lock(key):
            # Another process may have been faster while this one waited.
            found = _at_hand(cache, source, wanted or cache.recorded(source.key), repair=True)
            if found:
                return found
            most = MAX_INDEX_BYTES if is_index else None
            expected = Expected(wanted or "", said_by=said_by, at_most=most, json=is_index)
            digest = _from_any(source, cache, cache.part(key), expected, progress, policy)
            if expected.digest == "":
                cache.record(source.key, digest)
            return FetchedFile(cache.publish(cache.part(key), digest), digest, source.shown)
    except BaseException:
        cache.remove_empty_folders(home_too=new_cache)
        raise


def _at_hand(
    cache: Cache, source: Source, digest: str | None, *, repair: bool
) -> FetchedFile | None:
    path = cache.find(digest, repair=repair) if digest else None
    return FetchedFile(path, digest, source.shown) if path and digest else None


def _from_any(
    source: Source, cache: Cache, part: Path, expected: Expected, progress: bool, policy: Policy
) -> str:
    obtainer = Obtainer(source.file_name, progress, policy)
    failures: list[tuple[Source, HubError]] = []
    places = local_mirrors([source.text]) if offline() else with_mirrors([source.text])
    for place in places:
        try:
            return obtainer.obtain(place, part, expected)
        except (DownloadError, NotWeights) as error:
            failures.append((place, error))
        except PermissionError as error:
            raise cache.unusable(error) from error
    if len(failures) == 1:
        raise failures[0][1]
    lines = [f"cannot get {source.shown}."]
    for place, failure in failures:
        reason = failure.reason if isinstance(failure, DownloadError) else str(failure)
        lines += [f"  {place.shown}", f"    {reason}"]
    raise DownloadError("\n".join(lines), url=source.shown)
