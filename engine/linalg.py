"""Linear algebra: the array API's linalg extension and a little more.

Matrices are the last two axes, the axes before them a batch. Factorisations compute with numpy
(LAPACK); each has its gradient in operations of the engine, so gradients of gradients exist.
float16 and bfloat16 are computed in float32.
"""

from __future__ import annotations

from engine._C import matmul
from engine.routines.diagonals import trace
from engine.routines.eigen import eig, eigh, eigvals, eigvalsh, svd, svdvals
from engine.routines.lu import lu
from engine.routines.manipulation import matrix_transpose
from engine.routines.matrices import (
    cond,
    cross,
    diagonal,
    matrix_exp,
    matrix_norm,
    matrix_power,
    matrix_rank,
    multi_dot,
    norm,
    outer,
    vector_norm,
)
from engine.routines.products import tensordot, vecdot
from engine.routines.solving import (
    cholesky,
    cholesky_solve,
    det,
    inv,
    lstsq,
    pinv,
    qr,
    slogdet,
    solve,
    solve_triangular,
)

__all__ = [
    "cholesky", "cholesky_solve", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals",
    "eigvalsh", "inv", "lstsq", "lu", "matmul", "matrix_exp", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet",
    "solve", "solve_triangular", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
