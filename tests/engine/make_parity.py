"""Stores what PyTorch says to the parity cases, in tests/engine/golden/parity.npz.

    python -m tests.engine.make_parity          # with PyTorch 2.13 installed

The tests read the file; they need no PyTorch.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.engine.parity import Library, outcome
from tests.engine.parity_cases import CASES
from tests.engine.parity_layers import LAYER_CASES

GOLDEN = Path(__file__).parent / "golden" / "parity.npz"


class Functions:
    def __getattr__(self, name: str) -> Any:
        return getattr(torch.nn.functional, name, None) or getattr(torch, name)


class Torch(Library):
    F = Functions()
    nn = torch.nn

    def t(self, value: Any) -> Any:
        return torch.as_tensor(np.asarray(value))

    def leaf(self, value: np.ndarray) -> Any:
        return torch.tensor(value, requires_grad=True)

    def set_state(self, layer: Any, values: dict[str, np.ndarray]) -> Any:
        layer = layer.double()
        layer.load_state_dict({key: torch.as_tensor(value) for key, value in values.items()})
        return layer

    def is_float(self, tensor: Any) -> bool:
        return tensor.is_floating_point()


def main() -> int:
    cases = [*CASES, *LAYER_CASES]
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), "two cases have one name"
    GOLDEN.parent.mkdir(exist_ok=True)
    results = {}
    for case in cases:
        try:
            results[case.name] = outcome(case, Torch())
        except Exception as error:
            print(f"{case.name}: {error!r}", file=sys.stderr)
            return 1
    # One array of numbers and where each case starts: a file of hundreds would be mostly headers.
    ends = np.cumsum([len(v) for v in results.values()])
    np.savez_compressed(
        GOLDEN, names=np.array(list(results)), ends=ends, values=np.concatenate([*results.values()])
    )
    print(f"{len(results)} cases, {ends[-1]} numbers, {GOLDEN.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
