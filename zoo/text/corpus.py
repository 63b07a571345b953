"""Documents as one row of tokens: made once, kept in a file that is named by its content, and
mapped into memory from there.

Each document ends in the tokenizer's end-of-text token, where it has one. That token is learned
like any other, so that a model knows when to stop; what is not learned (prompts) is marked by
position, never by a token's number.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hub
from hub.cache import Cache
from hub.progress import progress_bar
from hub.sealed import find_sealed, write_sealed
from zoo.text.errors import TextNotFound
from zoo.text.facts import TextFacts, digest_of
from zoo.text.read import Document, find_files, read_documents
from zoo.text.tokenizer import Tokenizer

_VERSION = 2  # of the layout and of the rules above; part of the names of files
_PART = 1 << 18  # characters that are tokenised at once


@dataclass(frozen=True)
class Corpus:
    """Tokens of all documents, one after the other.

    Attributes:
        tokens: (N,) of uint16, or uint32 for large vocabularies.
        learned: (N,) of bool: whether the token is to be predicted; None for all of them.
        starts: (documents + 1,) of int64: where each begins, and N.
        bytes: of text that is learned, as UTF-8, for bits per byte.
        fingerprint: SHA-256 of all that the tokens follow from.
        files: how many were read.
        digests: (documents,) of uint64: equal for equal documents; empty where not known.
        facts: what else reading showed.
    """

    tokens: NDArray[Any]
    learned: NDArray[np.bool_] | None
    starts: NDArray[np.int64]
    bytes: int
    fingerprint: str
    files: int
    digests: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    facts: TextFacts = field(default_factory=TextFacts)

    def lines(self) -> list[str]:
        """What was found, for people."""
        documents = len(self.starts) - 1
        files = f"{self.files} file{'s' if self.files != 1 else ''}"
        return [
            f"Found {documents:,} document{'s' if documents != 1 else ''} in {files}: "
            f"{len(self.tokens):,} tokens of {self.bytes / 1e6:.2f} MB of text"
        ]


def load_corpus(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    tokenizer: Tokenizer,
    *,
    bad_bytes: str = "refuse",
    show_progress: bool = False,
) -> Corpus:
    """The tokens of the text files that `sources` name; see zoo.text.read for what these may be.

    The tokens are kept in ZOO_HOME/tokens and mapped from there. A file there is named by the
    digest of the text, the tokenizer and the rules, so it is never out of date, and by that of its
    own content, so that a damaged one is not used.

    Raises:
        TextNotFound, BadEncoding, BadRecord: the text cannot be used.
        hub.CacheError, hub.DiskFull: the tokens cannot be kept.

    >>> load_corpus("book.txt", gpt2_tokenizer()).lines()      # doctest: +SKIP
    ['Found 1 document in 1 file: 338,025 tokens of 1.12 MB of text']
    """
    files = find_files(sources)
    digest = hashlib.sha256(json.dumps([_VERSION, tokenizer.digest, bad_bytes]).encode())
    for path in files:
        # Not the path: the same text elsewhere is the same text.
        digest.update(f"{path.suffix.lower()} {hub.sha256_file(path)}\n".encode())
    fingerprint = digest.hexdigest()
    folder = hub.cache_home() / "tokens"
    kept = find_sealed(folder, fingerprint)
    if kept is None:
        made, size, facts = _tokenised(files, tokenizer, bad_bytes, show_progress)
        try:
            metadata = {"bytes": json.dumps(size), "facts": json.dumps(asdict(facts))}
            kept = write_sealed(folder, fingerprint, made, metadata)
        except (PermissionError, NotADirectoryError, FileExistsError) as error:
            raise Cache(hub.cache_home()).unusable(error) from error
    arrays, metadata = hub.read_safetensors(kept)
    learned = arrays.get("learned")
    return Corpus(
        arrays["tokens"],
        None if learned is None else learned.view(np.bool_),
        arrays["starts"],
        int(json.loads(metadata["bytes"])),
        fingerprint,
        len(files),
        arrays["digests"],
        TextFacts(**json.loads(metadata["facts"])),
    )


def _tokenised(
    files: Sequence[Path], tokenizer: Tokenizer, bad_bytes: str, show_progress: bool
) -> tuple[dict[str, NDArray[Any]], int, TextFacts]:
    kind = np.uint16 if tokenizer.size <= 1 << 16 else np.uint32
    parts: list[NDArray[Any]] = []
    unlearned: list[tuple[int, int]] = []  # spans of prompts
    starts, total, learned_bytes = [0], 0, 0
    digests: list[int] = []
    facts = TextFacts()
    size = sum(path.stat().st_size for path in files)
    with progress_bar(
        show=show_progress, total=size, desc="tokenising", unit="B", unit_scale=True, leave=False
    ) as bar:
        for path in files:
            data = path.read_bytes()
            facts.add_file(data)
            for document in read_documents(path, data, bad_bytes):
                prompt = tokenizer.encode(document.prompt)
                if prompt:
                    unlearned.append((total, total + len(prompt)))
                tokens = [*prompt, *_encoded(document, tokenizer)]
                if tokenizer.end is not None:
                    tokens.append(tokenizer.end)
                parts.append(np.asarray(tokens, kind))
                total += len(tokens)
                starts.append(total)
                learned_bytes += len(document.text.encode())
                digests.append(digest_of(document.prompt + document.text))
                facts.add_document(document.text, document.source)
            bar.update(len(data))
    if not total:
        raise TextNotFound(
            f"{files[0]}{f' and {len(files) - 1} more' if len(files) > 1 else ''}: no text in "
            "there; expected at least one document that is not empty"
        )
    arrays: dict[str, NDArray[Any]] = {
        "tokens": np.concatenate(parts),
        "starts": np.asarray(starts, np.int64),
        "digests": np.asarray(digests, np.uint64),
    }
    if unlearned:
        learned = np.ones(total, np.uint8)
        for start, end in unlearned:
            learned[start:end] = 0
        arrays["learned"] = learned
    return arrays, learned_bytes, facts


def _encoded(document: Document, tokenizer: Tokenizer) -> Iterator[int]:
    for part in parts_of(document.text, _PART):
        yield from tokenizer.encode(part)


def parts_of(text: str, size: int) -> Iterator[str]:
    """A long text in parts whose tokens, one after the other, are those of the whole.

    GPT-2's pieces never go on behind a line feed that is followed by a visible character, and such
    a line feed is a piece of its own: cutting right before it changes nothing.

    >>> list(parts_of("one\\n\\ntwo", 4))
    ['one\\n', '\\ntwo']
    """
    start = 0
    while len(text) - start > size:
        cut = start + size
        while 0 <= (cut := text.find("\n", cut)) and not _visible(text, cut + 1):
            cut += 1
        if cut < 0:
            break
        yield text[start:cut]
        start = cut
    yield text[start:]


def _visible(text: str, at: int) -> bool:
    return at < len(text) and not text[at].isspace()
