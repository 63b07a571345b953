"""The examples of engine/EXTENDING.md: one operation in Python, C++, Numba and Cython.

Those that need another compiler than the system's have the marker `interop`.
"""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pybind11
import pytest

import engine
from tests.engine.extensions.plain_function import soft_threshold as plain
from tests.gradcheck import gradcheck, gradgradcheck
from tests.threads import assert_same_for_any_thread_count

FOLDER = Path(__file__).parent / "extensions"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
Operation = Callable[[engine.Tensor, float], engine.Tensor]


def load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_cpp(source: Path, folder: Path) -> Path:
    """The shared library that the system's C++ compiler makes of one file."""
    out = folder / f"{source.stem}{SUFFIX}"
    compiler = shlex.split(sysconfig.get_config_var("CXX") or "c++")[0]
    extra = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    command = [
        compiler, "-O1", "-std=c++17", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", *extra,
        f"-I{sysconfig.get_path('include')}", f"-I{pybind11.get_include()}",
        f"-I{engine.get_include()}", str(source), "-o", str(out),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("extension")
    return load("soft_threshold", compile_cpp(FOLDER / "soft_threshold.cpp", folder))


def check(operation: Operation) -> None:
    """What every version must do: values, any layout and dtype, gradients, errors."""
    rng = np.random.default_rng(0)
    a = rng.uniform(-2, 2, (3, 4))
    expected = np.sign(a) * np.maximum(np.abs(a) - 0.5, 0)
    np.testing.assert_allclose(operation(engine.asarray(a), 0.5).numpy(), expected)
    np.testing.assert_allclose(operation(engine.asarray(a).T, 0.5).numpy(), expected.T)
    y = operation(engine.asarray(a.astype(np.float32)), 0.5)
    assert y.dtype == engine.float32
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-6, atol=1e-7)
    assert operation(engine.zeros((0, 3)), 0.5).shape == (0, 3)
    gradcheck(lambda x: operation(x, 0.5), [a])
    gradcheck(lambda x: operation(x.T * 2.0, 0.5), [a])
    with pytest.raises(ValueError, match="soft_threshold: t .*must not be negative"):
        operation(engine.asarray(a), -1.0)


def check_refuses_second_gradients(operation: Operation) -> None:
    x = engine.asarray([2.0])
    x.requires_grad = True
    with pytest.raises(engine.AutogradError, match="declared differentiable once"):
        engine.grad(operation(x, 0.5), x, create_graph=True)


def test_plain_python() -> None:
    check(plain)
    gradgradcheck(lambda x: plain(x, 0.5) ** 2.0, [np.array([1.0, 0.1, -2.0])])


def test_cpp(compiled: ModuleType) -> None:
    check(compiled.soft_threshold)
    check_refuses_second_gradients(compiled.soft_threshold)


def test_cpp_errors_name_the_operation_and_its_line(compiled: ModuleType) -> None:
    with pytest.raises(TypeError, match="expected a tensor of float32, got int64"):
        compiled.soft_threshold(engine.arange(3), 0.5)
    with pytest.raises(TypeError):
        compiled.soft_threshold("word", 0.5)
    x = engine.asarray([1.0])
    x.requires_grad = True
    y = compiled.soft_threshold(x, 0.5)
    y.detach().fill_(1)
    where = r"'soft_threshold' \(.*test_extensions.py:\d+\).*in place"
    with pytest.raises(engine.AutogradError, match=where):
        y.backward()


def test_cpp_uses_the_engines_threads(compiled: ModuleType) -> None:
    x = engine.asarray(np.random.default_rng(0).standard_normal(100_000))
    assert_same_for_any_thread_count(lambda: [compiled.soft_threshold(x, 0.5)])


KIT = """
#include <zoo/extension.h>
#include <stdexcept>
namespace ext = zoo::extension;
PYBIND11_MODULE(kit, m) {
  m.def("double_in_place", [](ext::Tensor t) {
    t.will_change("double_in_place");
    float* x = t.data<float>();
    for (int64_t i = 0; i < t.numel(); ++i) x[i] *= 2;
  });
  m.def("describe", [](ext::Tensor t) {
    return pybind11::make_tuple(t.dtype(), t.shape(), t.ndim() > 0 ? t.stride(-1) : 0,
                                t.is_contiguous(), t.defined());
  });
  m.def("throws", [] {
    ext::parallel_for(0, 100, 1, [](int64_t, int64_t) { throw std::invalid_argument("inside"); });
  });
  m.def("make", [](std::vector<int64_t> shape, std::string dtype) {
    return ext::empty(shape, dtype);
  });
}
"""


def test_the_rest_of_the_kit(tmp_path: Path) -> None:
    source = tmp_path / "kit.cpp"
    source.write_text(KIT)
    kit = load("kit", compile_cpp(source, tmp_path))
    t = engine.zeros((2, 3)).T
    assert kit.describe(t) == ("float32", [3, 2], 3, False, True)
    assert kit.make([2, 0], "bool").dtype == engine.bool
    with pytest.raises(TypeError, match="no dtype|float33"):
        kit.make([2], "float33")
    with pytest.raises(ValueError, match="inside"):
        kit.throws()
    with pytest.raises(ValueError, match="expected a contiguous tensor"):
        kit.double_in_place(t)
    x = engine.ones(2)
    x.requires_grad = True
    with pytest.raises(engine.AutogradError, match="double_in_place: a leaf"):
        kit.double_in_place(x)
    y = engine.exp(x)
    kit.double_in_place(y.detach())
    with pytest.raises(engine.AutogradError, match="in place"):
        y.sum().backward()
    frozen = np.ones(2, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="double_in_place: .*read-only"):
        kit.double_in_place(engine.from_numpy(frozen))


def test_examples_stay_short() -> None:
    sources = [p for p in FOLDER.iterdir() if p.suffix in (".py", ".cpp", ".pyx")]
    assert len(sources) == 5
    assert all(len(p.read_text().splitlines()) < 60 for p in sources)


@pytest.mark.interop
def test_numba() -> None:
    from tests.engine.extensions.numba_function import soft_threshold

    check(soft_threshold)
    check_refuses_second_gradients(soft_threshold)


@pytest.mark.interop
def test_cython(tmp_path: Path) -> None:
    source = tmp_path / "cython_function.pyx"
    source.write_text((FOLDER / "cython_function.pyx").read_text())
    command = [sys.executable, "-m", "Cython.Build.Cythonize", "-i", str(source)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (library,) = tmp_path.glob(f"*{SUFFIX}")
    operation = load("cython_function", library).soft_threshold
    check(operation)
    check_refuses_second_gradients(operation)
