"""Calls whose results PyTorch has given: make_parity.py stores them, test_parity.py compares.

A case calls `L.F` (torch.nn.functional, then torch; or engine.nn.functional) in a way that both
understand, on arrays drawn from a seed of its own, so that only results are stored.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Make = Callable[[np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Case:
    name: str
    run: Callable[..., Any]
    inputs: tuple[Make, ...]

    def arrays(self) -> list[tuple[np.ndarray, bool]]:
        """The inputs, and which have a gradient."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        made = [(make(rng), not isinstance(make, Fixed)) for make in self.inputs]
        return [(a, differs and a.dtype == np.float64) for a, differs in made]

    def weights(self, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
        """What the results are multiplied by before they are added up and differentiated."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()) + 1)
        return [np.asarray(rng.uniform(0.5, 1.5, shape)) for shape in shapes]


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Make:
    """Floats have gradients."""
    return lambda rng: np.asarray(rng.uniform(low, high, shape))


class Fixed:
    """Floats without a gradient: weights of classes, running statistics."""

    def __init__(self, make: Make) -> None:
        self.make = make

    def __call__(self, rng: np.random.Generator) -> np.ndarray:
        return self.make(rng)


def apart(*shape: int) -> Make:
    """Distinct values, so that a finite step changes no order."""
    n = int(np.prod(shape))
    return lambda rng: (rng.permutation(n) - n // 2).reshape(shape) * 0.1 + 0.03


def whole(*shape: int, low: int = 0, high: int = 4) -> Make:
    return lambda rng: np.asarray(rng.integers(low, high, shape))


def signs(*shape: int) -> Make:
    return lambda rng: rng.integers(0, 2, shape) * 2 - 1


def mask(*shape: int) -> Make:
    return lambda rng: rng.random(shape) > 0.4


def given(value: Any) -> Make:
    return lambda rng: np.asarray(value)


CASES: list[Case] = []
# Where the gradient, by definition, is not the derivative.
NOT_DERIVATIVES = {"embedding padding_idx"}


def case(name: str, run: Callable[..., Any], *inputs: Make) -> None:
    CASES.append(Case(name, run, inputs))


PROB = {"low": 0.05, "high": 0.95}

# ---- padding, windows ---------------------------------------------------------------------------
case("pad constant", lambda L, x: L.F.pad(x, (1, 2, 0, 3), value=0.5), real(2, 3, 4))
case("pad cut", lambda L, x: L.F.pad(x, (-1, 2, 1, -1)), real(2, 3, 4))
case("pad reflect 1", lambda L, x: L.F.pad(x, (2, 1), "reflect"), real(2, 3, 4))
case("pad reflect 2", lambda L, x: L.F.pad(x, (2, 1, 1, 0), "reflect"), real(1, 2, 3, 4))
case("pad replicate 2", lambda L, x: L.F.pad(x, (2, 1, 3, 5), "replicate"), real(1, 2, 3, 4))
case("pad replicate 3", lambda L, x: L.F.pad(x, (1,) * 6, "replicate"), real(1, 1, 2, 3, 2))
case("pad circular", lambda L, x: L.F.pad(x, (2, 1, 1, 3), "circular"), real(1, 2, 3, 4))
case("unfold", lambda L, x: L.F.unfold(x, (2, 3), (2, 1), (1, 0), (1, 2)), real(2, 2, 4, 5))
case("unfold one", lambda L, x: L.F.unfold(x, 2), real(2, 3, 3))
case("fold", lambda L, x: L.F.fold(x, (4, 5), (2, 3), (2, 1), (1, 0), (1, 2)), real(2, 12, 8))
case("pixel_shuffle", lambda L, x: L.F.pixel_shuffle(x, 2), real(2, 8, 2, 3))
case("pixel_unshuffle", lambda L, x: L.F.pixel_unshuffle(x, 2), real(2, 2, 4, 6))
case("channel_shuffle", lambda L, x: L.F.channel_shuffle(x, 3), real(2, 6, 2, 2))

# ---- convolution --------------------------------------------------------------------------------
case("linear", lambda L, x, w, b: L.F.linear(x, w, b), real(2, 3, 4), real(5, 4), real(5))
case("bilinear", lambda L, x, y, w, b: L.F.bilinear(x, y, w, b),
     real(2, 3, 4), real(2, 3, 2), real(5, 4, 2), real(5))  # fmt: skip
case("conv1d", lambda L, x, w, b: L.F.conv1d(x, w, b, 2, 1, 2, 2),
     real(2, 4, 9), real(6, 2, 3), real(6))  # fmt: skip
case("conv1d same", lambda L, x, w: L.F.conv1d(x, w, padding="same"), real(1, 2, 5), real(3, 2, 4))
case("conv1d one", lambda L, x, w: L.F.conv1d(x, w, padding="valid"), real(2, 5), real(3, 2, 2))
case("conv2d", lambda L, x, w, b: L.F.conv2d(x, w, b, (2, 1), (1, 0), 1, 2),
     real(2, 4, 5, 4), real(6, 2, 3, 2), real(6))  # fmt: skip
case("conv2d same", lambda L, x, w: L.F.conv2d(x, w, padding="same", dilation=(1, 2)),
     real(1, 2, 4, 5), real(3, 2, 2, 3))  # fmt: skip
case("conv3d", lambda L, x, w, b: L.F.conv3d(x, w, b, (2, 1, 1), (1, 0, 1), (1, 2, 1), 2),
     real(1, 4, 4, 5, 3), real(2, 2, 3, 2, 2), real(2))  # fmt: skip
case("conv3d same", lambda L, x, w: L.F.conv3d(x, w, padding="same"),
     real(1, 1, 3, 4, 3), real(2, 1, 2, 3, 2))  # fmt: skip
case("conv_transpose1d", lambda L, x, w, b: L.F.conv_transpose1d(x, w, b, 2, 1, 1, 2, 2),
     real(2, 4, 4), real(4, 3, 3), real(6))  # fmt: skip
case("conv_transpose2d", lambda L, x, w, b: L.F.conv_transpose2d(x, w, b, (2, 3), 1, (1, 0), 2),
     real(2, 4, 3, 2), real(4, 2, 3, 4), real(4))  # fmt: skip
case("conv_transpose2d dilated", lambda L, x, w: L.F.conv_transpose2d(x, w, dilation=2),
     real(3, 2, 3), real(3, 2, 2, 2))  # fmt: skip
case("conv_transpose3d",
     lambda L, x, w, b: L.F.conv_transpose3d(x, w, b, (2, 1, 2), (1, 0, 1), (1, 0, 0), 2),
     real(1, 4, 2, 3, 2), real(4, 1, 3, 2, 3), real(2))  # fmt: skip

# ---- pooling ------------------------------------------------------------------------------------
case("max_pool1d", lambda L, x: L.F.max_pool1d(x, 3, 2, 1, 1, True), apart(2, 2, 8))
case("max_pool1d where", lambda L, x: L.F.max_pool1d(x, 2, return_indices=True), apart(2, 7))
case("max_pool2d", lambda L, x: L.F.max_pool2d(x, (3, 2), 2, (1, 0), 1, True), apart(2, 2, 6, 5))
case("max_pool2d where", lambda L, x: L.F.max_pool2d(x, 2, 1, 0, (1, 2), return_indices=True),
     apart(1, 2, 4, 5))  # fmt: skip
case("max_pool3d", lambda L, x: L.F.max_pool3d(x, (2, 3, 2), 2, (1, 1, 0), 1, True, True),
     apart(1, 2, 4, 5, 4))  # fmt: skip
case("max_pool3d dilated", lambda L, x: L.F.max_pool3d(x, 2, 1, 0, 2), apart(1, 3, 4, 3))
case("avg_pool1d", lambda L, x: L.F.avg_pool1d(x, 3, 2, 1, True, False), real(2, 2, 8))
case("avg_pool2d", lambda L, x: L.F.avg_pool2d(x, (3, 2), 2, (1, 0), True, True), real(2, 2, 6, 5))
case("avg_pool2d divisor", lambda L, x: L.F.avg_pool2d(x, 3, 2, 1, divisor_override=2),
     real(1, 2, 5, 5))  # fmt: skip
case("avg_pool3d", lambda L, x: L.F.avg_pool3d(x, 2, 2, 1, True, False), real(1, 2, 4, 5, 3))
case("avg_pool3d pad", lambda L, x: L.F.avg_pool3d(x, (3, 2, 2), 2, (1, 1, 0), True),
     real(1, 1, 4, 5, 3))  # fmt: skip
case("avg_pool3d divisor", lambda L, x: L.F.avg_pool3d(x, 2, divisor_override=3), real(1, 4, 4, 4))
case("lp_pool1d", lambda L, x: L.F.lp_pool1d(x, 3, 3, 2), real(2, 2, 8, low=0.2))
case("lp_pool2d", lambda L, x: L.F.lp_pool2d(x, 2, (2, 3), 2, True), real(1, 2, 5, 5))
case("lp_pool3d", lambda L, x: L.F.lp_pool3d(x, 2, 2), real(1, 2, 2, 4, 4))
case("adaptive_avg_pool1d", lambda L, x: L.F.adaptive_avg_pool1d(x, 3), real(2, 2, 7))
case("adaptive_avg_pool2d", lambda L, x: L.F.adaptive_avg_pool2d(x, (None, 3)), real(2, 2, 3, 7))
case("adaptive_avg_pool3d", lambda L, x: L.F.adaptive_avg_pool3d(x, (2, 1, 3)), real(1, 2, 5, 3, 4))
case("adaptive_max_pool1d", lambda L, x: L.F.adaptive_max_pool1d(x, 3, True), apart(2, 2, 7))
case("adaptive_max_pool2d", lambda L, x: L.F.adaptive_max_pool2d(x, (2, 3), True),
     apart(1, 2, 5, 7))  # fmt: skip
case("adaptive_max_pool3d", lambda L, x: L.F.adaptive_max_pool3d(x, (2, 1, 3), True),
     apart(1, 2, 5, 3, 4))  # fmt: skip
case("max_unpool1d", lambda L, x: L.F.max_unpool1d(*L.F.max_pool1d(x, 2, 2, 0, 1, False, True), 2),
     apart(1, 2, 6))  # fmt: skip
case("max_unpool2d",
     lambda L, x: L.F.max_unpool2d(*L.F.max_pool2d(x, 2, 2, 0, 1, False, True), 2,
                                   output_size=(5, 7)),
     apart(1, 2, 5, 7))  # fmt: skip
case("max_unpool3d", lambda L, x: L.F.max_unpool3d(*L.F.max_pool3d(x, 2, 2, 0, 1, False, True), 2),
     apart(1, 1, 4, 4, 2))  # fmt: skip

# ---- normalisation ------------------------------------------------------------------------------
case("batch_norm", lambda L, x, m, v, w, b: L.F.batch_norm(x, m, v, w, b),
     real(3, 2, 2, 2, 2), Fixed(real(2)), Fixed(real(2, low=0.5)), real(2), real(2))  # fmt: skip
case("batch_norm train", lambda L, x, w, b: L.F.batch_norm(x, None, None, w, b, True),
     real(3, 2, 2, 2, 2), real(2), real(2))  # fmt: skip
case("layer_norm", lambda L, x, w, b: L.F.layer_norm(x, (3, 4), w, b),
     real(2, 3, 4), real(3, 4), real(3, 4))  # fmt: skip
case("group_norm", lambda L, x, w, b: L.F.group_norm(x, 2, w, b, 1e-3),
     real(2, 4, 3, 2), real(4), real(4))  # fmt: skip
case("instance_norm", lambda L, x, w, b: L.F.instance_norm(x, None, None, w, b),
     real(2, 3, 2, 3), real(3), real(3))  # fmt: skip
case("rms_norm", lambda L, x, w: L.F.rms_norm(x, (4,), w), real(2, 3, 4), real(4))
case("rms_norm eps", lambda L, x: L.F.rms_norm(x, (3, 4), None, 0.1), real(2, 3, 4))
case("local_response_norm", lambda L, x: L.F.local_response_norm(x, 3, 0.5, 0.6, 2.0),
     real(2, 5, 2, 2))  # fmt: skip
case("normalize", lambda L, x: L.F.normalize(x, 2.0, 1), real(3, 4, 2))
case("normalize 3", lambda L, x: L.F.normalize(x, 3.0, -1, 1e-3), real(3, 4))

# ---- activations --------------------------------------------------------------------------------
for name in ("relu", "relu6", "selu", "silu", "mish", "softsign", "tanhshrink", "logsigmoid",
             "hardsigmoid", "hardswish", "sigmoid", "tanh", "elu", "celu", "hardtanh", "softplus",
             "softshrink", "hardshrink", "leaky_relu", "gelu", "rrelu"):  # fmt: skip
    case(name, lambda L, x, name=name: getattr(L.F, name)(x), real(31, low=-8.0, high=8.0))
case("elu 2", lambda L, x: L.F.elu(x, 2.0), real(11))
case("celu 2", lambda L, x: L.F.celu(x, 2.0), real(11))
case("hardtanh 2", lambda L, x: L.F.hardtanh(x, -0.3, 0.7), real(11))
case("softplus 2", lambda L, x: L.F.softplus(x, 3.0, 2.0), real(11))
case("softshrink 2", lambda L, x: L.F.softshrink(x, 1.0), real(11))
case("hardshrink 2", lambda L, x: L.F.hardshrink(x, 1.0), real(11))
case("threshold", lambda L, x: L.F.threshold(x, 0.3, -5.0), real(11))
case("gelu tanh", lambda L, x: L.F.gelu(x, approximate="tanh"), real(11))
case("prelu", lambda L, x, w: L.F.prelu(x, w), real(2, 3, 4), real(3))
case("prelu one", lambda L, x, w: L.F.prelu(x, w), real(5), real(1))
case("glu", lambda L, x: L.F.glu(x, 1), real(2, 4, 3))
case("softmax", lambda L, x: L.F.softmax(x, 1), real(2, 4, 3))
case("log_softmax", lambda L, x: L.F.log_softmax(x, -1), real(2, 4, 3))
case("softmin", lambda L, x: L.F.softmin(x, 1), real(2, 4, 3))

# ---- losses -------------------------------------------------------------------------------------
for reduction in ("mean", "sum", "none"):
    r = {"reduction": reduction}
    case(f"cross_entropy {reduction}", lambda L, x, t, w, r=r: L.F.cross_entropy(
        x, t, w, ignore_index=1, label_smoothing=0.1, **r),
        real(5, 4), whole(5), Fixed(real(4, low=0.1)))  # fmt: skip
    case(f"nll_loss {reduction}", lambda L, x, t, w, r=r: L.F.nll_loss(
        L.F.log_softmax(x, 1), t, w, ignore_index=1, **r),
        real(2, 4, 3), whole(2, 3), Fixed(real(4, low=0.1)))  # fmt: skip
    case(f"mse_loss {reduction}", lambda L, x, y, r=r: L.F.mse_loss(x, y, **r),
         real(3, 2), real(3, 2))  # fmt: skip
    case(f"l1_loss {reduction}", lambda L, x, y, r=r: L.F.l1_loss(x, y, **r),
         real(3, 2), real(3, 2))  # fmt: skip
    case(f"smooth_l1_loss {reduction}",
         lambda L, x, y, r=r: L.F.smooth_l1_loss(x, y, beta=0.7, **r),
         real(9), real(9))  # fmt: skip
    case(f"huber_loss {reduction}", lambda L, x, y, r=r: L.F.huber_loss(x, y, delta=0.7, **r),
         real(9), real(9))  # fmt: skip
    case(f"bce {reduction}", lambda L, x, t, w, r=r: L.F.binary_cross_entropy(x, t, w, **r),
         real(4, 3, **PROB), real(4, 3, **PROB), Fixed(real(4, 3)))  # fmt: skip
    case(f"bce_with_logits {reduction}",
         lambda L, x, t, w, p, r=r: L.F.binary_cross_entropy_with_logits(
             x, t, w, pos_weight=p, **r),
         real(4, 3, low=-9.0, high=9.0), real(4, 3, **PROB),
         Fixed(real(3)), Fixed(real(3, low=0.5)))  # fmt: skip
    case(f"kl_div {reduction}", lambda L, x, t, r=r: L.F.kl_div(x, t, **r),
         real(4, 3), real(4, 3, **PROB))  # fmt: skip
    case(f"poisson_nll_loss {reduction}", lambda L, x, t, r=r: L.F.poisson_nll_loss(x, t, **r),
         real(7), Fixed(real(7, low=0.1, high=5.0)))  # fmt: skip
    case(f"gaussian_nll_loss {reduction}",
         lambda L, x, t, v, r=r: L.F.gaussian_nll_loss(x, t, v, **r),
         real(4, 3), real(4, 3), real(4, 1, low=0.2))  # fmt: skip
    case(f"hinge_embedding_loss {reduction}",
         lambda L, x, t, r=r: L.F.hinge_embedding_loss(x, t, 0.8, **r),
         real(9), signs(9))  # fmt: skip
    case(f"margin_ranking_loss {reduction}",
         lambda L, x, y, t, r=r: L.F.margin_ranking_loss(x, y, t, 0.3, **r),
         real(9), real(9), signs(9))  # fmt: skip
    case(f"cosine_embedding_loss {reduction}",
         lambda L, x, y, t, r=r: L.F.cosine_embedding_loss(x, y, t, 0.1, **r),
         real(6, 3), real(6, 3), signs(6))  # fmt: skip
    case(f"triplet_margin_loss {reduction}",
         lambda L, a, p, n, r=r: L.F.triplet_margin_loss(a, p, n, 0.5, 3.0, swap=True, **r),
         real(5, 3), real(5, 3), real(5, 3))  # fmt: skip
    case(f"multi_margin_loss {reduction}",
         lambda L, x, t, w, r=r: L.F.multi_margin_loss(x, t, 2, 0.8, w, **r),
         real(5, 4), whole(5), Fixed(real(4, low=0.1)))  # fmt: skip
    case(f"multilabel_margin_loss {reduction}",
         lambda L, x, t, r=r: L.F.multilabel_margin_loss(x, t, **r),
         real(3, 4), given([[3, 0, -1, 1], [-1, 0, 1, 2], [1, 2, 3, 0]]))  # fmt: skip
    case(f"multilabel_soft_margin_loss {reduction}",
         lambda L, x, t, r=r: L.F.multilabel_soft_margin_loss(x, t, **r),
         real(3, 4), real(3, 4, **PROB))  # fmt: skip
    case(f"soft_margin_loss {reduction}", lambda L, x, t, r=r: L.F.soft_margin_loss(x, t, **r),
         real(9), signs(9))  # fmt: skip
    case(f"ctc_loss {reduction}", lambda L, x, t, r=r: L.F.ctc_loss(
        L.F.log_softmax(x, 2), t, L.t([6, 5, 4]), L.t([3, 2, 0]), **r),
        real(6, 3, 5), given([[1, 1, 4], [2, 3, 0], [0, 0, 0]]))  # fmt: skip
case("kl_div batchmean", lambda L, x, t: L.F.kl_div(x, t, reduction="batchmean", log_target=True),
     real(4, 3), real(4, 3))  # fmt: skip
case("poisson_nll_loss full", lambda L, x, t: L.F.poisson_nll_loss(x, t, False, full=True),
     real(7, low=0.2), Fixed(real(7, low=0.1, high=5.0)))  # fmt: skip
case("gaussian_nll_loss full", lambda L, x, t, v: L.F.gaussian_nll_loss(x, t, v, True),
     real(4, 3), real(4, 3), real(4, low=0.2))  # fmt: skip
case("nll_loss one", lambda L, x: L.F.nll_loss(x, L.t(2)), real(4))
case("multi_margin_loss one", lambda L, x: L.F.multi_margin_loss(x, L.t(2)), real(4))
case("multilabel_margin_loss one", lambda L, x: L.F.multilabel_margin_loss(x, L.t([2, -1, 0, 1])),
     real(4))  # fmt: skip
case("triplet_margin_with_distance_loss",
     lambda L, a, p, n: L.F.triplet_margin_with_distance_loss(
         a, p, n, distance_function=lambda x, y: 1.0 - L.F.cosine_similarity(x, y, 1)),
     real(5, 3), real(5, 3), real(5, 3))  # fmt: skip
case("ctc_loss flat, blank 2", lambda L, x: L.F.ctc_loss(
    L.F.log_softmax(x, 2), L.t([1, 1, 4, 0]), L.t([6, 4]), L.t([3, 1]), 2),
    real(6, 2, 5))  # fmt: skip
case("ctc_loss infinity", lambda L, x: L.F.ctc_loss(
    L.F.log_softmax(x, 2), L.t([[1, 1, 1], [1, 2, 3]]), L.t([4, 4]), L.t([3, 3]), 0, "sum", True),
    real(4, 2, 5))  # fmt: skip

# ---- distances ----------------------------------------------------------------------------------
case("cosine_similarity", lambda L, x, y: L.F.cosine_similarity(x, y, -1),
     real(2, 1, 4), real(3, 4))  # fmt: skip
case("pairwise_distance", lambda L, x, y: L.F.pairwise_distance(x, y), real(3, 4), real(3, 4))
case("pairwise_distance 3", lambda L, x, y: L.F.pairwise_distance(x, y, 3.0, 1e-3, True),
     real(3, 4), real(4))  # fmt: skip
for p in (1.0, 2.0, 3.0, float("inf")):
    case(f"pdist {p}", lambda L, x, p=p: L.F.pdist(x, p), real(4, 3))

# ---- attention ----------------------------------------------------------------------------------
QKV = (real(2, 4, 3, 4), real(2, 4, 5, 4), real(2, 4, 5, 2))
case("attention", lambda L, q, k, v: L.F.scaled_dot_product_attention(q, k, v), *QKV)
case("attention causal", lambda L, q, k, v: L.F.scaled_dot_product_attention(
    q, k, v, is_causal=True, scale=0.3), *QKV)  # fmt: skip
case("attention bool", lambda L, q, k, v, m: L.F.scaled_dot_product_attention(q, k, v, m),
     *QKV, mask(2, 1, 3, 5))  # fmt: skip
case("attention float", lambda L, q, k, v, m: L.F.scaled_dot_product_attention(q, k, v, m),
     *QKV, real(3, 5))  # fmt: skip
case("attention blind", lambda L, q, k, v: L.F.scaled_dot_product_attention(
    q, k, v, L.t(np.array([[True, False], [False, False]]))),
    real(1, 2, 3), real(1, 2, 3), real(1, 2, 3))  # fmt: skip
case("attention gqa", lambda L, q, k, v: L.F.scaled_dot_product_attention(
    q, k, v, is_causal=True, enable_gqa=True),
    real(2, 4, 3, 4), real(2, 2, 3, 4), real(2, 2, 3, 4))  # fmt: skip

# ---- look-up tables -----------------------------------------------------------------------------
case("embedding", lambda L, w, i: L.F.embedding(i, w), real(5, 3), whole(2, 4, high=5))
case(
    "embedding padding_idx", lambda L, w, i: L.F.embedding(i, w, 1), real(5, 3), whole(2, 4, high=5)
)
case("embedding max_norm", lambda L, w: L.F.embedding(
    L.t([[0, 2], [2, 4]]), w * 1.0, max_norm=1.0, norm_type=3.0), Fixed(real(5, 3)))  # fmt: skip
case("one_hot", lambda L: L.F.one_hot(L.t([[0, 3], [2, 1]]), 5))
for mode in ("sum", "mean", "max"):
    case(f"embedding_bag {mode}", lambda L, w, mode=mode: L.F.embedding_bag(
        L.t([0, 4, 1, 4, 2, 2]), w, L.t([0, 2, 2, 5]), mode=mode), apart(5, 3))  # fmt: skip
    case(f"embedding_bag padding {mode}", lambda L, w, mode=mode: L.F.embedding_bag(
        L.t([[0, 4], [1, 4], [4, 4]]), w, mode=mode, padding_idx=4), apart(5, 3))  # fmt: skip
case("embedding_bag weights", lambda L, w, s: L.F.embedding_bag(
    L.t([0, 4, 1, 4, 2, 2]), w, L.t([0, 2, 6]), mode="sum", per_sample_weights=s,
    include_last_offset=True), real(5, 3), real(6))  # fmt: skip

# ---- pictures of another size -------------------------------------------------------------------
for mode in ("nearest", "nearest-exact", "area"):
    for size in (3, 5, 10):
        case(f"interpolate 1 {mode} {size}",
             lambda L, x, mode=mode, size=size: L.F.interpolate(x, size, mode=mode),
             real(1, 2, 7))  # fmt: skip
    case(f"interpolate 2 {mode}", lambda L, x, mode=mode: L.F.interpolate(x, (5, 4), mode=mode),
         real(1, 2, 3, 6))  # fmt: skip
for corners in (False, True):
    c = {"align_corners": corners}
    case(f"interpolate linear {corners}",
         lambda L, x, c=c: L.F.interpolate(x, 9, mode="linear", **c), real(1, 2, 4))  # fmt: skip
    case(f"interpolate trilinear {corners}",
         lambda L, x, c=c: L.F.interpolate(x, (3, 2, 5), mode="trilinear", **c),
         real(1, 1, 2, 4, 3))  # fmt: skip
    for mode in ("bilinear", "bicubic"):
        m = {"mode": mode, **c}
        case(f"interpolate {mode} {corners}", lambda L, x, m=m: L.F.interpolate(x, (7, 3), **m),
             real(1, 2, 4, 5))  # fmt: skip
        case(f"interpolate {mode} {corners} scale",
             lambda L, x, m=m: L.F.interpolate(x, scale_factor=(1.7, 0.6), **m),
             real(1, 2, 4, 5))  # fmt: skip
        case(f"interpolate {mode} {corners} antialias",
             lambda L, x, m=m: L.F.interpolate(x, (3, 9), antialias=True, **m),
             real(1, 2, 7, 5))  # fmt: skip
case("interpolate recompute", lambda L, x: L.F.interpolate(
    x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
    real(1, 2, 4, 5))  # fmt: skip
for corners in (False, True):
    c = {"align_corners": corners}
    case(f"affine_grid {corners}", lambda L, t, c=c: L.F.affine_grid(t, (2, 1, 3, 4), **c),
         real(2, 2, 3))  # fmt: skip
    case(f"affine_grid 3 {corners}", lambda L, t, c=c: L.F.affine_grid(t, (1, 1, 2, 3, 2), **c),
         real(1, 3, 4))  # fmt: skip
    for around in ("zeros", "border", "reflection"):
        for mode in ("bilinear", "nearest", "bicubic"):
            m = {"mode": mode, "padding_mode": around, **c}
            case(f"grid_sample {mode} {around} {corners}",
                 lambda L, x, g, m=m: L.F.grid_sample(x, g, **m),
                 real(2, 2, 4, 5), real(2, 3, 3, 2, low=-1.6, high=1.6))  # fmt: skip
        m = {"padding_mode": around, **c}
        case(f"grid_sample 3 {around} {corners}", lambda L, x, g, m=m: L.F.grid_sample(x, g, **m),
             real(1, 2, 3, 4, 3), real(1, 2, 2, 3, 3, low=-1.4, high=1.4))  # fmt: skip
