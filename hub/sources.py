"""Where bytes can come from: the addresses a card or a person may name, and their mirrors.

    https://host/path/file           http:// only on this machine
    hf:ORG/REPO/FILE                 a file of a Hugging Face repository, its main branch
    hf:ORG/REPO@REVISION/FILE        a tag, a branch (with %2F for /) or a commit
    file:///folder/file, or a path   a file of this machine or of a network drive

`ZOO_MIRROR` names copies that are asked first, several with blanks between: an address, a
`file://` or a folder. A mirror keeps `https://host/path` at `MIRROR/host/path`, which is what
`wget --force-directories https://host/path` makes. What comes from it is checked as ever.

`HF_ENDPOINT` replaces https://huggingface.co, `HF_TOKEN` opens private files there. The token goes
to that host only: not to mirrors, not to where a redirect leads. Proxies and `.netrc` work as in
`requests`. Messages and notes on disk never show a token, a password or the query of an address.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit
from urllib.request import url2pathname

from hub.errors import SourceError

_HF = re.compile(r"hf:([A-Za-z0-9._-]+/[A-Za-z0-9._-]+)(?:@([^/@]+))?/(.+)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(?=//)|hf:")
_KINDS = "https://…, hf:ORG/REPO[@REVISION]/FILE, file://… or the path of a file"
_HERE = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Source:
    """A place that holds one file.

    Attributes:
        text: as it was named.
        url: its http(s) address, or None for a local file.
        path: the local file, or None.
    """

    text: str
    url: str | None = None
    path: Path | None = None

    @property
    def file_name(self) -> str:
        """Base name of the file: "model.safetensors"."""
        return (
            self.path.name if self.path else unquote(urlsplit(self.url or "").path.split("/")[-1])
        )

    @property
    def shown(self) -> str:
        """For messages and notes: without password and query, which may hold secrets."""
        return without_secrets(self.text)

    @property
    def key(self) -> str:
        """Under which to record what was found there: `shown`, and a mark of the query if any, so
        that `?id=1` and `?id=2` are two files."""
        query = urlsplit(self.url).query if self.url else ""
        mark = f"?{hashlib.sha256(query.encode()).hexdigest()[:12]}" if query else ""
        return self.shown + mark


def parse_source(text: str) -> Source:
    """What a text names; nothing is looked up.

    Raises:
        SourceError: no address of a kind that is read here, or plain http to another machine.

    >>> parse_source("hf:timm/resnet18.tv_in1k@main/model.safetensors").url
    'https://huggingface.co/timm/resnet18.tv_in1k/resolve/main/model.safetensors'
    """
    scheme = _SCHEME.match(text)
    if scheme is None:
        if not text.strip():
            raise SourceError(f"an empty address; expected {_KINDS}.")
        return Source(text, path=Path(text).expanduser())
    kind = scheme[0].lower()
    if kind == "hf:":
        return Source(text, url=_hf_url(text))
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise SourceError(f"{without_secrets(text)} is no address ({error}).") from None
    if kind == "file:":
        if host not in (None, "", "localhost"):
            raise SourceError(
                f"{text} names the machine {host}; a file:// address has three slashes, as in "
                "file:///folder/file"
            )
        return Source(text, path=Path(url2pathname(parts.path)))
    if kind == "https:" and host or kind == "http:" and host in _HERE:
        return Source(text, url=text)
    if kind == "http:" and host:
        raise SourceError(
            f"{without_secrets(text)}: plain http can be changed on the way; expected https://"
        )
    raise SourceError(f"{without_secrets(text)} is not read here; expected {_KINDS}.")


def is_address(text: str) -> bool:
    """Whether a text has the form of an address: `hf:` or `SCHEME://`, and not of a path.

    >>> is_address("hf:timm/resnet18.tv_in1k/model.safetensors"), is_address("C:/weights.pth")
    (True, False)
    """
    return _SCHEME.match(text) is not None


def hf_endpoint() -> str:
    """Where `hf:` points: `HF_ENDPOINT` if set, without slash at its end."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def _hf_url(text: str) -> str:
    match = _HF.fullmatch(text)
    if match is None or any(part in ("", ".", "..") for part in match[3].split("/")):
        raise SourceError(
            f"{text} names no file of a Hugging Face repository; expected "
            "hf:ORG/REPO/FILE or hf:ORG/REPO@REVISION/FILE, for example "
            "hf:timm/resnet18.tv_in1k/model.safetensors"
        )
    repo, revision, file = match[1], unquote(match[2] or "main"), match[3]
    return f"{hf_endpoint()}/{repo}/resolve/{quote(revision, safe='')}/{quote(file)}"


def with_mirrors(addresses: Iterable[str]) -> list[Source]:
    """The addresses, each behind its copies in `ZOO_MIRROR`, in the order in which to try them.

    Raises:
        SourceError: as `parse_source`, also for an entry of `ZOO_MIRROR`.
    """
    mirrors = (os.environ.get("ZOO_MIRROR") or "").split()
    found: dict[str, Source] = {}
    for address in addresses:
        source = parse_source(address)
        parts = urlsplit(source.url or "")
        if parts.hostname:
            port = f":{parts.port}" if parts.port else ""
            for mirror in mirrors:
                # No query: it belongs to the original's server.
                copy = f"{mirror.rstrip('/')}/{parts.hostname}{port}{parts.path}"
                found.setdefault(copy, parse_source(copy))
        found.setdefault(address, source)
    return list(found.values())


def local_mirrors(addresses: Iterable[str]) -> list[Source]:
    """Those of `with_mirrors` that need no network: files of this machine that exist."""
    return [s for s in with_mirrors(addresses) if s.path is not None and s.path.is_file()]


def token_for(url: str) -> str | None:
    """The access token to send with a request, if one is set and `url` is where it belongs.

    Raises:
        SourceError: `HF_TOKEN` holds characters that no token has; its value is not shown.
    """
    token = (os.environ.get("HF_TOKEN") or os.environ.get("HUGGING_FACE_HUB_TOKEN") or "").strip()
    here, there = urlsplit(url), urlsplit(hf_endpoint())
    belongs = (here.scheme, here.hostname, here.port) == (there.scheme, there.hostname, there.port)
    safe = here.scheme == "https" or here.hostname in _HERE
    if not token or not belongs or not safe:
        return None
    if not re.fullmatch(r"[!-~]+", token):
        raise SourceError(
            "HF_TOKEN holds a blank, a line break or another character that no token has; copy it "
            "again from https://huggingface.co/settings/tokens"
        )
    return token


def without_secrets(text: str) -> str:
    """An address, or a message that quotes some, without user names, passwords and queries.

    >>> without_secrets("https://me:pass@host/w.pth?token=1")
    'https://host/w.pth'
    """
    text = re.sub(r"(?<=://)[^/\s@]*@", "", text)
    return re.sub(r"(\w+://[^\s?#]*|/[^\s?#]*)[?#][^\s'\")]*", r"\1", text)
