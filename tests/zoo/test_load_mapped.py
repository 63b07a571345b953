"""Weights are used where they lie: loading copies nothing, and writing reaches no file."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
import hub
import zoo
from engine import nn
from zoo.models import gpt

FIXTURES = Path(__file__).parents[1] / "hub" / "fixtures"


def address(tensor: engine.Tensor) -> int:
    return tensor.detach().numpy().__array_interface__["data"][0]


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def test_fitting_arrays_become_the_parameters_themselves() -> None:
    layer, weight, bias = nn.Linear(3, 2), values(2, 3), values(2)
    layer.load_state_dict({"weight": weight, "bias": bias}, assign=True)
    assert address(layer.weight) == weight.ctypes.data
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad
    weight[0, 0] = 7
    assert layer.weight[0, 0].item() == 7


def test_frozen_parameters_stay_frozen() -> None:
    layer = nn.Linear(3, 2).requires_grad_(False)
    layer.load_state_dict({"weight": values(2, 3), "bias": values(2)}, assign=True)
    assert not layer.weight.requires_grad


@pytest.mark.parametrize(
    "unfit",
    [
        lambda w: w.astype(np.float64),
        lambda w: np.asfortranarray(w),
        lambda w: np.lib.stride_tricks.as_strided(w, writeable=False),
        lambda w: engine.asarray(w).astype(engine.float16),
    ],
    ids=["dtype", "order", "read-only", "tensor of another dtype"],
)
def test_what_does_not_fit_is_copied(unfit) -> None:
    layer, weight = nn.Linear(3, 2), values(2, 3)
    given = unfit(weight)
    layer.load_state_dict({"weight": given, "bias": values(2)}, assign=True)
    assert layer.weight.dtype == engine.float32
    np.testing.assert_allclose(layer.weight.detach().numpy(), weight, rtol=1e-3)
    with engine.no_grad():
        layer.weight.add_(1.0)  # its own memory, which can be written to


def test_two_keys_over_one_memory_do_not_become_one_parameter() -> None:
    model, shared = nn.Sequential(nn.Linear(2, 2, False), nn.Linear(2, 2, False)), values(3, 2)
    model.load_state_dict({"0.weight": shared[:2], "1.weight": shared[1:]}, assign=True)
    with engine.no_grad():
        model[0].weight.fill_(9.0)
    assert np.array_equal(model[1].weight.detach().numpy()[1], shared[2])
    assert model[1].weight[0, 0].item() != 9.0


def test_tied_parameters_stay_tied() -> None:
    model = nn.Sequential(nn.Linear(2, 2, False), nn.Linear(2, 2, False))
    model[1].weight = model[0].weight
    weight = values(2, 2)
    model.load_state_dict({"0.weight": weight, "1.weight": weight}, assign=True)
    assert model[1].weight is model[0].weight
    assert np.array_equal(model[0].weight.detach().numpy(), weight)


def test_buffers_are_replaced_too() -> None:
    norm = nn.BatchNorm2d(2)
    state = {key: value.numpy().copy() for key, value in norm.state_dict().items()}
    norm.load_state_dict(state, assign=True)
    assert address(norm.running_mean) == state["running_mean"].ctypes.data
    norm(engine.asarray(values(4, 2, 3, 3)))
    assert state["running_mean"].any() and norm.num_batches_tracked.item() == 1


def test_a_refused_dict_replaces_nothing() -> None:
    layer = nn.Linear(3, 2)
    before = address(layer.weight)
    with pytest.raises(nn.StateDictError):
        layer.load_state_dict({"weight": values(2, 3), "bias": values(3)}, assign=True)
    assert address(layer.weight) == before


@pytest.mark.parametrize("kind", ["safetensors", "pth"])
def test_writing_to_a_mapped_array_leaves_the_file_alone(tmp_path: Path, kind: str) -> None:
    if kind == "safetensors":
        path = tmp_path / "w"
        hub.write_safetensors(path, {"w": values(4, 4)})
    else:
        path = FIXTURES / "training.pth"
    before = path.read_bytes()
    for array in hub.read_state_dict(path, writable=True).values():
        array.fill(3)
        assert array.size == 0 or (array == 3).all()
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="read-only"):
        next(iter(hub.read_state_dict(path).values())).fill(3)


def test_training_a_loaded_model_leaves_its_file_alone(tmp_path: Path) -> None:
    model = zoo.load("resnet20", weights=None, num_classes=3)
    path = tmp_path / "w.safetensors"
    hub.write_safetensors(path, {key: value.numpy() for key, value in model.state_dict().items()})
    digest = hub.sha256_file(path)
    loaded = zoo.load("resnet20", weights=path).train()
    optimizer = engine.optim.SGD(loaded.parameters(), 0.1)
    loaded(engine.asarray(values(2, 3, 32, 32))).sum().backward()
    optimizer.step()
    assert not np.array_equal(
        loaded.conv1.weight.detach().numpy(), model.conv1.weight.detach().numpy()
    )
    assert hub.sha256_file(path) == digest


def hollow_file(path: Path, shapes: dict[str, tuple[int, ...]]) -> int:
    """A .safetensors of float32 zeros that take no room on the disk; its size in bytes."""
    entries, end = {}, 0
    for name, shape in shapes.items():
        start, end = end, end + 4 * math.prod(shape)
        entries[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + end)
    return end


PROGRAM = """
import sys
import engine, hub
from engine import nn
from zoo.models import gpt

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6

engine.matmul(engine.ones((64, 64)), engine.ones((64, 64)))
before = resident()
with nn.init.skip_random():
    model = nn.Sequential(nn.Linear(8192, 8192, False), nn.Linear(8192, 8192, False))
built = resident() - before
model.load_state_dict(hub.read_state_dict(sys.argv[1], writable=True), assign=True)
loaded = resident() - before
with engine.no_grad():
    assert float(model[0].weight[:512].sum()) == 0.0
print(built, loaded, resident() - before)
"""


def test_memory_grows_by_what_is_touched_only(tmp_path: Path) -> None:
    """Two layers of 268 MB each: building and loading take nothing, reading rows takes theirs."""
    path = tmp_path / "large.safetensors"
    hollow_file(path, {"0.weight": (8192, 8192), "1.weight": (8192, 8192)})
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True
    )
    built, loaded, read = map(float, done.stdout.split())
    assert built < 16 and loaded < 16
    assert 16 < read < 64


LARGEST = """
import sys
import engine, zoo

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6

zoo.load("gpt_shakespeare")  # what the first use of anything brings
before = resident()
model = zoo.load("gpt2-xl", sys.argv[1])
loaded = resident() - before
with engine.no_grad():
    logits = model.wte(engine.asarray([[0, 50256]]))
print(model.num_parameters, loaded, resident() - before)
"""


@pytest.mark.slow
def test_the_largest_gpt2_is_mapped_not_read(tmp_path: Path) -> None:
    """6.2 GB of weights, which take half a minute to hash; the process grows by a hundredth."""
    with nn.init.skip_random():
        keys = {k: v.shape for k, v in gpt.build("gpt2-xl").state_dict().items()}
    path = tmp_path / "gpt2-xl.safetensors"
    assert hollow_file(path, keys) > 6.2e9
    done = subprocess.run(
        [sys.executable, "-c", LARGEST, str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    parameters, loaded, used = map(float, done.stdout.split())
    assert parameters > 1.5e9 and loaded < 60 and used < 60
