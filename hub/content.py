"""Tells weights files from what is saved in their place, by content and never by suffix."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from hub.errors import CorruptCheckpoint, NotWeights, UnsupportedFormat
from hub.pth_tar import is_tar
from hub.sharded import looks_like_index

Kind = Literal["safetensors", "pth", "index"]
SNIFF_BYTES = 512

_FOREIGN = {
    b"\x89HDF\r\n\x1a\n": "an HDF5 file (Keras)",
    b"\x1f\x8b": "a gzip archive; unpack it first",
    b"\x93NUMPY": "a .npy array",
    b"GGUF": "a GGUF file",
}


def refuse_other_content(start: bytes, source: str, *, json: bool = False) -> None:
    """Raise `NotWeights` if the first bytes of something are a page, a pointer, JSON or nothing.

    Args:
        start: the first `SNIFF_BYTES`, or all if there are fewer.
        source: the file or URL, for the message.
        json: JSON is what was asked for.
    """
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not start:
        raise NotWeights(f"{source} is empty (0 bytes); expected a weights file.")
    if text.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--")):
        raise NotWeights(
            f"{source} is a web page, not a weights file: probably a login, error or redirect "
            "page saved under this name. Open the address in a browser, then pass the real file "
            "with --weights PATH."
        )
    if text.startswith(b"version https://git-lfs.github.com/spec/"):
        raise NotWeights(
            f"{source} is a Git LFS pointer, not a weights file: it only names the content. Run "
            "'git lfs pull' in its repository, or download the file itself."
        )
    is_json = text.startswith((b'{"', b"{'", b"[{")) or (
        text[:1] == b"{" and text[1:].lstrip()[:1] == b'"'
    )
    if is_json and not json:
        raise NotWeights(
            f"{source} is JSON text, not a weights file: {start[:80]!r}. Probably a server's "
            "error message or a model's config; pass the weights with --weights PATH."
        )


def kind_of(path: str | os.PathLike[str]) -> Kind:
    """Which reader a file needs: "safetensors", "pth" (all of its formats) or "index" (of shards).

    Raises:
        NotWeights: a web page, a Git LFS pointer, JSON, an empty file.
        CorruptCheckpoint: too short to be anything.
        UnsupportedFormat: another format.
        FileNotFoundError, IsADirectoryError: as `open`.
    """
    path = Path(path)
    with open(path, "rb") as f:
        start = f.read(SNIFF_BYTES)
    if start.startswith(b"PK\x03\x04"):
        return "pth"
    # Before pickles: a header of 640 bytes starts with the same two bytes as a pickle.
    if start[8:9] == b"{":
        return "safetensors"
    if start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "pth"
    if is_tar(memoryview(start)):
        return "pth"
    if looks_like_index(path, start):
        return "index"
    refuse_other_content(start, str(path))
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            raise UnsupportedFormat(f"{path} is {what}; expected a .safetensors or .pth file.")
    if len(start) < 8:
        raise CorruptCheckpoint(
            f"{path} has only {len(start)} bytes; expected a .safetensors or .pth file. Copy or "
            "download it again."
        )
    # Lying headers start with anything: let the safetensors reader say what is wrong with them.
    if int.from_bytes(start[:8], "little") > path.stat().st_size - 8:
        raise CorruptCheckpoint(
            f"{path} is neither a .pth nor a sound .safetensors file: it starts with "
            f"{start[:16]!r}. As a .safetensors its header would take "
            f"{int.from_bytes(start[:8], 'little'):,} bytes. Copy or download it again."
        )
    raise UnsupportedFormat(
        f"{path} starts with {start[:16]!r}, which is no weights format known here; expected a "
        ".safetensors or .pth file."
    )
