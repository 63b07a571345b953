"""Linear algebra beyond its op specs: complex matrices, second gradients, dtypes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import engine
from tests.gradcheck import gradcheck

L = engine.linalg
rng = np.random.default_rng(11)
J = np.complex128(1j)


def as_complex(re: engine.Tensor, im: engine.Tensor) -> engine.Tensor:
    return re + im * engine.asarray(J)


def flat(*outputs: engine.Tensor) -> tuple[engine.Tensor, ...]:
    """Real and imaginary parts."""
    out: list[engine.Tensor] = []
    for t in outputs:
        out += [engine.real(t), engine.imag(t)] if "complex" in str(t.dtype) else [t]
    return tuple(out)


def matrix(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    re = rng.uniform(-0.3, 0.3, (m, n))
    for i in range(min(m, n)):
        re[i, i] += i + 1
    return re, rng.uniform(-0.3, 0.3, (m, n))


def hermitian(z: engine.Tensor) -> engine.Tensor:
    return z + engine.conj(engine.matrix_transpose(z))


# What the functions give that does not depend on the phases LAPACK happens to choose.
COMPLEX: dict[str, tuple[Callable[..., object], tuple[int, int]]] = {
    "inv": (lambda z: flat(L.inv(z)), (3, 3)),
    "solve": (lambda z: flat(L.solve(z, z[:, :1] + 1.0)), (3, 3)),
    "det": (lambda z: flat(L.det(z)), (3, 3)),
    "slogdet": (lambda z: flat(*L.slogdet(z)), (3, 3)),
    "pinv": (lambda z: flat(L.pinv(z)), (4, 2)),
    "cholesky": (lambda z: flat(L.cholesky(hermitian(z) + 3 * engine.eye(3))), (3, 3)),
    "eigvalsh": (lambda z: L.eigvalsh(hermitian(z)), (3, 3)),
    "eigh": (lambda z: engine.abs(L.eigh(hermitian(z)).eigenvectors), (3, 3)),
    "eigvals": (lambda z: flat(L.eigvals(z)), (3, 3)),
    "eig": (lambda z: engine.abs(L.eig(z).eigenvectors), (3, 3)),
    "svdvals": (lambda z: L.svdvals(z), (4, 3)),
    "svd": (lambda z: flat(L.svd(z, full_matrices=False).U @ L.svd(z, full_matrices=False).Vh),
            (4, 3)),
    "qr": (lambda z: flat(*L.qr(z)), (4, 3)),
    "matrix_exp": (lambda z: flat(L.matrix_exp(z)), (3, 3)),
    "vector_norm": (lambda z: L.vector_norm(z, axis=1), (3, 3)),
    "nuclear norm": (lambda z: L.matrix_norm(z, ord="nuc"), (3, 2)),
    "vecdot": (lambda z: flat(L.vecdot(z, z[0] * 2.0)), (3, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPLEX)
def test_gradients_of_complex_matrices(name: str) -> None:
    function, shape = COMPLEX[name]
    gradcheck(lambda re, im: function(as_complex(re, im)), matrix(*shape))


def test_eig_of_real_matrices() -> None:
    x = engine.asarray(matrix(3, 3)[0])
    values, vectors = L.eig(x)
    product = x.astype(engine.complex128) @ vectors
    np.testing.assert_allclose(product.numpy(), (vectors * values).numpy(), atol=1e-12)
    np.testing.assert_allclose(L.eigvals(x).numpy(), np.linalg.eigvals(x.numpy()))
    gradcheck(lambda x: flat(L.eigvals(x)), [matrix(3, 3)[0]])
    assert L.eigvals(x.astype(engine.float32)).dtype == engine.complex64


REAL: dict[str, Callable[[engine.Tensor], engine.Tensor]] = {
    "inv": L.inv,
    "det": L.det,
    "slogdet": lambda x: L.slogdet(x).logabsdet,
    "solve": lambda x: L.solve(x, x[:, :2]),
    "cholesky": lambda x: L.cholesky(x @ x.T),
    "eigh": lambda x: L.eigh(x).eigenvectors,
    "svd": lambda x: L.svd(x).U @ L.svd(x).Vh,
    "qr": lambda x: L.qr(x).Q + L.qr(x).R,
    "pinv": lambda x: L.pinv(x[:, :2]),
    "matrix_power": lambda x: L.matrix_power(x, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_second_gradients(name: str) -> None:
    function = REAL[name]
    weights = engine.asarray(rng.uniform(0.5, 1.5, (3, 3)))

    def first(x: engine.Tensor) -> engine.Tensor:
        with engine.enable_grad():
            y = function(x)
            loss = (y * y * weights[: y.shape[0], : y.shape[1]] if y.ndim == 2 else y * y).sum()
            return engine.grad([loss], [x], create_graph=True)[0]

    gradcheck(first, [matrix(3, 3)[0]], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "svdvals", "qr", "matrix_norm"])
def test_narrow_floats_keep_their_dtype(name: str) -> None:
    x = engine.asarray(np.eye(3) * 2)
    for dtype in (engine.float16, engine.bfloat16):
        y = getattr(L, name)(x.astype(dtype))
        for t in y if isinstance(y, tuple) else (y,):
            assert t.dtype == dtype


def test_equal_eigenvalues_have_gradients() -> None:
    x = engine.asarray(np.eye(3))
    x.requires_grad = True
    L.eigvalsh(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.eye(3), atol=1e-12)


def test_names_that_differ_from_the_main_namespace() -> None:
    x = engine.asarray(rng.uniform(size=(2, 3, 4)))
    wanted = np.diagonal(x.numpy(), 1, -2, -1)
    np.testing.assert_array_equal(L.diagonal(x, offset=1).numpy(), wanted)
    assert L.outer(x[0, 0], x[1, 1]).shape == (4, 4)
    with pytest.raises(ValueError, match="1 dimension"):
        L.outer(x[0], x[0, 0])
    with pytest.raises(ValueError, match="2 dimensions"):
        L.diagonal(x[0, 0])
    gradcheck(lambda a, b: L.outer(a, b), [rng.uniform(size=3), rng.uniform(size=2)])
    gradcheck(lambda a: L.diagonal(a, offset=-1), [rng.uniform(size=(2, 3, 4))])
