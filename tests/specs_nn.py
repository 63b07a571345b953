"""Op specs of neural-network routines.

The native ones have rows. Those of engine.nn.functional are calls in tests/engine/parity_cases.py,
which test_parity.py expands as test_ops.py does a row: values and gradients against PyTorch's,
finite differences, every memory layout, float32; tests/engine/test_nn_errors.py has their errors.
"""

from __future__ import annotations

import numpy as np

import engine
from tests.op_specs import Op, apart, real, s, unary


def _selu(x):
    alpha, scale = 1.6732632423543772848, 1.0507009873554804934
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _mish(x):
    return x * np.tanh(np.log1p(np.exp(x)))


def _elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _celu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha))


def _softplus(x, beta=1.0, threshold=20.0):
    return np.where(beta * x > threshold, x, np.log1p(np.exp(np.minimum(beta * x, 500))) / beta)


def _shrink(x, lambd=0.5):
    return np.sign(x) * np.maximum(np.abs(x) - lambd, 0)


def _parametric(name, reference, *args) -> Op:
    samples = [s(apart(3, 5)), s(apart(40), *args), s(apart(0, 3)), s(np.asarray(0.37), *args)]
    if name == "threshold":
        samples = [s(x, *args) for x in (apart(3, 5), apart(40), apart(0, 3))]
    return Op(name, reference, samples, errors=[(([1.0], *args), TypeError, "engine.Tensor")])


ACTIVATIONS = [
    unary("relu6", lambda x: np.clip(x, 0, 6), low=-9.0, high=9.0),
    unary("selu", _selu, values=apart),
    unary("softsign", lambda x: x / (1 + np.abs(x)), values=apart),
    unary("tanhshrink", lambda x: x - np.tanh(x)),
    unary("logsigmoid", lambda x: -np.logaddexp(0, -x), low=-50.0, high=50.0),
    unary("hardsigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1), low=-5.0, high=5.0),
    unary("hardswish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), low=-5.0, high=5.0),
    unary("mish", _mish, low=-9.0, high=9.0),
    _parametric("elu", _elu, 0.7),
    _parametric("celu", _celu, 0.7),
    _parametric("hardtanh", lambda x, low=-1.0, high=1.0: np.clip(x, low, high), -0.42, 0.72),
    _parametric("softplus", _softplus, 3.0, 1.0),
    _parametric("softshrink", _shrink, 0.72),
    _parametric("hardshrink", lambda x, lambd=0.5: np.where(np.abs(x) > lambd, x, 0), 0.72),
    _parametric("threshold", lambda x, limit, value: np.where(x > limit, x, value), 0.22, -3.0),
]


def _transposed(x, w, b=None, stride=(1, 1), padding=(0, 0), output_padding=(0, 0), groups=1,
                dilation=(1, 1)):  # fmt: skip
    """Each element of x adds its window to the picture."""
    n, c, h, wd = x.shape
    _, per, kh, kw = w.shape
    (sh, sw), (ph, pw), (dh, dw) = stride, padding, dilation
    oh = (h - 1) * sh + dh * (kh - 1) + 1 + output_padding[0]
    ow = (wd - 1) * sw + dw * (kw - 1) + 1 + output_padding[1]
    y = np.zeros((n, per * groups, oh, ow))
    for g in range(groups):
        own = slice(g * c // groups, (g + 1) * c // groups)
        for i in range(kh):
            for j in range(kw):
                part = np.einsum("nchw,ck->nkhw", x[:, own], w[own, :, i, j])
                y[:, g * per : (g + 1) * per, i * dh : i * dh + sh * (h - 1) + 1 : sh,
                  j * dw : j * dw + sw * (wd - 1) + 1 : sw] += part  # fmt: skip
    y = y[:, :, ph : oh - ph, pw : ow - pw]
    return y if b is None else y + b[:, None, None]


CONVOLUTION = [
    Op("conv_transpose2d", _transposed, [
        s(real(2, 3, 4, 3), real(3, 2, 3, 2), real(2)),
        s(real(1, 4, 3, 4), real(4, 2, 3, 3), real(4), (2, 3), (1, 0), (1, 2), 2),
        s(real(1, 2, 3, 3), real(2, 3, 2, 2), None, (1, 2), (0, 1), (0, 0), 1, (2, 1)),
        s(real(0, 2, 3, 3), real(2, 3, 2, 2))],
       errors=[((np.ones((1, 3, 4, 4)), np.ones((2, 3, 3, 3))), ValueError, "has 3 channels"),
               ((np.ones((3, 4, 4)), np.ones((3, 2, 3, 3))), ValueError, r"\(N, C, H, W\)"),
               ((np.ones((1, 1, 1, 1)), np.ones((1, 1, 1, 1)), None, (1, 1), (1, 1)), ValueError,
                "size -1"),
               ((np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 1)), None, (1, 1), (0, 0), (1, 1)),
                ValueError, "output_padding 1 must be smaller")]),
]  # fmt: skip

OPS = [*ACTIVATIONS, *CONVOLUTION]

OTHERWISE_TESTED: dict[str, set[str]] = {
    "tests/engine/parity_cases.py": {
        f"nn.functional.{name}" for name in (
            "adaptive_avg_pool1d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
            "adaptive_max_pool2d", "adaptive_max_pool3d", "affine_grid", "avg_pool1d",
            "avg_pool3d", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits",
            "channel_shuffle", "conv1d", "conv3d", "conv_transpose1d", "conv_transpose3d",
            "cosine_embedding_loss", "cosine_similarity", "ctc_loss", "embedding_bag", "fold",
            "gaussian_nll_loss", "glu", "grid_sample", "group_norm", "hinge_embedding_loss",
            "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss",
            "local_response_norm", "lp_pool1d", "lp_pool2d", "lp_pool3d", "margin_ranking_loss",
            "max_pool1d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mse_loss",
            "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
            "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance", "pdist",
            "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "prelu", "rms_norm",
            "scaled_dot_product_attention", "smooth_l1_loss", "soft_margin_loss", "softmin",
            "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold",
        )
        if not hasattr(engine, name)  # else it counts there
    },
    "tests/engine/test_attention.py": {"nn.functional.self_attention"},
    "tests/engine/test_linear_cross_entropy.py": {"nn.functional.linear_cross_entropy"},
    "tests/engine/test_quantized.py": {
        f"nn.functional.{name}" for name in ("dequantize", "quantize", "quantized_linear")
    },
    "tests/engine/test_nn_functions.py": {
        f"nn.functional.{name}" for name in (
            "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout", "gru",
            "gru_cell", "gumbel_softmax", "lstm", "lstm_cell", "rnn", "rnn_cell", "rrelu",
            "sigmoid_focal_loss",
        )
    },
}  # fmt: skip
