"""Text to tokens and back, by byte-level byte-pair encoding (Sennrich et al., arXiv:1508.07909;
Radford et al. 2019, section 2.2). Nothing is lost: any bytes come back as they were.

tiktoken does the encoding, from tables that this module reads and checks; it never downloads.
"""

from __future__ import annotations

import bz2
import codecs
import functools
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.strict_json import strict_json
from zoo.text.errors import TokenizerError

if TYPE_CHECKING:
    import tiktoken

END_OF_TEXT = "<|endoftext|>"
GPT2_SIZE = 50257  # tokens of GPT-2's vocabulary
# How GPT-2 cuts text into the pieces inside of which bytes are paired: contractions, words, numbers
# and signs, each with a space before it, and what is left of white space.
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

_MOST_TOKENS = 1 << 24  # a model has a row for each number; the largest vocabularies have 2^18
_MERGES = Path(__file__).resolve().parent.parent / "assets" / "gpt2.merges.txt.bz2"
# Of the published merges.txt, and of the vocab.json that follows from it.
_MERGES_SHA256 = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"


class Tokenizer:
    """A vocabulary of byte strings and the order in which pairs become one.

    Args:
        ranks: token number by byte string, all 256 single bytes among them; of two pairs that
            could be joined, the one whose result has the lower number is joined first.
        special: token number by text, of tokens that no pair gives, such as the end of a text.
        source: where the tables are from, for people.

    Attributes:
        size: 1 + the highest token number.
        end: the number of "<|endoftext|>", or None.

    >>> tokenizer = gpt2_tokenizer()
    >>> tokenizer.encode("y is ?")
    [88, 318, 5633]
    >>> tokenizer.decode([88, 318, 5633])
    'y is ?'
    """

    def __init__(self, ranks: Mapping[bytes, int], special: Mapping[str, int], source: str) -> None:
        lacking = [value for value in range(256) if bytes([value]) not in ranks]
        if lacking:
            raise TokenizerError(
                f"{source}: {len(lacking)} of the 256 single bytes have no token (byte "
                f"0x{lacking[0]:02x} is the first); expected a byte-level vocabulary, as GPT-2's"
            )
        numbers = [*ranks.values(), *special.values()]
        wrong = [n for n in numbers if type(n) is not int or not 0 <= n < _MOST_TOKENS]
        if wrong:
            raise TokenizerError(
                f"{source}: a token has the number {str(wrong[0])[:40]}; expected whole numbers "
                f"from 0, below {_MOST_TOKENS:,}"
            )
        if len(set(numbers)) != len(numbers):
            raise TokenizerError(f"{source}: two tokens have the same number")
        if not all(text and _encodable(text) for text in special):
            raise TokenizerError(f"{source}: a special token is empty or no text")
        self.ranks = dict(ranks)
        self.special = dict(special)
        self.source = source
        self.size = max(numbers) + 1
        self.end = self.special.get(END_OF_TEXT)

    @functools.cached_property
    def _encoding(self) -> tiktoken.Encoding:
        import tiktoken

        return tiktoken.Encoding(
            "zoo", pat_str=GPT2_PATTERN, mergeable_ranks=self.ranks, special_tokens=self.special
        )

    @functools.cached_property
    def _bytes_of(self) -> dict[int, bytes]:
        by_number = {number: token for token, number in self.ranks.items()}
        return by_number | {number: text.encode() for text, number in self.special.items()}

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256, hex, over all that decides how text is cut: equal for equal tokenizers."""
        rows = [(number, token.hex()) for token, number in self.ranks.items()]
        table = [sorted(rows), sorted(self.special.items()), GPT2_PATTERN]
        return hashlib.sha256(json.dumps(table).encode()).hexdigest()

    def encode(self, text: str, special: bool = False) -> list[int]:
        """The tokens of a text.

        Args:
            text: any; surrogates that stand for bytes (`surrogateescape`) become those bytes.
            special: whether the names of special tokens in it mean those tokens. Off, they are
                plain text, so that what a user writes cannot end a text or forge a turn.

        >>> gpt2_tokenizer().encode("<|endoftext|>", special=True)
        [50256]
        """
        try:
            text.encode()
        except UnicodeEncodeError:
            return self.encode_bytes(text.encode("utf-8", "surrogateescape"))
        if special:
            return self._encoding.encode(text, allowed_special="all")
        return self._encoding.encode_ordinary(text)

    def encode_bytes(self, data: bytes) -> list[int]:
        """The tokens of any bytes: of its text where it is UTF-8, and one for each other byte.

        >>> gpt2_tokenizer().decode_bytes(gpt2_tokenizer().encode_bytes(b"a\\xff"))
        b'a\\xff'
        """
        tokens: list[int] = []
        while data:
            try:
                return tokens + self._encoding.encode_ordinary(data.decode("utf-8"))
            except UnicodeDecodeError as error:
                good, bad = data[: error.start], data[error.start : error.end]
                tokens += self._encoding.encode_ordinary(good.decode("utf-8"))
                tokens += [self.ranks[bad[i : i + 1]] for i in range(len(bad))]
                data = data[error.end :]
        return tokens

    def decode_bytes(self, tokens: Iterable[int]) -> bytes:
        """The bytes of tokens, exactly those that were encoded.

        Raises:
            TokenizerError: a number that is no token's.
        """
        try:
            return b"".join([self._bytes_of[int(token)] for token in tokens])
        except KeyError as error:
            raise TokenizerError(
                f"token {error.args[0]} is not in the vocabulary of {self.source}, which has "
                f"{len(self._bytes_of)} tokens"
            ) from None

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of tokens; bytes that are no whole character become U+FFFD.

        >>> gpt2_tokenizer().decode([8582])   # the first half of an emoji
        '\\ufffd'
        """
        return self.decode_bytes(tokens).decode("utf-8", "replace")

    def stream(self) -> StreamDecoder:
        """A decoder for tokens that come one by one."""
        return StreamDecoder(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: GPT-2's by name and digest, any other with its tables."""
        if self.digest == gpt2_tokenizer().digest:
            return {"name": "gpt2", "sha256": self.digest}
        ordered = sorted(self.ranks.items(), key=lambda pair: pair[1])
        return {
            "tokens": [[number, token.hex()] for token, number in ordered],
            "special": self.special,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], source: str) -> Tokenizer:
        """The inverse of `to_dict`.

        Raises:
            TokenizerError: values of another form, or another GPT-2 vocabulary than the packaged.
        """
        if values.get("name") == "gpt2":
            if values.get("sha256") != gpt2_tokenizer().digest:
                raise TokenizerError(f"{source}: made with another GPT-2 vocabulary than this one")
            return gpt2_tokenizer()
        try:
            ranks = {bytes.fromhex(token): number for number, token in values["tokens"]}
            special = dict(values["special"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TokenizerError(
                f"{source}: its tokenizer cannot be read ({error}); expected tokens and special"
            ) from error
        return cls(ranks, special, source)


class StreamDecoder:
    """Text of tokens as they come; a character is given out when its last byte is there.

    >>> decoder = gpt2_tokenizer().stream()
    >>> [decoder.push(token) for token in gpt2_tokenizer().encode("\N{GRINNING FACE}!")]
    ['', '\N{GRINNING FACE}', '!']
    >>> decoder.finish()
    ''
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token: int) -> str:
        """What can be said after one more token; '' in the middle of a character."""
        return self._decoder.decode(self._tokenizer.decode_bytes([token]))

    def finish(self) -> str:
        """What is left: U+FFFD for half a character, else ''."""
        return self._decoder.decode(b"", final=True)


@functools.cache
def gpt2_tokenizer() -> Tokenizer:
    """GPT-2's vocabulary: 50,257 tokens, shipped inside the package and verified on first use.

    Raises:
        TokenizerError: the packaged file is damaged.

    >>> gpt2_tokenizer().size
    50257
    """
    try:
        merges = bz2.decompress(_MERGES.read_bytes())
        digest = hashlib.sha256(merges).hexdigest()
    except (OSError, ValueError, EOFError):
        merges, digest = b"", "missing"
    if digest != _MERGES_SHA256:
        raise TokenizerError(
            f"{_MERGES}, GPT-2's vocabulary, is damaged: its SHA-256 is {digest}, expected "
            f"{_MERGES_SHA256}. Install the package again: pip install --force-reinstall zoo"
        )
    return _from_tables(_published_vocab(merges.decode()), _pairs(merges.decode()), "gpt2")


@functools.cache
def byte_tokenizer() -> Tokenizer:
    """A token for each byte, and one for the end of a text: 257 in all.

    >>> byte_tokenizer().encode("hi")
    [104, 105]
    """
    return Tokenizer({bytes([value]): value for value in range(256)}, {END_OF_TEXT: 256}, "bytes")


def _published_vocab(merges: str) -> dict[str, int]:
    """What GPT-2's vocab.json holds: the single bytes, the results of the merges, the end."""
    tokens = [*byte_letters().values(), *("".join(pair) for pair in _pairs(merges)), END_OF_TEXT]
    return {token: number for number, token in enumerate(tokens)}


def load_tokenizer(path: str | Path) -> Tokenizer:
    """The tokenizer of a folder with `tokenizer.json`, or with `vocab.json` and `merges.txt`; or of
    a `tokenizer.json`.

    Raises:
        TokenizerError: neither is there, or it is no byte-level BPE with GPT-2's way of cutting.

    >>> load_tokenizer("gpt2-from-elsewhere").size      # doctest: +SKIP
    50257
    """
    path = Path(path)
    whole = path / "tokenizer.json" if path.is_dir() else path
    try:
        if whole.is_file():
            return from_tokenizer_json(strict_json(whole.read_bytes()), str(whole))
        vocab, merges = path / "vocab.json", path / "merges.txt"
        if vocab.is_file() and merges.is_file():
            table = strict_json(vocab.read_bytes())
            return _from_tables(table, _pairs(merges.read_text("utf-8")), str(vocab))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise TokenizerError(
            f"{path}: the tokenizer cannot be read ({type(error).__name__}: {error})"
        ) from error
    raise TokenizerError(
        f"{path}: no tokenizer here. Expected tokenizer.json, or vocab.json and merges.txt"
    )


def from_tokenizer_json(table: Mapping[str, Any], source: str) -> Tokenizer:
    model, cutter = table["model"], table.get("pre_tokenizer") or {}
    plain = cutter.get("type") == "ByteLevel" and not cutter.get("add_prefix_space")
    if model.get("type") != "BPE" or not plain or table.get("normalizer"):
        raise TokenizerError(
            f"{source}: a {model.get('type')} tokenizer with {cutter.get('type')} pieces; expected "
            "BPE with ByteLevel pieces, no added prefix space and no normalizer, as GPT-2's"
        )
    pairs = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]
    added = {token["content"]: token["id"] for token in table.get("added_tokens", [])}
    return _from_tables({**model["vocab"], **added}, pairs, source)


def _pairs(merges: str) -> list[tuple[str, ...]]:
    lines = merges.split("\n")
    return [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]


def _from_tables(
    vocab: Mapping[str, int], pairs: Sequence[tuple[str, ...]], source: str
) -> Tokenizer:
    """From tables in which bytes are written as letters."""
    value_of = {letter: value for value, letter in byte_letters().items()}
    made = {*value_of, *("".join(pair) for pair in pairs)}
    joined = [vocab["".join(pair)] for pair in pairs]
    if any(later <= earlier for earlier, later in zip(joined, joined[1:], strict=False)):
        raise TokenizerError(
            f"{source}: the numbers of the tokens do not rise in the order of the merges; expected "
            "them to, as in GPT-2's files"
        )
    ranks = {bytes([value_of[c] for c in t]): n for t, n in vocab.items() if t in made}
    return Tokenizer(ranks, {t: n for t, n in vocab.items() if t not in made}, source)


@functools.cache
def byte_letters() -> dict[int, str]:
    """The letter that stands for each byte in published vocabularies, in the order of their first
    256 tokens: itself where it is visible, else the next letter from U+0100 on.

    >>> byte_letters()[ord(" ")]
    '\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}'
    """
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [value for value in range(256) if value not in visible]
    letters = {value: chr(value) for value in visible}
    return letters | {value: chr(0x100 + i) for i, value in enumerate(rest)}


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
