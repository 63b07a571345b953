"""Weights of 16, 8 and 4 bits: how far they are off, and products with them."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import nn
from engine.nn import functional as F
from tests.threads import assert_same_for_any_thread_count

KINDS = ["bfloat16", "int8", "int4"]
rng = np.random.default_rng(48)


def draw(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def worst_of(weight: np.ndarray, kind: str) -> np.ndarray:
    """How far each weight may be off."""
    a = np.abs(weight)
    if kind == "bfloat16":
        return a * 2.0**-8
    if kind == "int8":
        return np.broadcast_to(a.max(1, keepdims=True) / 254, a.shape) * (1 + 1e-5)
    groups = a.reshape(len(a), -1, 32)
    return np.broadcast_to(groups.max(-1, keepdims=True) / 7, groups.shape).reshape(a.shape)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spread", [1e-20, 1.0, 1e20])
def test_weights_are_off_by_what_is_promised_at_most(kind, spread) -> None:
    weight = draw(50, 96) * np.float32(spread) * np.exp(draw(50, 1))
    weight[3] = 0
    codes, scales = F.quantize(engine.asarray(weight), kind)
    off = np.abs(F.dequantize(codes, scales).numpy() - weight)
    assert (off <= worst_of(weight, kind)).all()
    assert not off[3].any()
    assert off.max() > 0


def test_int4_is_mostly_within_half_a_step() -> None:
    weight = draw(200, 64)
    off = np.abs(F.dequantize(*F.quantize(engine.asarray(weight), "int4")).numpy() - weight)
    assert (off <= worst_of(weight, "int4") * 7 / 15.9).mean() > 0.97


def test_bytes_of_each_kind() -> None:
    weight = engine.asarray(draw(10, 64))
    sizes = {"bfloat16": (1280, 0), "int8": (640, 40), "int4": (320, 40)}
    for kind, (bytes_of_codes, bytes_of_scales) in sizes.items():
        codes, scales = F.quantize(weight, kind)
        assert codes.nbytes == bytes_of_codes
        assert (0 if scales is None else scales.nbytes) == bytes_of_scales


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 5, 8, 9, 130])
@pytest.mark.parametrize("kind", KINDS)
def test_product_is_that_of_the_unpacked_weights(kind, rows) -> None:
    for out, width in [(1, 32), (7, 96), (4100, 64)] + ([] if kind == "int4" else [(9, 53)]):
        codes, scales = F.quantize(engine.asarray(draw(out, width)), kind)
        x, bias = draw(rows, width), draw(out)
        y = F.quantized_linear(engine.asarray(x), codes, scales, engine.asarray(bias)).numpy()
        wide = F.dequantize(codes, scales).numpy().astype(np.float64)
        np.testing.assert_allclose(y, x @ wide.T + bias, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_any_strides_and_axes(kind) -> None:
    weight = draw(40, 64)
    codes, scales = F.quantize(engine.asarray(weight.T.copy()).T, kind)
    x = engine.asarray(draw(64, 3, 5)).T  # (5, 3, 64)
    y = F.quantized_linear(x, codes, scales)
    assert y.shape == (5, 3, 40)
    wanted = x.numpy() @ F.dequantize(*F.quantize(engine.asarray(weight), kind)).numpy().T
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_gradients_of_input_and_bias() -> None:
    codes, scales = F.quantize(engine.asarray(draw(6, 32)), "int4")
    x, bias = engine.asarray(draw(2, 3, 32)), engine.asarray(draw(6))
    x.requires_grad = bias.requires_grad = True
    g = draw(2, 3, 6)
    F.quantized_linear(x, codes, scales, bias).backward(engine.asarray(g))
    np.testing.assert_allclose(x.grad.numpy(), g @ F.dequantize(codes, scales).numpy(), rtol=1e-5,
                               atol=1e-6)  # fmt: skip
    np.testing.assert_allclose(bias.grad.numpy(), g.sum((0, 1)), rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_layer_is_the_layer_it_was_made_from(kind) -> None:
    engine.manual_seed(0)
    linear = nn.Linear(64, 30)
    made = nn.QuantizedLinear.from_linear(linear, kind)
    x = engine.asarray(draw(4, 64))
    off = np.abs(made(x).detach().numpy() - linear(x).detach().numpy())
    bound = worst_of(linear.weight.detach().numpy(), kind) @ np.abs(x.numpy()).T
    assert (off.T <= bound + 1e-5).all()
    other = nn.QuantizedLinear(64, 30, kind)
    other.load_state_dict(made.state_dict())
    np.testing.assert_array_equal(other(x).detach().numpy(), made(x).detach().numpy())
    assert kind in repr(made)


@pytest.mark.parametrize("kind", KINDS)
def test_results_do_not_depend_on_the_number_of_threads(kind) -> None:
    codes, scales = F.quantize(engine.asarray(draw(3001, 128)), kind)
    few, many = engine.asarray(draw(3, 128)), engine.asarray(draw(40, 128))
    assert_same_for_any_thread_count(
        lambda: [F.quantized_linear(x, codes, scales) for x in (few, many)]
    )


def codes_of(kind: str) -> tuple[engine.Tensor, engine.Tensor | None]:
    return F.quantize(engine.ones((3, 32)), kind)


ERRORS = [
    (lambda: F.quantize(engine.ones((2, 3)), "int4"), ValueError, r"\(2, 3\).*multiple of 32"),
    (lambda: F.quantize(engine.ones((2, 3)), "int3"), ValueError, "int3"),
    (lambda: F.quantize(engine.ones(3), "int8"), ValueError, r"expected \(out, in\)"),
    (lambda: F.quantize(engine.asarray([[float("nan")]]), "int8"), ValueError, "NaN"),
    (lambda: F.quantized_linear(engine.ones((1, 31)), *codes_of("int8")), ValueError,
     r"\(1, 31\), expected \(..., 32\)"),
    (lambda: F.quantized_linear(engine.ones((1, 32), dtype=engine.float64), *codes_of("int8")),
     TypeError, "float64"),
    (lambda: F.quantized_linear(engine.ones((1, 32)), codes_of("int8")[0]), TypeError,
     "scales are None, expected float32"),
    (lambda: F.quantized_linear(engine.ones((1, 32)), codes_of("bfloat16")[0], engine.ones(3)),
     TypeError, "no scales"),
    (lambda: F.quantized_linear(engine.ones((1, 32)), engine.ones((3, 32))), TypeError,
     "expected bfloat16, int8, or uint8"),
    (lambda: F.quantized_linear(engine.ones((1, 32)), *codes_of("int8"), engine.ones(2)),
     ValueError, r"bias is .*\(3,\)"),
    (lambda: nn.QuantizedLinear(0, 3), ValueError, "in_features=0"),
]  # fmt: skip


@pytest.mark.parametrize("call, error, text", ERRORS)
def test_errors(call, error, text) -> None:
    with pytest.raises(error, match=text):
        call()
