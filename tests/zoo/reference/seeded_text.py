"""Text of all kinds, and a megabyte of it from a seed, for make_tokens_golden.py and the tests."""

from __future__ import annotations

import numpy as np

PIECES = (
    "The quick brown fox can't jump; it's 1,234.56 metres -- they'd say \"we'll see\".",
    "y is ?",
    " ?",
    "\ttabs\t\tand   spaces  \n\n\n  indented\n",
    "line one\r\nline two\r\n\r\nline three\r",
    "👩‍👩‍👧 😀🇨🇭 ☃️ 👍🏽",
    "我能吞下玻璃而不伤身体。 日本語のテキスト、カタカナ。 한국어 문장입니다.",
    "Ünïcödé façade naïve Straße œuvre ΑΒΓ αβγ кошка Привет мир שלום עולם مرحبا नमस्ते",
    "def f(x: int) -> int:\n    return {'a': [1, 2, 3], **x}  # comment\n",
    '#include <stdio.h>\nint main(void) { printf("%d\\n", 1 << 3); return 0; }\n',
    "https://example.org/a?b=c&d=%20e#f user@example.org 2001:db8::1",
    "<|endoftext|> <|im_start|>user",
    "I'M SHOUTING, DON'T! x'S y'Ll z'RE",
    "\u00a0non\u2003breaking\u200bzero\ufeffwidth\u2028separators\x00\x07control",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa          bbbbbbbb!!!!!!!!????----====____",
    "½ ² Ⅷ ①  ٣ 𝟘𝟙 𝓪𝓫 ﬁ ﷺ e\u0301 n\u0303",
)


def megabyte() -> str:
    """At least 2^20 bytes of the pieces, whole and cut, in a random order."""
    draw = np.random.RandomState(2019)
    parts, total = [], 0
    while total < 1 << 20:
        piece = PIECES[draw.randint(len(PIECES))]
        part = piece[draw.randint(len(piece)) :] + ("", " ", "\n", "  ")[draw.randint(4)]
        parts.append(part)
        total += len(part.encode())
    return "".join(parts)
