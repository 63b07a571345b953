"""Threads, fork, memory, instruction sets, start-up."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import engine


def run_python(code: str, **env: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
        env={**os.environ, **env},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_number_of_threads_can_be_set() -> None:
    before = engine.get_num_threads()
    try:
        engine.set_num_threads(3)
        assert engine.get_num_threads() == 3
        assert engine.ones((1000, 1000)).sum().item() == 1e6
        for wrong in (0, -1, 1_000_000):
            with pytest.raises(ValueError, match="at least 1 thread and at most 1024"):
                engine.set_num_threads(wrong)
    finally:
        engine.set_num_threads(before)


def test_environment_sets_the_number_of_threads() -> None:
    assert run_python("import engine; print(engine.get_num_threads())", ZOO_NUM_THREADS="5") == "5"


def test_threads_that_the_system_refuses_are_done_without() -> None:
    code = """
import resource, engine, numpy  # loaded now: there is no room for it later
engine.set_num_threads(1024)
held = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (held + 2**29,) * 2)  # stacks of 1023 threads take 8 GiB
print(engine.ones((1000, 1000)).sum().item())
"""
    assert run_python(code) == "1000000.0"


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_every_instruction_set_computes_the_same_within_rounding(isa: str) -> None:
    code = """
import engine, numpy as np
r = np.random.default_rng(0)
x = engine.asarray(r.standard_normal((4, 8, 12, 12)).astype('float32'))
w = engine.asarray(r.standard_normal((16, 8, 3, 3)).astype('float32'))
y = engine.conv2d(x, w, None, (1, 1), (1, 1))
z = engine.softmax(engine.gelu(y).sum(axis=(2, 3)) @ engine.ones((16, 5)), -1)
print(engine.cpu_isa(), float(y.sum()), float(engine.exp(x).sum()), float((z * z).sum()))
"""
    name, *values = run_python(code, ZOO_CPU_ISA=isa).split()
    assert name == isa or name == engine.cpu_isa()  # a machine may lack the better ones
    here = run_python(code).split()[1:]
    np.testing.assert_allclose([float(v) for v in values], [float(v) for v in here], rtol=1e-4)


def test_a_forked_child_computes() -> None:
    code = """
import os, engine
x = engine.ones((2000, 2000))
assert x.sum().item() == 4e6  # the pool's threads exist now
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        ok = (x + 1).sum().item() == 8e6 and engine.exp(x * 0).sum().item() == 4e6
        os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0
print((x * 2).sum().item())
"""
    assert run_python(code) == "8000000.0"


def test_operations_from_many_threads_at_once() -> None:
    x = engine.asarray(np.random.default_rng(0).standard_normal((500, 500)).astype(np.float32))
    expected = engine.exp(x).sum().item()
    seen: list[float] = []

    def work() -> None:
        seen.extend(engine.exp(x).sum().item() for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == [expected] * 80


def test_kernels_release_the_interpreter_lock() -> None:
    # While one thread is inside a long kernel, another one must get to run Python.
    x = engine.ones((3000, 3000))
    ticks = 0
    done = threading.Event()

    def work() -> None:
        for _ in range(20):
            engine.exp(x)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.wait(0.001):
        ticks += 1
    thread.join()
    assert ticks > 5


def test_blocks_of_other_sizes_share_memory() -> None:
    engine.empty_cache()
    held = [engine.empty((size << 20,), dtype=engine.uint8) for size in (30, 20, 50)]
    before = engine.memory_stats()["reserved_bytes"]
    held.clear()
    whole = engine.empty((100 << 20,), dtype=engine.uint8)  # where the three were, joined
    parts = [engine.empty((1 << 20,), dtype=engine.uint8) for _ in range(20)]
    assert engine.memory_stats()["reserved_bytes"] <= before + (64 << 20)
    addresses = sorted((t.data_ptr(), t.shape[0]) for t in (whole, *parts))
    for (first, size), (second, _) in zip(addresses, addresses[1:], strict=False):
        assert first + size <= second
    assert all(address % 64 == 0 for address, _ in addresses)


def test_allocator_reuses_and_reports() -> None:
    engine.empty_cache()
    engine.reset_peak_memory_stats()
    before = engine.memory_stats()
    size = before["reserved_bytes"] + (1 << 26)  # more than is there: the system must give it
    t = engine.empty((size,), dtype=engine.uint8)
    held = engine.memory_stats()
    assert 0 <= held["allocated_bytes"] - before["allocated_bytes"] - size < 64
    assert t.data_ptr() % 64 == 0
    address = t.data_ptr()
    del t
    after = engine.memory_stats()
    assert after["allocated_bytes"] == before["allocated_bytes"]
    assert after["reserved_bytes"] == held["reserved_bytes"]
    assert after["peak_allocated_bytes"] >= held["allocated_bytes"]
    again = engine.empty((size,), dtype=engine.uint8)
    assert again.data_ptr() == address
    assert engine.memory_stats()["cache_hits"] > before["cache_hits"]
    del again
    engine.empty_cache()
    assert engine.memory_stats()["reserved_bytes"] < after["reserved_bytes"]


def test_a_device_that_cannot_be_used_is_refused_with_the_reason() -> None:
    code = "import engine\ntry: engine.ones(1).to('cuda:63')\nexcept Exception as e: print(e)"
    said = run_python(code)
    assert said.startswith(
        ("device 'cuda' is not available: this ", "device 'cuda:63' is not there")
    )


def test_the_device_context_goes_back_where_it_was() -> None:
    with engine.device("cpu") as where:
        assert engine.zeros(2).device == where == "cpu"
        with pytest.raises(ValueError, match="'gpu' is no device; expected 'cpu', 'cuda'"):
            with engine.device("gpu"):
                pass
    assert engine.zeros(2).device == "cpu"


def test_both_convolution_algorithms_agree_within_the_documented_error() -> None:
    rng = np.random.default_rng(0)
    x = engine.asarray(rng.standard_normal((2, 64, 28, 28)).astype(np.float32))
    w = engine.asarray(rng.standard_normal((64, 64, 3, 3)).astype(np.float32))
    assert engine.get_conv_algorithm() == "auto"
    results = {}
    try:
        for name in ("direct", "winograd"):
            engine.set_conv_algorithm(name)
            results[name] = engine.conv2d(x, w, None, (1, 1), (1, 1)).numpy()
        with pytest.raises(ValueError, match="'fft'"):
            engine.set_conv_algorithm("fft")
    finally:
        engine.set_conv_algorithm("auto")
    error = np.abs(results["direct"] - results["winograd"]).max()
    assert 0 < error < 2e-5 * np.abs(results["direct"]).max()


def test_blocks_of_changing_sizes_do_not_pile_up() -> None:
    code = """
import engine
for megabytes in range(10, 60):
    engine.empty((megabytes << 20,), dtype=engine.uint8)
stats = engine.memory_stats()
print(stats["reserved_bytes"] / stats["peak_allocated_bytes"])
"""
    assert float(run_python(code)) <= 1.6
