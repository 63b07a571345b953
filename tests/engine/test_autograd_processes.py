"""Long runs, threads and processes: nothing leaks, recurses or depends on what runs beside it."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np

import engine

STEPS = """
import resource, sys, engine
from engine import nn, optim

def peak():  # bytes; Linux counts in KiB
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale

engine.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))
model[0].weight.register_hook(lambda g: g * 1.0)
optimizer = optim.AdamW(model.parameters(), lr=1e-3)
x, target = engine.randn((16, 32)), engine.arange(16) % 10

def steps(n):
    for _ in range(n):
        optimizer.zero_grad()
        h = engine.autograd.checkpoint(model[0], x)
        h = h * 1.0
        h[:, :2].mul_(0.5)
        nn.functional.cross_entropy(model[2](model[1](h)), target).backward()
        optimizer.step()

steps(200)
before = peak()
steps(1000)
print(peak() - before)
"""


def test_a_thousand_training_steps_grow_by_less_than_a_megabyte() -> None:
    done = subprocess.run([sys.executable, "-c", STEPS], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 1 << 20


FORK = """
import os, engine, warnings
warnings.simplefilter("ignore")
x = engine.asarray([[float(i % 7) for i in range(300)] for _ in range(300)])
x.requires_grad = True
def gradient():
    x.grad = None
    engine.tanh(x @ x).sum().backward()
    return x.grad.numpy().tobytes()
before = gradient()
graph = engine.exp(x).sum()
child = os.fork()
if child == 0:
    same = gradient() == before
    graph.backward()  # recorded by the parent
    os._exit(0 if same else 1)
_, status = os.waitpid(child, 0)
assert gradient() == before
print(os.waitstatus_to_exitcode(status))
"""


def test_a_child_differentiates_after_a_fork() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "0"


class Half(engine.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 0.5

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 0.5 + x * 0.0


def test_two_threads_give_what_one_gives() -> None:
    def gradient(seed: int) -> bytes:
        rng = np.random.default_rng(seed)
        x = engine.asarray(rng.standard_normal((32, 32)))
        x.requires_grad = True
        y = x
        for _ in range(30):
            y = Half.apply(engine.tanh(y @ x))
        y.sum().backward()
        return x.grad.numpy().tobytes()

    serial = [gradient(0), gradient(1)]
    results: dict[int, list[bytes]] = {0: [], 1: []}

    def work(seed: int) -> None:
        results[seed] = [gradient(seed) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {seed: [serial[seed]] * 5 for seed in results}


def test_a_long_graph_of_views_and_changes_needs_no_stack() -> None:
    results = []

    def work() -> None:
        x = engine.asarray([1.0, 2.0])
        x.requires_grad = True
        y = x * 1.0
        for _ in range(20_000):
            y[:1].add_(1.0)
        y.sum().backward()
        results.append(x.grad.tolist())
        y = x * 1.0
        for _ in range(20_000):
            y[:1].add_(1.0)

    threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(0)
    assert results == [[1, 1]]
