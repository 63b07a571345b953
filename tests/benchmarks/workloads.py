"""What is timed: products, convolutions, networks and overhead here, the rest in tensors.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.benchmarks import language, tensors
from tests.benchmarks.runtimes import RUNTIMES
from tests.benchmarks.workload import Work, Workload


def _matmul(m: int, n: int, k: int) -> Workload:
    def ours() -> Work:
        import numpy as np

        import engine

        rng = np.random.default_rng(0)
        a = engine.asarray(rng.standard_normal((m, k)).astype(np.float32))
        b = engine.asarray(rng.standard_normal((k, n)).astype(np.float32))
        return lambda: a @ b

    def peer() -> Work:
        import torch

        a, b = torch.randn(m, k), torch.randn(k, n)
        return lambda: a @ b

    return Workload(f"gemm {m}x{n}x{k}", 2.0 * m * n * k, ours, peer, rounds=15, repeat=10)


def _conv(batch: int, size: int, c: int, k: int, window: int, stride: int = 1) -> Workload:
    pad = window // 2
    out = (size + 2 * pad - window) // stride + 1
    flops = 3 * 2.0 * batch * out * out * c * k * window * window

    def ours() -> Work:
        import engine
        from engine.nn import functional as F

        x = engine.randn((batch, c, size, size)).contiguous("channels_last")
        w = engine.randn((k, c, window, window))
        x.requires_grad = w.requires_grad = True
        g = engine.randn((batch, k, out, out)).contiguous("channels_last")

        def work() -> None:
            x.grad = w.grad = None
            F.conv2d(x, w, None, stride, pad).backward(g)

        return work

    def peer() -> Work:
        import torch

        layout = {"memory_format": torch.channels_last}
        x = torch.randn(batch, c, size, size).to(**layout).requires_grad_()
        w = torch.randn(k, c, window, window).to(**layout).requires_grad_()
        g = torch.randn(batch, k, out, out).to(**layout)

        def work() -> None:
            x.grad = w.grad = None
            torch.nn.functional.conv2d(x, w, None, stride, pad).backward(g)

        return work

    name = f"conv {window}x{window}/{stride} {c}->{k} at {size}, batch {batch}, train"
    return Workload(name, flops, ours, peer, repeat=5)


# Multiply-adds of one forward pass at 224 px, times 2.
FLOPS = {"resnet18": 3.63e9, "resnet50": 8.18e9, "vgg16": 30.96e9}


def _peer_network(arch: str) -> Any:
    from tests.zoo.reference import torch_resnet, torch_vgg

    return (torch_vgg if arch.startswith("vgg") else torch_resnet).build(arch)


def _inference(arch: str, batch: int) -> Workload:
    def ours() -> Work:
        import engine
        import zoo

        model = zoo.load(arch, weights=None)
        x = engine.randn((batch, 3, 224, 224)).contiguous("channels_last")

        def work() -> object:
            with engine.no_grad():
                return model(x)

        return work

    def peer(name: str) -> Callable[[], Work]:
        def make() -> Work:
            import torch

            run, _ = RUNTIMES[name]
            return run(_peer_network(arch).eval(), torch.randn(batch, 3, 224, 224))

        return make

    others = {name: peer(name) for name in RUNTIMES if name != "PyTorch"}
    return Workload(f"{arch} inference, batch {batch}", batch * FLOPS[arch], ours, peer("PyTorch"),
                    rounds=7, others=others)  # fmt: skip


def _training(arch: str, batch: int) -> Workload:
    def ours() -> Work:
        import engine
        import zoo
        from engine.nn import functional as F
        from engine.optim import SGD

        model = zoo.load(arch, weights=None)
        model.train()
        optimizer = SGD(model.parameters(), lr=0.01, momentum=0.9)
        x = engine.randn((batch, 3, 224, 224)).contiguous("channels_last")
        y = engine.randint(0, 1000, (batch,))

        def work() -> None:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

        return work

    def peer(layout: str) -> Callable[[], Work]:
        def make() -> Work:
            import torch

            order = {"memory_format": getattr(torch, layout)}
            model = _peer_network(arch).train().to(**order)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
            x = torch.randn(batch, 3, 224, 224).to(**order)
            y = torch.randint(0, 1000, (batch,))

            def work() -> None:
                optimizer.zero_grad(set_to_none=True)
                torch.nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()

            return work

        return make

    name = f"{arch} training step, batch {batch}"
    return Workload(name, 3 * batch * FLOPS[arch], ours, peer("channels_last"), rounds=5,
                    others={"PyTorch NCHW": peer("contiguous_format")})  # fmt: skip


def _overhead(library: str) -> Workload:
    def ours() -> Work:
        import engine

        a, b = engine.ones(8), engine.ones(8)
        return lambda: a + b

    def peer() -> Work:
        import importlib

        made_by = importlib.import_module(library)
        a, b = made_by.ones(8), made_by.ones(8)
        return lambda: a + b

    name = f"add of 8 elements, beside {library}"
    return Workload(name, 0, ours, peer, rounds=15, repeat=10000)


def _mlp(batch: int) -> Workload:
    def ours() -> Work:
        import engine
        from engine import nn
        from engine.optim import SGD

        model = nn.Sequential(
            nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)
        )
        optimizer = SGD(model.parameters(), lr=0.01)
        x, y = engine.randn((batch, 64)), engine.randint(0, 10, (batch,))

        def work() -> None:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()

        return work

    def peer() -> Work:
        import torch
        from torch import nn

        model = nn.Sequential(
            nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        x, y = torch.randn(batch, 64), torch.randint(0, 10, (batch,))

        def work() -> None:
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()

        return work

    return Workload(f"small MLP training step, batch {batch}", 0, ours, peer, rounds=15, repeat=300)


WORKLOADS = [
    _matmul(1024, 1024, 1024),
    _matmul(2048, 2048, 2048),
    _matmul(1024, 3072, 768),
    _conv(16, 56, 64, 64, 3),
    _conv(16, 28, 128, 128, 3),
    _conv(16, 14, 256, 256, 3),
    _conv(16, 7, 512, 512, 3),
    _conv(16, 56, 64, 256, 1),
    _conv(16, 14, 1024, 256, 1),
    _conv(16, 56, 128, 128, 3, 2),
    _conv(16, 224, 3, 64, 7, 2),
    _inference("resnet50", 1),
    _inference("resnet50", 16),
    _training("resnet18", 32),
    _training("resnet50", 16),
    _inference("vgg16", 1),
    _inference("vgg16", 8),
    _training("vgg16", 8),
    _overhead("numpy"),
    _overhead("torch"),
    _mlp(1),
    _mlp(16),
    *language.ROWS,
    *tensors.ROWS,
]
