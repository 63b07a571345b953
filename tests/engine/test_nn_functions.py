"""Functions of engine.nn.functional that draw random numbers or that PyTorch has only as layers,
and what they all promise: layouts, empty batches, second derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest

import engine
from engine.nn import functional as F
from tests.gradcheck import gradcheck
from tests.threads import assert_same_for_any_thread_count

rng = np.random.default_rng(3)


def real(*shape: int) -> engine.Tensor:
    return engine.asarray(rng.uniform(-1, 1, shape))


# ---- random -------------------------------------------------------------------------------------


def whole_channels(y: engine.Tensor) -> np.ndarray:
    """The values of y (N, C, ...), one a channel; fails where a channel has several."""
    rows = y.numpy().reshape(*y.shape[:2], -1)
    assert (rows == rows[..., :1]).all()
    return rows[..., 0]


@pytest.mark.parametrize(
    "dropped, axes",
    [
        (lambda x: F.dropout1d(x, 0.25), 1),
        (lambda x: F.dropout2d(x, 0.25), 2),
        (lambda x: F.dropout3d(x, 0.25), 3),
    ],
)
def test_channel_dropout_drops_a_share_of_the_channels_and_scales_the_rest(dropped, axes) -> None:
    engine.manual_seed(1)
    x = engine.ones((100, 40, *(2,) * axes))
    values = whole_channels(dropped(x))
    assert set(np.unique(values)) == {0, np.float32(1 / 0.75)}
    assert abs((values == 0).mean() - 0.25) < 0.02
    single = dropped(engine.ones((7, *(2,) * axes)))
    assert single.shape == (7, *(2,) * axes)


def test_channel_dropout_is_nothing_in_inference() -> None:
    x = real(1, 2, 3, 3)
    assert F.dropout2d(x, 0.5, training=False) is x
    with pytest.raises(ValueError, match=r"dropout2d: x has shape \(2,\)"):
        F.dropout2d(engine.ones(2))
    with pytest.raises(ValueError, match=r"dropout3d: p=1.5"):
        F.dropout3d(engine.ones((1, 1, 2, 2, 2)), 1.5)


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    engine.manual_seed(2)
    x = engine.randn((400, 500)).astype(engine.float64)
    y = F.alpha_dropout(x, 0.3, training=True).numpy()
    assert abs(y.mean()) < 0.01 and abs(y.var() - 1) < 0.02
    values, counts = np.unique(y, return_counts=True)
    assert abs(counts.max() / y.size - 0.3) < 0.01  # what dropped elements become
    assert values[counts.argmax()] < -1
    assert F.alpha_dropout(x, 0.3) is x
    assert F.alpha_dropout(x, 1.0, training=True).numpy().max() == 0


def test_feature_alpha_dropout_drops_channels() -> None:
    engine.manual_seed(3)
    values = whole_channels(F.feature_alpha_dropout(engine.ones((60, 70, 2, 2)), 0.4, True))
    assert len(np.unique(values)) == 2
    assert abs((values == values.min()).mean() - 0.4) < 0.03


def test_rrelu_draws_slopes_in_training() -> None:
    engine.manual_seed(4)
    x = engine.full((10000,), -1.0)
    x.requires_grad = True
    y = F.rrelu(x, 0.2, 0.6, training=True)
    slopes = -y.detach().numpy()
    assert slopes.min() >= 0.2 and slopes.max() < 0.6 and abs(slopes.mean() - 0.4) < 0.01
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), slopes)
    np.testing.assert_allclose(F.rrelu(x.detach(), 0.2, 0.6).numpy(), -0.4, rtol=1e-6)


def test_gumbel_softmax_draws_classes_with_their_probabilities() -> None:
    engine.manual_seed(5)
    p = np.array([0.1, 0.2, 0.7])
    logits = engine.broadcast_to(engine.asarray(np.log(p)), (20000, 3))
    drawn = F.gumbel_softmax(logits, hard=True)
    assert set(np.unique(np.round(drawn.numpy(), 12))) == {0, 1}
    np.testing.assert_allclose(drawn.numpy().mean(0), p, atol=0.02)


def test_hard_gumbel_softmax_has_the_soft_gradient() -> None:
    grads = []
    for hard in (False, True):
        x = real(4, 3) * 0.0
        x.requires_grad = True
        engine.manual_seed(6)
        (F.gumbel_softmax(x, 0.5, hard) * engine.asarray([1.0, 2.0, 4.0])).sum().backward()
        grads.append(x.grad.numpy())
    np.testing.assert_allclose(grads[0], grads[1], rtol=1e-12)


# ---- recurrent ----------------------------------------------------------------------------------


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def weights(gates: int, size: int, inner: int) -> tuple[engine.Tensor, ...]:
    rows = gates * size
    return real(rows, inner), real(rows, size), real(rows), real(rows)


def test_cells_are_their_formulas() -> None:
    x, h, c = real(2, 3), real(2, 4), real(2, 4)
    w = weights(1, 4, 3)
    wi, wh, bi, bh = (t.numpy() for t in w)
    plain = x.numpy() @ wi.T + bi + h.numpy() @ wh.T + bh
    np.testing.assert_allclose(F.rnn_cell(x, h, *w).numpy(), np.tanh(plain), rtol=1e-12)
    np.testing.assert_allclose(F.rnn_cell(x, h, *w, "relu").numpy(), np.maximum(plain, 0),
                               rtol=1e-12)  # fmt: skip

    w = weights(4, 4, 3)
    wi, wh, bi, bh = (t.numpy() for t in w)
    i, f, g, o = np.split(x.numpy() @ wi.T + bi + h.numpy() @ wh.T + bh, 4, 1)
    new_c = sigmoid(f) * c.numpy() + sigmoid(i) * np.tanh(g)
    got_h, got_c = F.lstm_cell(x, (h, c), *w)
    np.testing.assert_allclose(got_c.numpy(), new_c, rtol=1e-12)
    np.testing.assert_allclose(got_h.numpy(), sigmoid(o) * np.tanh(new_c), rtol=1e-12)

    w = weights(3, 4, 3)
    wi, wh, bi, bh = (t.numpy() for t in w)
    (r, z, n), (rh, zh, nh) = (np.split(a, 3, 1) for a in (x.numpy() @ wi.T + bi,
                                                            h.numpy() @ wh.T + bh))  # fmt: skip
    z = sigmoid(z + zh)
    n = np.tanh(n + sigmoid(r + rh) * nh)
    np.testing.assert_allclose(F.gru_cell(x, h, *w).numpy(), (1 - z) * n + z * h.numpy(),
                               rtol=1e-12)  # fmt: skip


def test_sequences_are_cells_step_by_step() -> None:
    x, h, c = real(5, 2, 3), real(1, 2, 4), real(1, 2, 4)
    w = weights(4, 4, 3)
    y, (last_h, last_c) = F.lstm(x, (h, c), [w])
    state = (h[0], c[0])
    for t in range(5):
        state = F.lstm_cell(x[t], state, *w)
        np.testing.assert_allclose(y[t].numpy(), state[0].numpy(), rtol=1e-12)
    np.testing.assert_allclose(last_c[0].numpy(), state[1].numpy(), rtol=1e-12)
    w = weights(3, 4, 3)
    y, last = F.gru(x, h, [w])
    state = h[0]
    for t in range(5):
        state = F.gru_cell(x[t], state, *w)
    np.testing.assert_allclose(y[4].numpy(), state.numpy(), rtol=1e-12)
    w = weights(1, 4, 3)
    y, last = F.rnn(x, h, [w])
    state = h[0]
    for t in range(5):
        state = F.rnn_cell(x[t], state, *w)
    np.testing.assert_allclose(last[0].numpy(), state.numpy(), rtol=1e-12)


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_gradients_through_time(kind: str) -> None:
    gates = {"rnn": 1, "lstm": 4, "gru": 3}[kind]

    def run(x, h, wi, wh, bi, bh, wi2, wh2):
        layers = [(wi, wh, bi, bh), (wi2, wh2, None, None)]
        state = (h, h * 0.5) if kind == "lstm" else h
        y, last = getattr(F, kind)(x, state, layers, bidirectional=True)
        return y + (last[0] if kind == "lstm" else last).sum()

    shapes = [(3, 2, 2), (2, 2, 2), (2 * gates, 2), (2 * gates, 2), (2 * gates,), (2 * gates,),
              (2 * gates, 2), (2 * gates, 2)]  # fmt: skip
    gradcheck(run, [rng.uniform(-1, 1, shape) for shape in shapes])


def test_dropout_stands_between_layers_in_training_only() -> None:
    x, h = real(3, 2, 4), engine.zeros((2, 2, 4), dtype=engine.float64)
    layers = [weights(1, 4, 4), weights(1, 4, 4)]
    plain, _ = F.rnn(x, h, layers)
    assert F.rnn(x, h, layers, dropout=0.5)[0].tolist() == plain.tolist()
    engine.manual_seed(0)
    assert F.rnn(x, h, layers, dropout=0.5, training=True)[0].tolist() != plain.tolist()


# ---- losses -------------------------------------------------------------------------------------


def test_focal_loss_is_its_formula() -> None:
    x, t = real(5, 3), engine.asarray(rng.integers(0, 2, (5, 3)).astype(np.float64))
    p, truth = sigmoid(x.numpy()), t.numpy()
    right = np.where(truth == 1, p, 1 - p)
    alpha = np.where(truth == 1, 0.3, 0.7)
    wanted = -alpha * (1 - right) ** 1.5 * np.log(right)
    np.testing.assert_allclose(F.sigmoid_focal_loss(x, t, 0.3, 1.5).numpy(), wanted, rtol=1e-10)
    gradcheck(lambda x: F.sigmoid_focal_loss(x, t, reduction="mean"), [x.numpy()])


def test_an_impossible_ctc_target_is_infinite_or_zero() -> None:
    x = F.log_softmax(real(2, 1, 3), 2)
    assert F.ctc_loss(x, engine.asarray([[1, 1]]), [2], [2]).item() == math.inf
    assert F.ctc_loss(x, engine.asarray([[1, 1]]), [2], [2], zero_infinity=True).item() == 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_ctc_in_16_bits_does_not_overflow(dtype: str) -> None:
    x = F.log_softmax(real(6, 1, 3), 2)
    args = (engine.asarray([[1, 2]]), [6], [2])
    wanted, got = F.ctc_loss(x, *args), F.ctc_loss(x.astype(getattr(engine, dtype)), *args)
    assert str(got.dtype) == dtype
    assert abs(float(got) - float(wanted)) < 0.05 * float(wanted)


# ---- layouts, empty batches, second derivatives -------------------------------------------------

IMAGE_FUNCTIONS = {
    "pad": lambda x: F.pad(x, (1, 2, 0, 1)),
    "interpolate": lambda x: F.interpolate(x, (7, 5), mode="bilinear"),
    "bicubic": lambda x: F.interpolate(x, (7, 5), mode="bicubic", antialias=True),
    "group_norm": lambda x: F.group_norm(x, 2),
    "instance_norm": F.instance_norm,
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, engine.ones((4, 3, 2, 2), dtype=x.dtype)),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 2),
    "lp_pool2d": lambda x: F.lp_pool2d(x, 2, 2),
    "hardswish": F.hardswish,
    "grid_sample": lambda x: F.grid_sample(x, engine.zeros((2, 3, 3, 2), dtype=x.dtype)),
}


@pytest.mark.parametrize("name", IMAGE_FUNCTIONS)
def test_channels_last_pictures_stay_so(name: str) -> None:
    x = real(2, 4, 5, 6)
    y = IMAGE_FUNCTIONS[name](x.contiguous("channels_last"))
    assert y.is_contiguous("channels_last")
    np.testing.assert_allclose(y.numpy(), IMAGE_FUNCTIONS[name](x).numpy(), rtol=1e-12, atol=1e-14)


EMPTY = {
    "conv1d": (lambda x: F.conv1d(x, engine.ones((4, 3, 2))), (0, 3, 5), (0, 4, 4)),
    "conv3d": (lambda x: F.conv3d(x, engine.ones((4, 3, 2, 2, 2))), (0, 3, 3, 3, 3),
               (0, 4, 2, 2, 2)),
    "conv_transpose1d": (lambda x: F.conv_transpose1d(x, engine.ones((3, 4, 2))), (0, 3, 5),
                         (0, 4, 6)),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), (0, 3, 6), (0, 3, 3)),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), (0, 3, 4, 4, 4), (0, 3, 2, 2, 2)),
    "unfold": (lambda x: F.unfold(x, 2), (0, 3, 3, 3), (0, 12, 4)),
    "pad": (lambda x: F.pad(x, (1, 1), "reflect"), (0, 3, 4), (0, 3, 6)),
    "interpolate": (lambda x: F.interpolate(x, 6, mode="linear"), (0, 3, 4), (0, 3, 6)),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), (0, 4, 2, 2), (0, 1, 4, 4)),
    "glu": (F.glu, (0, 4), (0, 2)),
    "normalize": (F.normalize, (0, 4), (0, 4)),
    "one_hot": (lambda x: F.one_hot(x.astype(engine.int64), 3), (0,), (0, 3)),
    "pairwise_distance": (lambda x: F.pairwise_distance(x, x), (0, 4), (0,)),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x), (0, 2, 3, 4), (0, 2, 3, 4)),
    "mse_loss": (lambda x: F.mse_loss(x, x, "none"), (0, 3), (0, 3)),
    "rms_norm": (lambda x: F.rms_norm(x, 4), (0, 4), (0, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", EMPTY)
def test_empty_batches(name: str) -> None:
    function, shape, wanted = EMPTY[name]
    x = engine.zeros(shape)
    x.requires_grad = True
    y = function(x)
    assert y.shape == wanted
    if y.requires_grad:
        y.sum().backward()
        assert x.grad.shape == shape


TWICE = {
    "conv1d": (lambda x, w: F.conv1d(x, w, padding=1), (1, 2, 4), (3, 2, 3)),
    "conv2d": (lambda x, w: F.conv2d(x, w, None, (2, 1), 1, 1, 2), (1, 4, 4, 3), (2, 2, 2, 3)),
    "conv3d": (lambda x, w: F.conv3d(x, w), (1, 1, 2, 3, 2), (2, 1, 2, 2, 2)),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, stride=2), (1, 2, 2, 3),
                         (2, 2, 2, 2)),
    "max_pool2d": (lambda x, w: F.max_pool2d(x, 2, 1, 1) * w, (1, 2, 3, 2), (1, 2, 4, 3)),
    "avg_pool3d": (lambda x, w: F.avg_pool3d(x, 2, 1, 1) * w, (1, 1, 2, 2, 2), (1, 1, 3, 3, 3)),
    "bilinear": (lambda x, w: F.bilinear(x, x, w), (2, 3), (2, 3, 3)),
    "unfold": (lambda x, w: F.unfold(x, 2) ** 2 * w.sum(), (1, 1, 3, 3), (1,)),
    "mish": (lambda x, w: F.mish(x) * w, (5,), (5,)),
    "softplus": (lambda x, w: F.softplus(x, 2.0, 1.0) * w, (5,), (5,)),
    "elu": (lambda x, w: F.elu(x, 0.5) * w, (5,), (5,)),
    "hardswish": (lambda x, w: F.hardswish(x) * w, (5,), (5,)),
    "attention": (lambda x, w: F.scaled_dot_product_attention(x, x + w, x, is_causal=True),
                  (1, 3, 2), (1, 3, 2)),
    "lstm_cell": (lambda x, w: F.lstm_cell(x, (x, x), w, w)[1], (1, 1), (4, 1)),
    "interpolate": (lambda x, w: F.interpolate(x, 5, mode="linear") ** 2 * w.sum(), (1, 1, 3),
                    (1,)),
    "huber_loss": (lambda x, w: F.huber_loss(x * w, w), (4,), (4,)),
}  # fmt: skip


@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives(name: str) -> None:
    function, shape, other = TWICE[name]

    def first(x: engine.Tensor, w: engine.Tensor) -> engine.Tensor:
        with engine.enable_grad():
            for t in (x, w):
                if not t.requires_grad:
                    t.requires_grad = True
            y = function(x, w)
            scale = engine.asarray(np.linspace(0.5, 1.5, max(y.size, 1)).reshape(y.shape))
            grads = engine.grad([((y + y * y * 0.5) * scale).sum()], [x, w], create_graph=True)
        return engine.concat([g.reshape((-1,)) for g in grads])

    draw = np.random.default_rng(11)
    gradcheck(first, [draw.uniform(-1, 1, shape), draw.uniform(-1, 1, other)])


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    x = engine.asarray(rng.standard_normal((4, 16, 30, 31)).astype(np.float32))

    def compute() -> list[engine.Tensor]:
        leaf = engine.asarray(x.numpy().copy())
        leaf.requires_grad = True
        columns = F.unfold(leaf, 3, padding=1)
        y = F.fold(columns * columns, (30, 31), 3, padding=1)
        up = F.conv_transpose2d(leaf, engine.ones((16, 4, 2, 2)), stride=2)
        (y.sum() + F.mish(up).sum()).backward()
        return [columns.detach(), y.detach(), up.detach(), leaf.grad]

    assert_same_for_any_thread_count(compute)
