"""Layers: parameters' shapes, both modes, and values against the naive numpy versions."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import nn
from tests import reference as ref

rng = np.random.default_rng(20121203)


def real(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    return {key: value.shape for key, value in module.state_dict().items()}


def close(actual: engine.Tensor, wanted: np.ndarray, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(actual.detach().numpy(), wanted, rtol=tolerance, atol=tolerance)


def test_linear() -> None:
    layer, x = nn.Linear(5, 3), real(2, 4, 5)
    w, b = (p.detach().numpy() for p in layer.parameters())
    assert shapes(layer) == {"weight": (3, 5), "bias": (3,)}
    close(layer(engine.asarray(x)), x @ w.T + b)


def test_linear_without_bias_has_no_key_for_it() -> None:
    assert shapes(nn.Linear(5, 3, bias=False)) == {"weight": (3, 5)}


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0)])
def test_linear_refuses_sizes_below_one(sizes: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="expected 1 or more"):
        nn.Linear(*sizes)


@pytest.mark.parametrize(
    "kernel, stride, padding, dilation, groups",
    [(3, 1, 1, 1, 1), ((3, 2), (2, 1), (1, 0), (1, 2), 1), (3, 2, 1, 1, 2), (1, 1, 0, 1, 4)],
)
def test_conv2d(kernel, stride, padding, dilation, groups) -> None:
    layer = nn.Conv2d(4, 8, kernel, stride, padding, dilation, groups)
    x = real(2, 4, 9, 8)
    w, b = (p.detach().numpy() for p in layer.parameters())
    assert w.shape == (8, 4 // groups, *nn.functional.pair(kernel))
    pairs = map(nn.functional.pair, (stride, padding, dilation))
    close(layer(engine.asarray(x)), ref.conv2d(x, w, b, *pairs, groups))


def test_conv2d_refuses_groups_that_do_not_divide() -> None:
    with pytest.raises(ValueError, match="out_channels=6, groups=4"):
        nn.Conv2d(4, 6, 3, groups=4)


def test_a_pair_of_three_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="kernel_size: expected an int or two ints"):
        nn.Conv2d(3, 4, (3, 3, 3))


def test_batch_norm_normalises_by_the_batch_and_moves_the_running_statistics() -> None:
    layer, x = nn.BatchNorm2d(3, momentum=0.2), real(4, 3, 5, 5) * 3 + 1
    close(layer(engine.asarray(x)), ref.batch_norm(x, None, None, None, None, training=True))
    mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), ddof=1)
    close(layer.running_mean, 0.2 * mean)
    close(layer.running_var, 0.8 + 0.2 * var)
    assert layer.num_batches_tracked.item() == 1


def test_batch_norm_in_inference_uses_and_keeps_the_running_statistics() -> None:
    layer, x = nn.BatchNorm2d(3).eval(), real(4, 3, 5, 5)
    layer.load_state_dict(
        {
            "weight": np.float32([1, 2, 3]),
            "bias": np.float32([0, 1, 2]),
            "running_mean": np.float32([0.1, 0.2, 0.3]),
            "running_var": np.float32([1, 4, 9]),
        }
    )
    state = {key: value.numpy().copy() for key, value in layer.state_dict().items()}
    w, b, mean, var, _ = state.values()
    close(layer(engine.asarray(x)), ref.batch_norm(x, w, b, mean, var))
    assert all((layer.state_dict()[k].numpy() == v).all() for k, v in state.items())


def test_batch_norm_without_momentum_averages_all_batches_alike() -> None:
    layer, batches = nn.BatchNorm2d(2, momentum=None), [real(4, 2, 3, 3) + i for i in range(3)]
    for batch in batches:
        layer(engine.asarray(batch))
    close(layer.running_mean, np.mean([b.mean((0, 2, 3)) for b in batches], 0))
    close(layer.running_var, np.mean([b.var((0, 2, 3), ddof=1) for b in batches], 0))


def test_batch_norm_that_tracks_nothing_uses_the_batch_in_inference_too() -> None:
    layer, x = nn.BatchNorm2d(3, track_running_stats=False).eval(), real(4, 3, 5, 5)
    assert list(layer.state_dict()) == ["weight", "bias"]
    close(layer(engine.asarray(x)), ref.batch_norm(x, None, None, None, None, training=True))


def test_batch_norm_fuses_residual_and_relu() -> None:
    layer, x, r = nn.BatchNorm2d(3), real(4, 3, 5, 5), real(4, 3, 5, 5)
    y = layer(engine.asarray(x), residual=engine.asarray(r), relu=True)
    close(y, np.maximum(ref.batch_norm(x, None, None, None, None, training=True) + r, 0))


def test_a_refused_batch_is_not_counted() -> None:
    layer = nn.BatchNorm2d(3)
    with pytest.raises(ValueError, match="variance needs at least 2"):
        layer(engine.ones((1, 3, 1, 1)))
    assert layer.num_batches_tracked.item() == 0


@pytest.mark.parametrize("shape", [6, (4, 6)])
def test_layer_norm(shape) -> None:
    layer, x = nn.LayerNorm(shape), real(2, 4, 6)
    axes = (2,) if shape == 6 else (1, 2)
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    close(layer(engine.asarray(x)), (x - mean) / np.sqrt(var + 1e-5))
    assert set(shapes(layer)) == {"weight", "bias"}


def test_max_pool_takes_its_stride_from_the_kernel() -> None:
    x = real(1, 2, 4, 4)
    y = nn.MaxPool2d(2)(engine.asarray(x))
    close(y, x.reshape(1, 2, 2, 2, 2, 2).max((3, 5)))


def test_max_pool_of_resnets_stem_halves_the_size() -> None:
    assert nn.MaxPool2d(3, stride=2, padding=1)(engine.ones((1, 2, 7, 8))).shape == (1, 2, 4, 4)


def test_max_pool_shows_nan() -> None:
    """Field case E-04."""
    x = engine.asarray([[[[float("nan"), 1.0, 2.0, 3.0]]]])
    np.testing.assert_array_equal(nn.MaxPool2d((1, 2))(x).numpy().ravel(), [np.nan, 3])


def test_avg_pool() -> None:
    x = real(1, 2, 4, 6)
    close(nn.AvgPool2d(2)(engine.asarray(x)), x.reshape(1, 2, 2, 2, 3, 2).mean((3, 5)))


def test_adaptive_avg_pool_to_one_is_the_mean() -> None:
    x = real(2, 3, 7, 5)
    close(nn.AdaptiveAvgPool2d(1)(engine.asarray(x)), x.mean((2, 3), keepdims=True))


def test_dropout_scales_what_it_keeps() -> None:
    engine.manual_seed(0)
    y = nn.Dropout(0.25)(engine.ones(10_000)).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1) / np.float32(0.75)}
    assert abs((y == 0).mean() - 0.25) < 0.02


def test_dropout_is_the_identity_in_inference() -> None:
    x = engine.ones(8)
    assert nn.Dropout(0.9).eval()(x) is x


def test_dropout_with_a_generator_repeats() -> None:
    draws = [nn.Dropout(0.5, engine.Generator(3))(engine.ones(64)).tolist() for _ in range(2)]
    assert draws[0] == draws[1]


def test_dropout_refuses_what_is_no_probability() -> None:
    with pytest.raises(ValueError, match="p=1.5; expected a probability"):
        nn.Dropout(1.5)


def test_embedding_looks_rows_up() -> None:
    layer = nn.Embedding(5, 3)
    table = layer.weight.detach().numpy()
    close(layer(engine.asarray([[4, 0], [4, 4]])), table[[[4, 0], [4, 4]]])


def test_flatten_is_row_major_whatever_the_memory_order() -> None:
    x = real(2, 3, 2, 2)
    channels_last = engine.asarray(x).contiguous(memory_format="channels_last")
    close(nn.Flatten()(channels_last), x.reshape(2, 12))


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_is_odd_around_half_of_x(approximate: str) -> None:
    """GELU(x) + GELU(-x) = x (Phi(x) - Phi(-x)), and GELU(x) - GELU(-x) = x."""
    x = real(50)
    gelu = nn.GELU(approximate)
    close(gelu(engine.asarray(x)) - gelu(engine.asarray(-x)), x)


def test_gelu_refuses_another_approximation() -> None:
    with pytest.raises(ValueError, match="approximate='fast'"):
        nn.GELU("fast")


def test_cross_entropy_weighs_classes_and_smooths() -> None:
    logits, target = real(4, 3), np.array([0, 2, 1, 2])
    weight = np.float32([1, 2, 3])
    loss = nn.CrossEntropyLoss(engine.asarray(weight), label_smoothing=0.1)
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    picked = -weight[target] * log_p[range(4), target]
    spread = -(weight * log_p).sum(1) / 3
    wanted = (0.9 * picked + 0.1 * spread).sum() / weight[target].sum()
    close(loss(engine.asarray(logits), engine.asarray(target)), wanted)


def test_cross_entropy_leaves_ignored_targets_out() -> None:
    logits, target = real(3, 4), np.array([1, -100, 3])
    both = nn.CrossEntropyLoss()(engine.asarray(logits), engine.asarray(target))
    seen = nn.CrossEntropyLoss()(engine.asarray(logits[[0, 2]]), engine.asarray(target[[0, 2]]))
    assert both.item() == pytest.approx(seen.item(), rel=1e-6)


def test_cross_entropy_refuses_another_reduction() -> None:
    with pytest.raises(ValueError, match="reduction='max'"):
        nn.CrossEntropyLoss(reduction="max")


def test_normalize_images_reads_pictures_as_they_are_decoded() -> None:
    pictures = rng.integers(0, 256, (2, 5, 4, 3), np.uint8)  # (N, H, W, C)
    x = engine.from_numpy(pictures).permute_dims((0, 3, 1, 2))
    mean, std = (0.4, 0.5, 0.6), (0.2, 0.3, 0.4)
    y = nn.functional.normalize_images(x, mean, std)
    wanted = ((pictures / 255 - mean) / std).transpose(0, 3, 1, 2)
    close(y, wanted)
    assert y.is_contiguous(memory_format="channels_last")
