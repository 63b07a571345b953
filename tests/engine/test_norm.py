"""Batch and layer normalisation beyond the rows of op_specs.py: statistics, layouts, fusion."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import _C
from tests import reference as ref
from tests.gradcheck import gradcheck, gradgradcheck
from tests.threads import assert_same_for_any_thread_count

rng = np.random.default_rng(1502)


def leaf(a: np.ndarray) -> engine.Tensor:
    t = engine.asarray(np.array(a))
    t.requires_grad = True
    return t


def parameters(channels: int, dtype: str = "float32") -> list[np.ndarray]:
    weight = rng.uniform(0.5, 2.0, channels)
    return [weight.astype(dtype), rng.standard_normal(channels).astype(dtype)]


# 5, 16, 17 and 67 channels: less than a vector, whole vectors, and whole vectors with a rest.
@pytest.mark.parametrize("shape", [(9, 5), (3, 17, 6), (4, 16, 5, 3), (2, 67, 9, 7), (70, 3, 2, 2)])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("with_residual", [False, True])
def test_training_matches_the_formula_in_any_rank(shape, relu, with_residual) -> None:
    x = rng.standard_normal(shape)
    weight, bias = parameters(shape[1], "float64")
    residual = rng.standard_normal(shape) if with_residual else None
    y = _C.batch_norm(
        engine.asarray(x), engine.asarray(weight), engine.asarray(bias), training=True,
        residual=None if residual is None else engine.asarray(residual), relu=relu,
    )  # fmt: skip
    wanted = ref.batch_norm(x, weight, bias, None, None, True, residual=residual, relu=relu)
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape", [(6, 3), (3, 2, 4), (2, 17, 2, 3)])
@pytest.mark.parametrize("training", [False, True])
def test_fused_gradients_match_finite_differences(shape, training) -> None:
    channels = shape[1]
    mean, var = rng.standard_normal(channels), rng.uniform(0.5, 2.0, channels)

    def fused(x, weight, bias, residual):
        stats = (engine.asarray(mean.copy()), engine.asarray(var.copy()))
        return _C.batch_norm(x, weight, bias, *stats, training, residual=residual, relu=True)

    weight, bias = parameters(channels, "float64")
    gradcheck(fused, [rng.standard_normal(shape), weight, bias, rng.standard_normal(shape)])


def test_relu_without_residual_has_the_gradient_of_the_unfused_pair() -> None:
    x, g = rng.standard_normal((2, 4, 8, 5, 19)).astype(np.float32)
    weight, bias = parameters(8)
    grads = []
    for fused in (True, False):
        leaves = [leaf(x), leaf(weight), leaf(bias)]
        y = _C.batch_norm(*leaves, training=True, relu=fused)
        (y if fused else _C.relu(y)).backward(engine.asarray(g))
        grads.append([t.grad.numpy() for t in leaves])
    for a, b in zip(*grads, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_channels_first_and_channels_last_give_the_same_bits() -> None:
    x = rng.standard_normal((2, 19, 6, 5)).astype(np.float32)
    weight, bias = (engine.asarray(p) for p in parameters(19))
    first = _C.batch_norm(engine.asarray(x), weight, bias, training=True)
    last = _C.batch_norm(engine.asarray(x).contiguous("channels_last"), weight, bias, training=True)
    assert first.numpy().tobytes() == last.numpy().tobytes()


def test_output_is_channels_last() -> None:
    x = leaf(rng.standard_normal((2, 3, 4, 5)).astype(np.float32))
    y = _C.batch_norm(x, training=True)
    assert y.is_contiguous(memory_format="channels_last")


def test_running_statistics_take_the_unbiased_variance() -> None:
    x = rng.standard_normal((4, 3, 5, 5)) * 2 + 1
    mean, var = engine.zeros(3, dtype=engine.float64), engine.ones(3, dtype=engine.float64)
    _C.batch_norm(engine.asarray(x), None, None, mean, var, True, momentum=0.3)
    np.testing.assert_allclose(mean.numpy(), 0.3 * x.mean((0, 2, 3)), rtol=1e-12)
    np.testing.assert_allclose(var.numpy(), 0.7 + 0.3 * x.var((0, 2, 3), ddof=1), rtol=1e-12)


def test_running_statistics_count_the_change_in_place() -> None:
    mean, var = engine.zeros(3), engine.ones(3)
    before = mean.version, var.version
    _C.batch_norm(engine.ones((2, 3, 2, 2)), None, None, mean, var, True)
    assert mean.version > before[0] and var.version > before[1]


def test_inference_leaves_running_statistics_alone() -> None:
    mean, var = engine.zeros(3), engine.ones(3)
    _C.batch_norm(engine.asarray(rng.standard_normal((2, 3, 4, 4))), None, None, mean, var, False)
    assert mean.tolist() == [0, 0, 0] and var.tolist() == [1, 1, 1]


@pytest.mark.parametrize("relu", [False, True])
def test_frozen_statistics_pass_gradients_to_a_trainable_input(relu) -> None:
    x, weight, bias = rng.standard_normal((3, 5, 2, 2)), *parameters(5, "float64")
    mean, var = rng.standard_normal(5), rng.uniform(0.5, 2, 5)
    frozen = [engine.asarray(a) for a in (weight, bias, mean, var)]
    gradcheck(lambda t: _C.batch_norm(t, *frozen, False, relu=relu), [x])


def test_large_mean_does_not_hide_a_small_variance() -> None:
    x = (rng.standard_normal((64, 3, 16, 16)) * 0.01 + 1000).astype(np.float32)
    var = engine.zeros(3)
    _C.batch_norm(engine.asarray(x), None, None, engine.zeros(3), var, True, momentum=1.0)
    wanted = x.astype(np.float64).var((0, 2, 3), ddof=1)
    np.testing.assert_allclose(var.numpy(), wanted, rtol=1e-4)


def test_constant_channel_normalises_to_the_bias() -> None:
    x = engine.full((4, 2, 3, 3), 7.25)
    y = _C.batch_norm(x, engine.ones(2), engine.asarray([0.5, -0.5]), training=True)
    np.testing.assert_allclose(y[:, 0].numpy(), 0.5, atol=1e-3)
    np.testing.assert_allclose(y[:, 1].numpy(), -0.5, atol=1e-3)


def test_relu_keeps_nan() -> None:
    x = engine.asarray([[np.nan, -1.0], [2.0, 1.0]])
    stats = engine.zeros(2), engine.ones(2)
    y = _C.batch_norm(x, None, None, *stats, False, relu=True).numpy()
    assert np.isnan(y[0, 0]) and y[0, 1] == 0 and y[1, 0] > 0


def test_one_value_per_channel_cannot_be_trained_on() -> None:
    with pytest.raises(ValueError, match=r"\(1, 3, 1, 1\) has 1 value.*larger batch.*eval\(\)"):
        _C.batch_norm(engine.ones((1, 3, 1, 1)), training=True)


@pytest.mark.parametrize("name", ["weight", "bias", "running_mean", "running_var", "residual"])
def test_wrong_shapes_are_named(name) -> None:
    with pytest.raises(ValueError, match=rf"{name} has shape \(4,\)"):
        _C.batch_norm(engine.ones((2, 3, 2, 2)), training=True, **{name: engine.ones(4)})


def test_integers_are_refused() -> None:
    with pytest.raises(TypeError, match=r"int64 \(2, 3\).*astype"):
        _C.batch_norm(engine.ones((2, 3), dtype=engine.int64), training=True)


def test_inference_without_statistics_is_refused() -> None:
    with pytest.raises(ValueError, match="running_mean and running_var"):
        _C.batch_norm(engine.ones((2, 3)))


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_second_derivative_of_every_operand(training, relu) -> None:
    mean, var = rng.standard_normal(3), rng.uniform(0.5, 1.5, 3)
    arrays = [rng.standard_normal((2, 3, 2, 2)), *parameters(3), rng.standard_normal((2, 3, 2, 2))]
    arrays = [a.astype(np.float64) for a in arrays]

    def norm(x, weight, bias, residual, *statistics):
        return _C.batch_norm(
            x, weight, bias, *(statistics or (None, None)), training=training, residual=residual,
            relu=relu,
        )  # fmt: skip

    gradgradcheck(norm, arrays if training else [*arrays, mean, var], rtol=1e-4, atol=1e-6)


def test_batch_norm_is_the_same_for_any_thread_count() -> None:
    x = rng.standard_normal((6, 24, 33, 31)).astype(np.float32)
    g, residual = (rng.standard_normal(x.shape).astype(np.float32) for _ in range(2))
    weight, bias = parameters(24)

    def compute():
        leaves = [leaf(a) for a in (x, weight, bias, residual)]
        var = engine.ones(24)
        y = _C.batch_norm(*leaves[:3], engine.zeros(24), var, True, residual=leaves[3], relu=True)
        y.backward(engine.asarray(g))
        return [y, var, *(t.grad for t in leaves)]

    assert_same_for_any_thread_count(compute)


def test_layer_norm_is_the_same_for_any_thread_count() -> None:
    x, g = rng.standard_normal((2, 500, 131)).astype(np.float32)
    weight, bias = parameters(131)

    def compute():
        leaves = [leaf(a) for a in (x, weight, bias)]
        y = _C.layer_norm(leaves[0], [131], *leaves[1:])
        y.backward(engine.asarray(g))
        return [y, *(t.grad for t in leaves)]

    assert_same_for_any_thread_count(compute)


@pytest.mark.parametrize("width", [1, 3, 16, 64, 70, 1500])
def test_layer_norm_of_any_width_matches_the_formula(width) -> None:
    x = rng.standard_normal((5, width)).astype(np.float32)
    weight, bias = parameters(width)
    y = _C.layer_norm(engine.asarray(x), [width], engine.asarray(weight), engine.asarray(bias))
    wanted = ref.layer_norm(x.astype(np.float64), (width,), weight, bias)
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-5, atol=2e-5)


def test_layer_norm_of_no_rows_has_zero_parameter_gradients() -> None:
    weight, bias = leaf(np.ones(4)), leaf(np.zeros(4))
    _C.layer_norm(engine.zeros((0, 4), dtype=engine.float64), [4], weight, bias).sum().backward()
    assert weight.grad.tolist() == [0] * 4 and bias.grad.tolist() == [0] * 4


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sixteen_bit_inputs_are_normalised_in_float32(dtype) -> None:
    x = engine.asarray(rng.standard_normal((64, 3)).astype(np.float32)).astype(
        getattr(engine, dtype)
    )
    y = _C.batch_norm(x, training=True)
    assert y.dtype == x.dtype
    wanted = _C.batch_norm(x.astype(engine.float32), training=True).numpy()
    np.testing.assert_allclose(y.astype(engine.float32).numpy(), wanted, rtol=1e-2, atol=1e-2)


def test_batch_norm_relu_is_its_parts() -> None:
    rng = np.random.default_rng(8)
    x, residual = (engine.asarray(rng.standard_normal((4, 3, 5, 5))) for _ in range(2))
    weight, bias = (engine.asarray(rng.standard_normal(3)) for _ in range(2))
    fused = engine.nn.functional.batch_norm_relu(x, None, None, weight, bias, True,
                                                 residual=residual)  # fmt: skip
    plain = engine.nn.functional.batch_norm(x, None, None, weight, bias, True) + residual
    np.testing.assert_allclose(fused.numpy(), engine.relu(plain).numpy(), rtol=1e-12, atol=1e-12)
