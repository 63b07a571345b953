"""Products, convolutions and NCCL through libraries that stand for NVIDIA's, on the emulation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine import _C
from tests.gpu import stand_ins
from tests.gpu.device.runs import LOAD

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def folder(device: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if _C._backend_info()["name"] != "emulation":
        pytest.skip("stands for libraries that a GPU has itself")
    made = tmp_path_factory.mktemp("libraries")
    for name in ("cublaslt", "cudnn", "nccl"):
        stand_ins.build(name, made)
    return made


def run(code: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    start = LOAD + (
        "import ctypes\nimport numpy as np\nimport engine\n"
        "from engine.nn import functional as F\nfrom engine.cuda import nccl\n"
    )
    return subprocess.run(
        [sys.executable, "-c", start + code], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "ZOO_CUDA_LIBRARIES": str(folder), **env},
    )  # fmt: skip


def passes(code: str, folder: Path) -> None:
    done = run(code, folder, ZOO_CUDA_REQUIRE_LIBRARIES="1")
    assert done.returncode == 0, done.stdout + done.stderr


def test_products_of_every_layout_go_through_cublaslt(folder: Path) -> None:
    passes(
        """
blas = ctypes.CDLL(os.environ["ZOO_CUDA_LIBRARIES"] + "/libcublasLt.so.13")
blas.fake_products.restype = ctypes.c_int64
rng = np.random.default_rng(0)
for dtype in ("float32", "float64"):
    def make(*shape):
        return engine.asarray(rng.standard_normal(shape).astype(dtype))
    cases = [
        (make(5, 7), make(7, 3)), (make(7, 5).T, make(7, 3)), (make(5, 7), make(3, 7).T),
        (make(7, 5).T, make(3, 7).T), (make(1, 7), make(7, 1)), (make(5, 1), make(1, 3)),
        (make(1, 1), make(1, 4)), (make(4, 5, 7), make(4, 7, 3)), (make(4, 5, 7), make(7, 3)),
        (make(9, 7)[2:7], make(7, 8)[:, 1:4]), (make(2, 3, 4, 5), make(2, 3, 5, 4)),
        (make(2, 5, 3, 4).swapaxes(1, 2), make(2, 3, 4, 5)),
    ]
    for a, b in cases:
        before = blas.fake_products()
        there = engine.matmul(a.to("cuda"), b.to("cuda")).to("cpu").numpy()
        assert blas.fake_products() > before, (a.shape, a.strides(), b.shape, b.strides())
        np.testing.assert_allclose(there, a.numpy() @ b.numpy(), rtol=2e-5, atol=1e-5)
    x, w, bias = make(6, 5), make(4, 5), make(4)
    y = F.linear(x.to("cuda"), w.to("cuda"), bias.to("cuda")).to("cpu").numpy()
    np.testing.assert_allclose(y, x.numpy() @ w.numpy().T + bias.numpy(), rtol=2e-5, atol=1e-5)
for narrow in (engine.float16, engine.bfloat16):
    x, w, bias = (
        engine.asarray(rng.standard_normal(s)).astype(narrow) for s in ((6, 5), (4, 5), 4)
    )
    before = blas.fake_products()
    y = F.linear(x.to("cuda"), w.to("cuda"), bias.to("cuda"))
    assert y.dtype == narrow and blas.fake_products() == before + 1
    x, w, bias, y = (t.to("cpu").astype(engine.float32).numpy() for t in (x, w, bias, y))
    np.testing.assert_allclose(y, x @ w.T + bias, rtol=1e-2, atol=2e-2)
# What cuBLASLt takes in no layout is multiplied all the same.
a, b = make(8, 14)[:, ::2], make(7, 6)[:, ::2]
there = engine.matmul(a.to("cuda"), b.to("cuda")).to("cpu").numpy()
np.testing.assert_allclose(there, a.numpy() @ b.numpy(), rtol=1e-6)
""",
        folder,
    )


def test_convolutions_go_through_cudnn(folder: Path) -> None:
    passes(
        """
dnn = ctypes.CDLL(os.environ["ZOO_CUDA_LIBRARIES"] + "/libcudnn.so.9")
dnn.fake_convolutions.restype = ctypes.c_int64
rng = np.random.default_rng(0)
for dtype in ("float32", "float64", "bfloat16", "float16"):
    narrow = dtype.endswith("16")
    for groups, stride, padding, dilation, size, last in (
        (1, 1, 1, 1, 3, False), (1, 2, 0, 1, 1, False), (2, 1, 2, 2, 3, True),
        (4, 2, 1, 1, 2, True),
    ):
        def make(*shape):
            return engine.asarray(rng.standard_normal(shape)).astype(getattr(engine, dtype))
        x, w, bias = make(2, 4, 7, 6), make(8, 4 // groups, size, size), make(8)
        if last:  # channels-last in memory: cuDNN reads it where it lies
            w = make(8, size, size, 4 // groups).permute_dims(0, 3, 1, 2)
        results = []
        for device in ("cpu", "cuda"):
            inputs = [t.detach().to(device) for t in (x, w, bias)]
            for t in inputs:
                t.requires_grad = True
            before = dnn.fake_convolutions()
            y = F.conv2d(*inputs, stride=stride, padding=padding, dilation=dilation, groups=groups)
            (y * y).sum().backward()
            assert dnn.fake_convolutions() - before == (3 if device == "cuda" else 0)
            results.append([
                t.to("cpu").detach().astype(engine.float64).numpy()
                for t in (y, *(t.grad for t in inputs))
            ])
        bound = 0.02 if narrow else 1e-5
        for here, there in zip(*results, strict=True):
            np.testing.assert_allclose(there, here, rtol=bound, atol=bound * abs(here).max())
""",
        folder,
    )


def test_a_missing_library_is_an_error_only_where_libraries_are_required(
    folder: Path, tmp_path: Path
) -> None:
    code = "x = engine.ones((2, 2), device='cuda')\nprint(engine.matmul(x, x).tolist())"
    stand_ins.build("cublaslt", tmp_path, VERSION=120800)  # too old
    done = run(code, tmp_path)
    assert done.stdout == "[[2.0, 2.0], [2.0, 2.0]]\n", done.stderr
    done = run(code, tmp_path, ZOO_CUDA_REQUIRE_LIBRARIES="1")
    assert done.returncode == 1
    assert "is version 12.8.0; expected 13.0.0 or newer, and below 14.0.0" in done.stderr
    assert "pip install 'nvidia-cublas>=13,<14'" in done.stderr


def test_nccl_does_what_it_is_told(folder: Path) -> None:
    passes(
        """
lib = ctypes.CDLL(os.environ["ZOO_CUDA_LIBRARIES"] + "/libnccl.so.2")
lib.fake_log.restype = ctypes.c_char_p
def told():
    lines = lib.fake_log().decode().splitlines()
    new = lines[told.seen:]
    told.seen = len(lines)
    return new
told.seen = 0
key = nccl.unique_id()
assert len(key) == 128 and key[127:] == b"z"
with nccl.Communicator(1, 2, key, "cuda:0") as group:
    x = engine.asarray([1.0, 2.0, 3.0], device="cuda")
    group.all_reduce(x)
    assert x.tolist() == [2.0, 4.0, 6.0]
    group.all_reduce(x, "avg")
    assert x.tolist() == [2.0, 4.0, 6.0]
    assert told() == ["init 1 of 2", "all_reduce count=3 dtype=7 op=0",
                      "all_reduce count=3 dtype=7 op=4"]
    group.broadcast(engine.zeros((2, 5), dtype=engine.bfloat16, device="cuda"), root=1)
    assert told() == ["broadcast count=10 dtype=9 op=1"]
    everything = engine.zeros((2, 3), device="cuda")
    group.all_gather(everything, x)
    assert everything.tolist() == [[2.0, 4.0, 6.0]] * 2
    mine = engine.zeros(3, device="cuda")
    group.reduce_scatter(mine, engine.arange(6, dtype=engine.float32, device="cuda"))
    assert mine.tolist() == [6.0, 8.0, 10.0]
    assert told() == ["all_gather count=3 dtype=7 op=-1", "reduce_scatter count=3 dtype=7 op=0"]
    with group.together():
        group.all_reduce(x)
    assert told() == ["start", "all_reduce count=3 dtype=7 op=0", "end"]
    group.check()
    for wrong, kind, text in (
        (lambda: group.all_reduce(engine.zeros(2)), ValueError, "on 'cpu', this rank's are on"),
        (lambda: group.all_reduce(engine.zeros((4, 4), device="cuda").T), ValueError, "contiguous"),
        (lambda: group.all_reduce(x > 0), TypeError, "bool; expected one of int8"),
        (lambda: group.all_reduce(x, "mean"), ValueError, "op 'mean'; expected one of sum"),
        (lambda: group.broadcast(x, root=2), ValueError, "root 2; expected 0 to 1"),
        (lambda: group.all_gather(x, x), ValueError, "2 times the elements"),
        (lambda: group.reduce_scatter(mine, everything.astype(engine.float64)), TypeError, "agree"),
    ):
        try:
            wrong()
        except kind as error:
            assert text in str(error), error
        else:
            raise AssertionError(text)
    assert told() == []
assert told() == ["destroy"]
group.close()
try:
    group.all_reduce(x)
except nccl.NcclError as error:
    assert "is closed" in str(error)
lost = nccl.Communicator(0, 2, key, "cuda:0")
lib.fake_break()
try:
    lost.check()
except nccl.NcclError as error:
    assert "remote process exited" in str(error) and "NCCL_DEBUG" in str(error)
else:
    raise AssertionError("a broken connection went unnoticed")
del lost
assert told() == ["init 0 of 2", "abort"]
for rank, world, given in ((2, 2, key), (0, 0, key), (0, 1, key[:5])):
    try:
        nccl.Communicator(rank, world, given, "cuda:0")
    except ValueError:
        continue
    raise AssertionError((rank, world))
""",
        folder,
    )
