"""What a row of the op specs is, and the rows of the native operations; other families have files
of their own beside this one. tests/engine/test_ops.py expands a row into its tests: forward
against numpy for every dtype, strided and zero-size operands, gradients by finite differences in
float64, and the messages of its errors. A completeness test fails for a routine without a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests import reference as ref

FLOATS = ("float64", "float32", "float16", "bfloat16")
FLOAT32_64 = ("float64", "float32")
INTS = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
NUMBERS = FLOATS + INTS
INTS_BOOL = (*INTS, "bool")
ANY = (*NUMBERS, "bool")


@dataclass(frozen=True)
class Sample:
    """One call. Float arrays are cast to the dtype under test; other arguments stay as they are."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Op:
    name: str  # in the namespace engine; may be dotted: "linalg.qr"
    reference: Callable[..., Any]
    samples: Sequence[Sample]
    dtypes: tuple[str, ...] = FLOATS
    grad: bool = True  # the first samples are checked by finite differences
    errors: Sequence[tuple[tuple[Any, ...], type[Exception], str]] = ()
    constant: tuple[int, ...] = ()  # positions of float arguments that have no gradient


rng = np.random.default_rng(20151210)


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    return np.asarray(rng.uniform(low, high, shape))


def apart(*shape: int) -> np.ndarray:
    """Distinct values at least 0.1 apart, so that a finite step changes no order."""
    n = int(np.prod(shape))
    return np.asarray((rng.permutation(n) - n // 2).reshape(shape) * 0.1 + 0.05)


def s(*args: Any, **kwargs: Any) -> Sample:
    return Sample(args, kwargs)


def unary(name, reference, low=-2.0, high=2.0, dtypes=FLOATS, grad=True, values=None) -> Op:
    make = values or (lambda *shape: real(*shape, low=low, high=high))
    samples = [s(make(3, 5)), s(make(2, 3, 4)), s(make(70)), s(make(0, 3)), s(make())]
    return Op(name, reference, samples, dtypes, grad, [(([1.0],), TypeError, "engine.Tensor")])


def binary(name, reference, low=-2.0, high=2.0, dtypes=FLOATS, grad=True, values=None) -> Op:
    make = values or (lambda *shape: real(*shape, low=low, high=high))
    samples = [
        s(make(3, 4), make(3, 4)), s(make(3, 4), make(4)), s(make(2, 1, 4), make(3, 1)),
        s(make(), make(5)), s(make(0, 4), make(1, 4)), s(make(33), make(33)),
    ]  # fmt: skip
    errors = [((np.ones((2, 3)), np.ones((2, 4))), ValueError, r"\(2, 3\) and \(2, 4\)")]
    return Op(name, reference, samples, dtypes, grad, errors)


def reduction(name, reference, dtypes=FLOATS, grad=True, values=real, empty=True, **kwargs) -> Op:
    x = values(3, 4, 5)
    samples = [
        s(x, axis=None, **kwargs), s(x, axis=1, **kwargs), s(x, axis=(0, 2), **kwargs),
        s(x, axis=-1, keepdims=True, **kwargs), s(values(2, 70), axis=1, **kwargs),
        s(values(40, 3), axis=0, **kwargs), s(values(), axis=None, **kwargs),
    ]  # fmt: skip
    if empty:
        samples.append(s(values(0, 3), axis=0, **kwargs))
    samples.append(s(values(3, 0), axis=0, **kwargs))
    return Op(name, reference, samples, dtypes, grad,
              [((np.ones((2, 3)), 2), IndexError, "axis 2 is out of range")])  # fmt: skip


def whole(low: int = 0, high: int = 7) -> Callable[..., np.ndarray]:
    return lambda *shape: np.asarray(rng.integers(low, high, shape), np.float64)


def mixed(*shape: int) -> np.ndarray:
    """Small whole numbers with zeros among them: any dtype holds them."""
    return np.asarray(rng.integers(0, 3, shape), np.float64)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


POINTWISE = [
    unary("negative", np.negative),
    unary("abs", np.abs, values=apart),
    unary("sign", np.sign, values=apart),
    unary("square", np.square),
    unary("relu", lambda x: np.maximum(x, 0), values=apart),
    unary("exp", np.exp),
    unary("expm1", np.expm1),
    unary("log", np.log, low=0.1),
    unary("log1p", np.log1p, low=-0.8),
    unary("log2", np.log2, low=0.1),
    unary("log10", np.log10, low=0.1),
    unary("sqrt", np.sqrt, low=0.1),
    unary("rsqrt", lambda x: 1 / np.sqrt(x), low=0.1),
    unary("reciprocal", lambda x: 1 / x, low=0.3),
    unary("sin", np.sin),
    unary("cos", np.cos),
    unary("tan", np.tan, low=-1.2, high=1.2),
    unary("asin", np.arcsin, low=-0.9, high=0.9),
    unary("acos", np.arccos, low=-0.9, high=0.9),
    unary("atan", np.arctan),
    unary("sinh", np.sinh),
    unary("cosh", np.cosh),
    unary("tanh", np.tanh),
    unary("asinh", np.arcsinh),
    unary("acosh", np.arccosh, low=1.2, high=3.0),
    unary("atanh", np.arctanh, low=-0.8, high=0.8),
    unary("sigmoid", _sigmoid),
    unary("erf", ref.erf),
    unary("silu", lambda x: x * _sigmoid(x)),
    unary("gelu", lambda x: 0.5 * x * (1 + ref.erf(x / np.sqrt(2)))),
    unary("gelu_tanh", _gelu_tanh),
    unary("floor", np.floor, values=apart),
    unary("ceil", np.ceil, values=apart),
    unary("trunc", np.trunc, values=apart),
    unary("round", np.round, values=apart),
    unary("isnan", np.isnan, dtypes=FLOATS, grad=False),
    unary("isinf", np.isinf, dtypes=FLOATS, grad=False),
    unary("isfinite", np.isfinite, dtypes=FLOATS, grad=False),
    unary("logical_not", np.logical_not, dtypes=ANY, grad=False, values=mixed),
    Op("leaky_relu", lambda x, a=0.01: np.where(x < 0, a * x, x),
       [s(apart(3, 4)), s(apart(5), 0.2)]),
    binary("add", np.add),
    binary("subtract", np.subtract),
    binary("multiply", np.multiply),
    binary("divide", np.divide, low=0.5),
    binary("floor_divide", np.floor_divide, low=0.6, high=5.0, dtypes=FLOAT32_64),
    binary("remainder", np.remainder, low=0.6, high=5.0, dtypes=FLOAT32_64, grad=False),
    binary("pow", np.power, low=0.3, high=2.0),
    binary("maximum", np.maximum, values=apart),
    binary("minimum", np.minimum, values=apart),
    binary("atan2", np.arctan2, low=0.2),
    binary("hypot", np.hypot, low=0.2),
    binary("logaddexp", np.logaddexp),
    *(binary(name, getattr(np, name), dtypes=ANY, grad=False, values=mixed)
      for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
                   "logical_and", "logical_or", "logical_xor")),
    *(binary(name, getattr(np, name), dtypes=INTS_BOOL, grad=False, values=mixed)
      for name in ("bitwise_and", "bitwise_or", "bitwise_xor")),
    Op("where", np.where,
       [s(rng.random((3, 4)) > 0.5, real(3, 4), real(4)), s(np.array(True), real(2), real(2))],
       errors=[((np.ones(3), np.ones(3), np.ones(3)), TypeError, "must be bool")]),
    Op("clip", lambda x, min=None, max=None: np.clip(x, min, max),
       [s(apart(4, 5), -0.52, 0.52), s(apart(6), min=0.11), s(apart(6), max=0.11)]),
]  # fmt: skip

# Integer arithmetic, where it has a meaning of its own.
INTEGER = [
    binary("pow", np.power, dtypes=INTS, grad=False, values=whole(1, 7)),
    *(binary(name, getattr(np, name), dtypes=INTS, grad=False, values=whole(1, 7))
      for name in ("add", "multiply", "floor_divide", "remainder", "maximum", "minimum")),
    *(unary(name, function, dtypes=INTS, grad=False, values=whole(0, 7))
      for name, function in (("abs", np.abs), ("sign", np.sign), ("square", np.square),
                             ("floor", np.floor), ("relu", lambda x: np.maximum(x, 0)))),
]  # fmt: skip


def _np_reduce(function, **fixed):
    return lambda x, axis=None, keepdims=False, **kw: function(
        x, axis=axis, keepdims=keepdims, **fixed, **kw
    )


REDUCTIONS = [
    reduction("sum", _np_reduce(np.sum)),
    reduction("prod", _np_reduce(np.prod), dtypes=FLOAT32_64,
              values=lambda *shape: real(*shape, low=0.7, high=1.3)),
    reduction("mean", _np_reduce(np.mean), empty=False),
    reduction("max", _np_reduce(np.max), values=apart, empty=False, dtypes=FLOAT32_64),
    reduction("min", _np_reduce(np.min), values=apart, empty=False, dtypes=FLOAT32_64),
    reduction("any", _np_reduce(np.any), dtypes=ANY, grad=False, values=mixed),
    reduction("all", _np_reduce(np.all), dtypes=ANY, grad=False, values=mixed),
    reduction("var", lambda x, axis=None, keepdims=False, correction=0.0: np.var(
        x, axis=axis, keepdims=keepdims, ddof=correction), empty=False, dtypes=FLOAT32_64),
    Op("std", lambda x, axis=None, keepdims=False, correction=0.0: np.std(
        x, axis=axis, keepdims=keepdims, ddof=correction),
       [s(real(3, 4), axis=1, correction=1.0), s(real(5))], FLOAT32_64),
    *(Op(name, getattr(np, name),
         [s(apart(3, 4, 5), 1), s(apart(3, 4), None), s(mixed(4, 6), -1),
          s(np.array([1.0, np.nan, np.nan]), None)],
         FLOAT32_64, grad=False,
         errors=[((np.ones((0, 3)), 0), ValueError, "no elements")])
      for name in ("argmax", "argmin")),
]  # fmt: skip


SHAPES = [
    Op("reshape", np.reshape, [s(real(3, 4), (2, -1)), s(real(2, 3, 4), (6, 4)),
                               s(real(0, 3), (3, 0))],
       errors=[((np.ones((2, 3)), (4, -1)), ValueError, "do not fill")]),
    Op("permute_dims", np.transpose, [s(real(2, 3, 4), (2, 0, 1)), s(real(2, 3), (1, 0))],
       errors=[((np.ones((2, 3)), (0, 0)), ValueError, "twice")]),
    Op("swapaxes", np.swapaxes, [s(real(2, 3, 4), 0, -1)]),
    Op("squeeze", lambda x, axis=None: np.squeeze(x, axis), [s(real(1, 3, 1), 0), s(real(1, 3, 1))],
       errors=[((np.ones((2, 3)), 0), ValueError, "expected 1")]),
    Op("expand_dims", np.expand_dims, [s(real(2, 3), 1), s(real(2), -1)]),
    Op("broadcast_to", np.broadcast_to, [s(real(3, 1), (2, 3, 4)), s(real(), (2, 2))],
       errors=[((np.ones(3), (2,)), ValueError, "broadcast")]),
    Op("flip", lambda x, axis=None: np.flip(x, axis), [s(real(2, 3), 1), s(real(2, 3))]),
    Op("diagonal", np.diagonal, [s(real(4, 5)), s(real(4, 5), 1), s(real(5, 4), -2),
                                 s(real(2, 3, 4), 0, 2, 1)]),
    Op("concat", np.concatenate,
       [s([real(2, 3), real(4, 3)], axis=0), s([real(2, 3), real(2, 1)], axis=1)],
       errors=[(([np.ones((2, 3)), np.ones((2, 4))],), ValueError, "outside axis 0")]),
    Op("stack", np.stack, [s([real(2, 3), real(2, 3)], axis=1)],
       errors=[(([np.ones(2), np.ones(3)],), ValueError, "tensor 1")]),
    Op("take", lambda x, i, axis=0: np.take(x, i, axis),
       [s(real(5, 3), np.array([0, 4, 4, -1]), axis=0),
        s(real(2, 4), np.array([[1], [1]]), axis=1)],
       errors=[((np.ones(3), np.array([3])), IndexError, "3 .* out of range .* size 3")]),
    Op("nonzero", np.nonzero, [s(mixed(4, 5)), s(mixed(0, 2))], ANY, grad=False),
]  # fmt: skip


def _cases(*rows):
    return [s(*args, **kwargs) for args, kwargs in rows]


def _conv(n, c, h, w, k, kh, kw, **kwargs):
    groups = kwargs.get("groups", 1)
    return (real(n, c, h, w), real(k, c // groups, kh, kw), real(k)), kwargs


NETWORKS = [
    Op("matmul", np.matmul,
       [s(real(3, 4), real(4, 5)), s(real(4), real(4)), s(real(2, 3, 4), real(4)),
        s(real(4), real(2, 4, 3)), s(real(2, 3, 4), real(4, 5)), s(real(5, 1, 3, 4), real(2, 4, 2)),
        s(real(0, 4), real(4, 2)), s(real(3, 0), real(0, 2)), s(real(37, 65), real(65, 33))],
       errors=[((np.ones((2, 3)), np.ones((2, 3))), ValueError, "3 columns, the second 2 rows")]),
    Op("linear", ref.linear, [s(real(3, 4), real(5, 4), real(5)), s(real(2, 3, 4), real(5, 4)),
                              s(real(0, 4), real(5, 4), real(5))],
       errors=[((np.ones((2, 3)), np.ones((5, 4))), ValueError, "3 features")]),
    Op("conv2d", ref.conv2d, _cases(
        _conv(2, 3, 6, 7, 4, 3, 3, padding=(1, 1)),
        _conv(1, 4, 7, 6, 6, 3, 2, stride=(2, 1), padding=(1, 2), groups=2),
        _conv(2, 4, 8, 8, 4, 3, 3, dilation=(2, 2), padding=(2, 2), groups=4),
        _conv(2, 5, 5, 4, 3, 1, 1), _conv(1, 3, 9, 9, 8, 7, 7, stride=(2, 2), padding=(3, 3)),
        _conv(1, 2, 6, 6, 3, 3, 3, stride=(2, 2)), _conv(1, 8, 8, 8, 16, 3, 3, padding=(1, 1)),
        _conv(0, 3, 6, 6, 4, 3, 3), _conv(1, 4, 4, 4, 4, 3, 3, groups=4, relu=True),
        ((real(1, 3, 5, 5), real(4, 3, 3, 3), real(4), (1, 1), (1, 1), (1, 1), 1,
          real(1, 4, 5, 5), True), {})),
       errors=[((np.ones((1, 3, 5, 5)), np.ones((4, 2, 3, 3))), ValueError, "expects 2"),
               ((np.ones((1, 2, 2, 2)), np.ones((4, 2, 3, 3))), ValueError, "does not fit")]),
    Op("batch_norm", ref.batch_norm, [
        s(real(4, 3, 2, 5), real(3), real(3), real(3), real(3, low=0.5), False),
        s(real(4, 3, 2, 5), real(3), real(3), None, None, True),
        s(real(6, 3), None, None, None, None, True),
        s(real(2, 3, 4, 4), real(3), real(3), None, None, True, 0.1, 1e-5, real(2, 3, 4, 4), True)],
       FLOAT32_64, constant=(3, 4),
       errors=[((np.ones((1, 3, 1, 1)), None, None, None, None, True), ValueError, "1")]),
    Op("layer_norm", ref.layer_norm,
       [s(real(4, 6), (6,), real(6), real(6)), s(real(2, 3, 4), (3, 4))],
       FLOAT32_64, errors=[((np.ones((2, 3)), (4,)), ValueError, "4")]),
    Op("max_pool2d", ref.max_pool2d, [
        s(apart(2, 3, 6, 7), (3, 3), (2, 2), (1, 1)),
        s(apart(1, 2, 5, 5), (2, 2), (2, 2), (0, 0), (1, 1), True),
        s(apart(1, 1, 7, 7), (2, 3), (1, 2), (0, 1), (2, 1))], FLOAT32_64,
       errors=[((np.ones((1, 1, 2, 2)), (3, 3), (1, 1)), ValueError, "3")]),
    Op("avg_pool2d", ref.avg_pool2d, [
        s(real(2, 3, 6, 7), (3, 3), (2, 2), (1, 1)),
        s(real(1, 2, 5, 5), (2, 2), (2, 2), (0, 0), True),
        s(real(1, 2, 5, 5), (3, 3), (2, 2), (1, 1), False, False)], FLOAT32_64),
    Op("adaptive_avg_pool2d", ref.adaptive_avg_pool2d,
       [s(real(2, 3, 5, 7), (1, 1)), s(real(1, 2, 5, 7), (2, 3))], FLOAT32_64),
    Op("softmax", ref.softmax, [s(real(3, 5)), s(real(3, 5, 2), 1)], FLOAT32_64),
    Op("log_softmax", ref.log_softmax, [s(real(3, 5)), s(real(3, 5, 2), 1)], FLOAT32_64),
    Op("cross_entropy", ref.cross_entropy, [
        s(real(4, 5), np.array([0, 4, 2, 1])),
        s(real(4, 5), np.array([0, -100, 2, 1]), real(5, low=0.1)),
        s(real(4, 5), np.array([0, 4, 2, 1]), real(5, low=0.1), label_smoothing=0.1),
        s(real(2, 5, 3), np.array([[0, 1, 2], [4, 3, 0]]), reduction="none"),
        s(real(4, 5), np.array([0, 4, 2, 1]), reduction="sum")], FLOAT32_64,
       errors=[((np.ones((2, 3)), np.array([0, 3])), IndexError, "3")], constant=(2,)),
    Op("embedding", lambda w, i: w[i], [s(real(5, 3), np.array([[0, 4], [4, 4]]))], FLOAT32_64,
       errors=[((np.ones((5, 3)), np.array([5])), IndexError, "5")]),
    Op("normalize_images", ref.normalize_images,
       [s(rng.integers(0, 256, (2, 3, 4, 5)).astype(np.uint8), [0.4, 0.5, 0.6], [0.2, 0.3, 0.4])],
       ("float32",), grad=False),
    Op("dropout", lambda x, p: x, [s(real(3, 4), 0.0)], FLOAT32_64,
       errors=[((np.ones(3), 1.5), ValueError, "1.5")]),
]  # fmt: skip

OPS = [*POINTWISE, *INTEGER, *REDUCTIONS, *SHAPES, *NETWORKS]

# Public names that are no functions of tensors' values, and where each kind is tested instead.
OTHERWISE_TESTED = {
    "tests/engine/test_tensor.py": {
        "asarray", "from_numpy", "zeros", "ones", "empty", "full", "zeros_like", "ones_like",
        "empty_like", "full_like", "arange", "linspace", "eye", "promote_types", "dtype_named",
    },
    "tests/engine/test_autograd.py": {"grad", "is_grad_enabled", "set_grad_enabled"},
    "tests/engine/test_system.py": {
        "get_num_threads", "set_num_threads", "cpu_isa", "memory_stats",
        "reset_peak_memory_stats", "empty_cache", "get_conv_algorithm", "set_conv_algorithm",
        "device",
    },
    "tests/engine/test_random.py": {
        "rand", "randn", "randint", "randperm", "bernoulli", "uniform_", "normal_",
        "trunc_normal_", "manual_seed", "get_rng_state", "set_rng_state",
    },
    "tests/engine/test_norm.py": {"nn.functional.batch_norm_relu"},
    "tests/engine/test_optim_step.py": {"sgd_step", "adamw_step", "grad_norm", "scale_grads"},
}  # fmt: skip
