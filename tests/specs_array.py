"""Op specs of what the array API standard asks of elementwise functions beyond numbers' basics."""

from __future__ import annotations

import numpy as np

from tests import op_specs
from tests.op_specs import FLOATS, INTS, INTS_BOOL, Op, apart, binary, mixed, real, rng, s, unary


def signs(*shape: int) -> np.ndarray:
    """Numbers of both signs, away from 0."""
    return np.asarray(real(*shape, low=0.5, high=2.0) * rng.choice([-1, 1], shape))


places = op_specs.whole(0, 5)  # for bits to move by

OPS = [
    unary("positive", np.positive),
    unary("signbit", np.signbit, dtypes=FLOATS, grad=False, values=signs),
    unary("conj", np.conj),
    unary("real", np.real),
    unary("imag", np.imag, grad=False),
    unary("bitwise_invert", np.invert, dtypes=INTS_BOOL, grad=False, values=mixed),
    binary("copysign", np.copysign, values=signs),
    Op("nextafter", np.nextafter,
       [s(real(3, 4), real(4)), s(real(5), real()), s(real(0, 2), real(2)), s(apart(6), 0.0)],
       ("float64",), grad=False,
       errors=[((np.arange(3), np.arange(3)), TypeError, "int64"),
               ((np.ones((2, 3)), np.ones((2, 4))), ValueError, r"\(2,\s?3\).* \(2,\s?4\)")]),
    binary("bitwise_left_shift", np.left_shift, dtypes=INTS, grad=False, values=places),
    binary("bitwise_right_shift", np.right_shift, dtypes=INTS, grad=False, values=places),
]  # fmt: skip

OTHERWISE_TESTED = {
    "tests/engine/test_array_api.py": {
        "__array_namespace_info__", "astype", "can_cast", "finfo", "iinfo", "isdtype",
        "result_type",
    },
    "tests/engine/test_dlpack.py": {"from_dlpack"},
}  # fmt: skip
