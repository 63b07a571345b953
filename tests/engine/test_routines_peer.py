"""Routines against PyTorch, values and gradients in float64, where it has them.

Runs where torch is installed beside the engine; with ZOO_REQUIRE_PEERS=1 it fails where it is not.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine

pytestmark = pytest.mark.peer

L = engine.linalg
rng = np.random.default_rng(8)


@pytest.fixture(autouse=True)
def peer() -> None:
    if importlib.util.find_spec("torch") is None:
        if os.environ.get("ZOO_REQUIRE_PEERS") == "1":
            pytest.fail("torch is not installed, and ZOO_REQUIRE_PEERS=1 asks for it")
        pytest.skip("torch is not installed")


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    return rng.uniform(low, high, shape)


SQUARE = real(2, 3, 3, low=-0.4, high=0.4) + np.diag([1.0, 2.0, 3.0])
POSITIVE = SQUARE @ np.swapaxes(SQUARE, -1, -2)
AT = np.array([[2, 0, 1], [0, 0, 2]])
X, Y = real(3, 4), real(3, 4)

# name: (ours, PyTorch's given torch, arguments). Integer arrays are indices.
ROWS: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[np.ndarray]]] = {
    "cumsum": (lambda x: engine.cumsum(x, 0), lambda t, x: t.cumsum(x, 0), [X]),
    "cumprod": (lambda x: engine.cumprod(x, 1), lambda t, x: t.cumprod(x, 1), [X]),
    "cummax": (lambda x: engine.cummax(x, 1)[0], lambda t, x: t.cummax(x, 1)[0], [X]),
    "cummin": (lambda x: engine.cummin(x, 1)[0], lambda t, x: t.cummin(x, 1)[0], [X]),
    "logcumsumexp": (lambda x: engine.logcumsumexp(x, 1), lambda t, x: t.logcumsumexp(x, 1), [X]),
    "logsumexp": (lambda x: engine.logsumexp(x, axis=1), lambda t, x: t.logsumexp(x, 1), [X]),
    "sort": (lambda x: engine.sort(x), lambda t, x: t.sort(x)[0], [X]),
    "topk": (lambda x: engine.topk(x, 2).values, lambda t, x: t.topk(x, 2)[0], [X]),
    "kthvalue": (lambda x: engine.kthvalue(x, 2).values, lambda t, x: t.kthvalue(x, 2)[0], [X]),
    "quantile": (lambda x: engine.quantile(x, 0.3, axis=1), lambda t, x: t.quantile(x, 0.3, 1),
                 [X]),
    "gather": (lambda x, i: engine.gather(x, 0, i), lambda t, x, i: t.gather(x, 0, i), [X, AT]),
    "scatter": (lambda x, i, s: engine.scatter(x, 1, i, s),
                lambda t, x, i, s: t.scatter(x, 1, i, s), [X, AT[:, :2] + 1, Y]),
    "scatter_add": (lambda x, i, s: engine.scatter_add(x, 0, i, s),
                    lambda t, x, i, s: t.scatter_add(x, 0, i, s), [X, AT, Y]),
    "index_add": (lambda x, i, s: engine.index_add(x, 0, i, s),
                  lambda t, x, i, s: t.index_add(x, 0, i, s), [X, AT[0], Y]),
    "index_copy": (lambda x, i, s: engine.index_copy(x, 0, i, s),
                   lambda t, x, i, s: t.index_copy(x, 0, i, s), [X, AT[0], Y]),
    "take_along_axis": (lambda x, i: engine.take_along_axis(x, i, axis=1),
                        lambda t, x, i: t.take_along_dim(x, i, 1), [X, AT[:1].repeat(3, 0)]),
    "std_mean": (lambda x: engine.std_mean(x, axis=1, correction=1.0).std,
                 lambda t, x: t.std_mean(x, 1)[0], [X]),
    "cov": (lambda x: engine.cov(x), lambda t, x: t.cov(x), [X]),
    "corrcoef": (lambda x: engine.corrcoef(x), lambda t, x: t.corrcoef(x), [X]),
    "cdist": (lambda x, y: engine.cdist(x, y), lambda t, x, y: t.cdist(x, y), [X, Y]),
    "einsum": (lambda x, y: engine.einsum("ij,kj->ik", x, y),
               lambda t, x, y: t.einsum("ij,kj->ik", x, y), [X, Y]),
    "tensordot": (lambda x, y: engine.tensordot(x, y), lambda t, x, y: t.tensordot(x, y), [X, Y]),
    "kron": (engine.kron, lambda t, x, y: t.kron(x, y), [X, Y]),
    "diag_embed": (lambda x: engine.diag_embed(x, offset=1), lambda t, x: t.diag_embed(x, 1), [X]),
    "tril": (lambda x: engine.tril(x, k=-1), lambda t, x: t.tril(x, -1), [X]),
    "rot90": (lambda x: engine.rot90(x), lambda t, x: t.rot90(x), [X]),
    "roll": (lambda x: engine.roll(x, (1, 2), axis=(0, 1)), lambda t, x: t.roll(x, (1, 2), (0, 1)),
             [X]),
    "diff": (lambda x: engine.diff(x, n=2), lambda t, x: t.diff(x, n=2), [X]),
    "trapezoid": (lambda y, x: engine.trapezoid(y, x), lambda t, y, x: t.trapezoid(y, x),
                  [X, real(4)]),
    "heaviside": (engine.heaviside, lambda t, x, y: t.heaviside(x, y), [X, Y]),
    "lerp": (lambda x, y: engine.lerp(x, y, 0.3), lambda t, x, y: t.lerp(x, y, 0.3), [X, Y]),
    "addcdiv": (lambda x, y: engine.addcdiv(x, x, y, value=2.0),
                lambda t, x, y: t.addcdiv(x, x, y, value=2.0), [X, Y + 5]),
    "addmm": (lambda b, x, y: engine.addmm(b, x, y.T, alpha=2.0, beta=0.5),
              lambda t, b, x, y: t.addmm(b, x, y.T, alpha=2.0, beta=0.5), [real(3), X, Y]),
    "exp2": (engine.exp2, lambda t, x: t.exp2(x), [X]),
    "erfc": (engine.erfc, lambda t, x: t.erfc(x), [X]),
    "erfinv": (engine.erfinv, lambda t, x: t.erfinv(x), [X * 0.49]),
    "lgamma": (engine.lgamma, lambda t, x: t.lgamma(x), [X]),
    "digamma": (engine.digamma, lambda t, x: t.digamma(x), [X]),
    "polygamma": (lambda x: engine.polygamma(2, x), lambda t, x: t.polygamma(2, x), [X + 3]),
    "trigamma": (lambda x: engine.polygamma(1, x), lambda t, x: t.polygamma(1, x), [X + 3]),
    "i0": (engine.i0, lambda t, x: t.special.i0(x), [X * 5]),
    "i1": (engine.i1, lambda t, x: t.special.i1(x), [X * 5]),
    "sinc": (engine.sinc, lambda t, x: t.sinc(x), [X]),
    "logit": (engine.logit, lambda t, x: t.logit(x), [X * 0.2 + 0.5]),
    "xlogy": (engine.xlogy, lambda t, x, y: t.xlogy(x, y), [X, Y + 3]),
    "ndtri": (engine.ndtri, lambda t, x: t.special.ndtri(x), [X * 0.2 + 0.5]),
    "entr": (engine.entr, lambda t, x: t.special.entr(x), [X + 3]),
    "multigammaln": (lambda x: engine.multigammaln(x, 2), lambda t, x: t.mvlgamma(x, 2), [X + 4]),
    "logaddexp2": (engine.logaddexp2, lambda t, x, y: t.logaddexp2(x, y), [X, Y]),
    "vector_norm": (lambda x: L.vector_norm(x, axis=1, ord=3),
                    lambda t, x: t.linalg.vector_norm(x, 3, 1), [X]),
    "matrix_norm": (lambda x: L.matrix_norm(x, ord="nuc"),
                    lambda t, x: t.linalg.matrix_norm(x, "nuc"), [SQUARE]),
    "inv": (L.inv, lambda t, x: t.linalg.inv(x), [SQUARE]),
    "det": (L.det, lambda t, x: t.linalg.det(x), [SQUARE]),
    "slogdet": (lambda x: L.slogdet(x).logabsdet, lambda t, x: t.linalg.slogdet(x)[1], [SQUARE]),
    "solve": (L.solve, lambda t, a, b: t.linalg.solve(a, b), [SQUARE, real(2, 3, 2)]),
    "cholesky": (L.cholesky, lambda t, x: t.linalg.cholesky(x), [POSITIVE]),
    "eigvalsh": (L.eigvalsh, lambda t, x: t.linalg.eigvalsh(x), [POSITIVE]),
    "eigh": (lambda x: abs(L.eigh(x).eigenvectors),
             lambda t, x: abs(t.linalg.eigh((x + x.mT) / 2)[1]), [POSITIVE]),
    "svd": (lambda x: abs(L.svd(x, full_matrices=False).U),
            lambda t, x: abs(t.linalg.svd(x, full_matrices=False)[0]), [SQUARE[:, :, :2]]),
    "qr": (lambda x: abs(L.qr(x).R), lambda t, x: abs(t.linalg.qr(x)[1]), [SQUARE[:, :, :2]]),
    "pinv": (L.pinv, lambda t, x: t.linalg.pinv(x), [SQUARE[:, :, :2]]),
    "matrix_exp": (L.matrix_exp, lambda t, x: t.linalg.matrix_exp(x), [SQUARE]),
    "matrix_power": (lambda x: L.matrix_power(x, -2), lambda t, x: t.linalg.matrix_power(x, -2),
                     [SQUARE]),
    "rfft": (lambda x: abs(engine.fft.rfft(x)), lambda t, x: abs(t.fft.rfft(x)), [X]),
    "fftn": (lambda x: abs(engine.fft.fftn(x)), lambda t, x: abs(t.fft.fftn(x)), [X]),
    "irfft": (lambda x: engine.fft.irfft(x, n=5), lambda t, x: t.fft.irfft(x, n=5), [X]),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_values_and_gradients_agree(name: str) -> None:
    import torch

    ours, theirs, arrays = ROWS[name]
    mine = [engine.asarray(np.array(a)) for a in arrays]
    peers = [torch.tensor(a) for a in arrays]
    for a, t, p in zip(arrays, mine, peers, strict=True):
        if a.dtype == np.float64:
            t.requires_grad = True
            p.requires_grad_(True)
    y, z = ours(*mine), theirs(torch, *peers)
    np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-6, atol=1e-9)
    g = rng.uniform(0.5, 1.5, z.shape)
    y.backward(engine.asarray(g))
    z.backward(torch.tensor(g))
    for t, p in zip(mine, peers, strict=True):
        # PyTorch says None where nothing flows, or zeros: heaviside(x, y) in x.
        wanted = np.zeros(p.shape) if p.grad is None else p.grad.numpy()
        actual = np.zeros(p.shape) if t.grad is None else t.grad.numpy()
        np.testing.assert_allclose(actual, wanted, rtol=1e-6, atol=1e-9)
