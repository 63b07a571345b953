"""Weights of gpt2's size are mapped, not read: quick, and memory grows by what is touched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
WIDTH, LAYERS = 768, 12
PROGRAM = """
import os, sys, time
sys.path.insert(0, {root!r})
import numpy, hub, hub.state_dict

def resident():
    # Bytes of pages that this process has in memory, mapped files' among them.
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

before, began = resident(), time.process_time()
state = hub.read_state_dict(sys.argv[1], **{options!r})
seconds = time.process_time() - began
opened = resident()
total = sum(array.nbytes for array in state.values())
touched = state["wpe.weight"].view("u1").max()
print(seconds, opened - before, resident() - opened, total, state["wpe.weight"].nbytes)
"""


def gpt2_shapes() -> dict[str, list[int]]:
    """Names and shapes of the published file, masks included."""
    shapes: dict[str, list[int]] = {"wte.weight": [50257, WIDTH], "wpe.weight": [1024, WIDTH]}
    for layer in range(LAYERS):
        block = {
            "ln_1.weight": [WIDTH], "ln_1.bias": [WIDTH], "attn.bias": [1, 1, 1024, 1024],
            "attn.c_attn.weight": [WIDTH, 3 * WIDTH], "attn.c_attn.bias": [3 * WIDTH],
            "attn.c_proj.weight": [WIDTH, WIDTH], "attn.c_proj.bias": [WIDTH],
            "ln_2.weight": [WIDTH], "ln_2.bias": [WIDTH],
            "mlp.c_fc.weight": [WIDTH, 4 * WIDTH], "mlp.c_fc.bias": [4 * WIDTH],
            "mlp.c_proj.weight": [4 * WIDTH, WIDTH], "mlp.c_proj.bias": [WIDTH],
        }  # fmt: skip
        shapes |= {f"h.{layer}.{name}": shape for name, shape in block.items()}
    return shapes | {"ln_f.weight": [WIDTH], "ln_f.bias": [WIDTH]}


def write_hollow(path: Path, dtype: str, size: int) -> int:
    """A file of gpt2's layout that takes no room: its data are holes. Returns its size."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, shape in gpt2_shapes().items():
        end = at + size
        for n in shape:
            end = at + (end - at) * n
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        f.truncate(8 + len(text) + at)
    return path.stat().st_size


def opened(path: Path, **options: Any) -> list[float]:
    program = PROGRAM.format(root=str(ROOT), options=options)
    result = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    return [float(word) for word in result.stdout.split()]


@pytest.mark.skipif(sys.platform != "linux", reason="counts pages in /proc")
@pytest.mark.parametrize(
    ("dtype", "size", "options"),
    [("F32", 4, {}), ("F16", 2, {}), ("BF16", 2, {"widen_bfloat16": False})],
)
def test_half_a_gigabyte_is_mapped_at_once(
    tmp_path: Path, dtype: str, size: int, options: dict[str, Any]
) -> None:
    path = tmp_path / "model.safetensors"
    whole = write_hollow(path, dtype, size)
    if dtype == "F32":
        assert 548_000_000 < whole < 549_000_000
    seconds, by_opening, by_touching, total, part = opened(path, **options)
    assert seconds < 0.3
    assert total > 0.99 * whole
    # The header, its names and 150 arrays; and at most what the kernel reads ahead.
    assert by_opening < 8_000_000
    assert part <= by_touching < part + 4_000_000
