"""Every way text or a tokenizer can fail, one typed error each.

All derive from `TextError`. Each message says what was found, what was expected and what to type
next.
"""

from __future__ import annotations


class TextError(Exception):
    """Text cannot be used as asked; the message says why and what to do.

    >>> issubclass(TextNotFound, TextError)
    True
    """


class TokenizerError(TextError):
    """A tokenizer's file is damaged, or of a kind that cannot be read."""


class TextNotFound(TextError):
    """No file, folder or pattern of that name, or no text in it."""


class BadEncoding(TextError):
    """A file is not UTF-8; the message gives the offset of the first wrong byte."""


class BadRecord(TextError):
    """A line of a JSONL or CSV file does not have the form it should."""


class TooLittleText(TextError):
    """There is not enough text to train or to measure on."""


class GenerateError(TextError, ValueError):
    """A setting of generation has a value that cannot work; the message names it."""
