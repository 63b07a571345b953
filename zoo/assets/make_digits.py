"""Make `digits.npz`, the data set behind `--data demo`, from scikit-learn's copy.

    pip install scikit-learn
    python zoo/assets/make_digits.py

The result holds `images`, (1797, 8, 8) uint8 with the original values 0 to 16, and `labels`,
(1797,) uint8, in the original order. `digits.LICENSE.md` names authors, source and licence.
"""

from __future__ import annotations

import gzip
import io
import zipfile
from importlib.resources import files
from pathlib import Path

import numpy as np

TARGET = Path(__file__).with_name("digits.npz")
_FIXED_DATE = (1980, 1, 1, 0, 0, 0)  # of zip members, so that no clock gets into the file


def main() -> None:
    source = files("sklearn.datasets.data") / "digits.csv.gz"
    table = np.loadtxt(io.BytesIO(gzip.decompress(source.read_bytes())), delimiter=",")
    arrays = {
        "images": table[:, :64].reshape(-1, 8, 8).astype(np.uint8),
        "labels": table[:, 64].astype(np.uint8),
    }
    with zipfile.ZipFile(TARGET, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array, allow_pickle=False)
            archive.writestr(
                zipfile.ZipInfo(f"{name}.npy", _FIXED_DATE), member.getvalue(), zipfile.ZIP_DEFLATED
            )
    print(f"{TARGET}: {len(arrays['labels'])} digits, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
