"""Parity cases of layers: keys of the state dict, results, gradients of parameters, buffers.

The values of a parameter follow from its key, so a layer with other keys gives other results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.engine.parity_cases import Case, Fixed, Make, apart, given, real, signs, whole

LAYER_CASES: list[Case] = []


def layer(name: str, make: Callable[[Any], Any], *inputs: Make) -> None:
    """make(nn) is the layer, called with the inputs."""
    LAYER_CASES.append(Case(f"nn {name}", lambda L, *xs: L.layer(make(L.nn))(*xs), inputs))


def network(name: str, run: Callable[..., Any], *inputs: Make) -> None:
    LAYER_CASES.append(Case(f"nn {name}", run, inputs))


# ---- convolution and products -------------------------------------------------------------------
layer("Linear", lambda nn: nn.Linear(4, 3), real(2, 4))
layer("Bilinear", lambda nn: nn.Bilinear(4, 2, 3), real(2, 4), real(2, 2))
layer("Conv1d", lambda nn: nn.Conv1d(4, 6, 3, 2, 1, 2, 2), real(2, 4, 8))
layer("Conv1d reflect", lambda nn: nn.Conv1d(2, 3, 3, 1, 1, padding_mode="reflect"), real(1, 2, 5))
layer("Conv1d circular same",
      lambda nn: nn.Conv1d(2, 3, 4, padding="same", padding_mode="circular"),
      real(1, 2, 5))  # fmt: skip
layer("Conv2d", lambda nn: nn.Conv2d(2, 3, (2, 3), padding="same", bias=False), real(1, 2, 4, 5))
layer("Conv3d", lambda nn: nn.Conv3d(2, 4, 2, (2, 1, 1), 1, groups=2), real(1, 2, 3, 3, 4))
layer("ConvTranspose1d", lambda nn: nn.ConvTranspose1d(4, 6, 3, 2, 1, 1, 2), real(2, 4, 4))
layer("ConvTranspose2d", lambda nn: nn.ConvTranspose2d(2, 3, (3, 2), 2, 1, 1), real(1, 2, 3, 4))
layer("ConvTranspose3d", lambda nn: nn.ConvTranspose3d(2, 3, 2, 2), real(1, 2, 2, 3, 2))
network("ConvTranspose2d output_size",
        lambda L, x: L.layer(L.nn.ConvTranspose2d(2, 3, 3, 2, 1))(x, [6, 7]),
        real(1, 2, 3, 4))  # fmt: skip

# ---- normalisation ------------------------------------------------------------------------------
layer("BatchNorm1d", lambda nn: nn.BatchNorm1d(3), real(4, 3))
layer("BatchNorm1d length", lambda nn: nn.BatchNorm1d(3).eval(), real(4, 3, 2))
layer("BatchNorm2d", lambda nn: nn.BatchNorm2d(3, momentum=None), real(2, 3, 2, 2))
layer("BatchNorm3d", lambda nn: nn.BatchNorm3d(2), real(2, 2, 2, 2, 2))
layer("GroupNorm", lambda nn: nn.GroupNorm(2, 4), real(2, 4, 3))
layer("InstanceNorm1d", lambda nn: nn.InstanceNorm1d(3), real(2, 3, 4))
layer("InstanceNorm2d", lambda nn: nn.InstanceNorm2d(3, affine=True, track_running_stats=True),
      real(2, 3, 2, 3))  # fmt: skip
layer("InstanceNorm2d running", lambda nn: nn.InstanceNorm2d(
    3, affine=True, track_running_stats=True).eval(), real(2, 3, 2, 3))  # fmt: skip
layer("InstanceNorm3d", lambda nn: nn.InstanceNorm3d(2), real(2, 2, 2, 2))
layer("LayerNorm", lambda nn: nn.LayerNorm((2, 3)), real(2, 2, 3))
layer("RMSNorm", lambda nn: nn.RMSNorm(4), real(2, 3, 4))
layer("LocalResponseNorm", lambda nn: nn.LocalResponseNorm(3, 0.5), real(2, 4, 3))

# ---- activations --------------------------------------------------------------------------------
for kind in ("ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Softsign", "Tanhshrink", "LogSigmoid",
             "Hardsigmoid", "Hardswish", "Sigmoid", "Tanh", "ELU", "CELU", "Hardtanh", "Softplus",
             "Softshrink", "Hardshrink", "LeakyReLU", "GELU", "PReLU", "GLU"):  # fmt: skip
    layer(kind, lambda nn, kind=kind: getattr(nn, kind)(), real(3, 8, low=-7.0, high=7.0))
layer("RReLU", lambda nn: nn.RReLU().eval(), real(5))
layer("Threshold", lambda nn: nn.Threshold(0.5, -2.0), real(5))
layer("PReLU channels", lambda nn: nn.PReLU(3, 0.5), real(2, 3, 4))
for kind in ("Softmax", "LogSoftmax", "Softmin"):
    layer(kind, lambda nn, kind=kind: getattr(nn, kind)(1), real(2, 3, 2))
layer("Softmax2d", lambda nn: nn.Softmax2d(), real(3, 2, 2))

# ---- pooling and shapes -------------------------------------------------------------------------
for n, shape in ((1, (1, 2, 7)), (2, (1, 2, 5, 6)), (3, (1, 1, 4, 5, 4))):
    for kind, args in (("MaxPool", (3, 2, 1)), ("AvgPool", (3, 2, 1)), ("AdaptiveAvgPool", (2,)),
                       ("AdaptiveMaxPool", (3,)), ("LPPool", (2.0, 2))):  # fmt: skip
        layer(f"{kind}{n}d", lambda nn, kind=kind, n=n, args=args: getattr(
            nn, f"{kind}{n}d")(*args),
              apart(*shape))  # fmt: skip
    network(f"MaxUnpool{n}d", lambda L, x, n=n: getattr(L.nn, f"MaxUnpool{n}d")(2)(
        *getattr(L.nn, f"MaxPool{n}d")(2, return_indices=True)(x)), apart(*shape))  # fmt: skip
    for kind in ("Reflection", "Replication", "Circular", "Zero"):
        layer(f"{kind}Pad{n}d", lambda nn, kind=kind, n=n: getattr(nn, f"{kind}Pad{n}d")(1),
              real(*shape))  # fmt: skip
    layer(f"ConstantPad{n}d", lambda nn, n=n: getattr(nn, f"ConstantPad{n}d")((1, 2) * n, 0.5),
          real(*shape))  # fmt: skip
layer("Upsample", lambda nn: nn.Upsample(scale_factor=2, mode="bilinear"), real(1, 2, 3, 3))
layer("UpsamplingNearest2d", lambda nn: nn.UpsamplingNearest2d(scale_factor=2), real(1, 2, 3, 3))
layer("UpsamplingBilinear2d", lambda nn: nn.UpsamplingBilinear2d((5, 4)), real(1, 2, 3, 3))
layer("PixelShuffle", lambda nn: nn.PixelShuffle(2), real(1, 4, 2, 3))
layer("PixelUnshuffle", lambda nn: nn.PixelUnshuffle(2), real(1, 1, 4, 6))
layer("ChannelShuffle", lambda nn: nn.ChannelShuffle(2), real(1, 4, 2, 2))
layer("Unfold", lambda nn: nn.Unfold(2, padding=1), real(1, 2, 3, 3))
layer("Fold", lambda nn: nn.Fold((3, 3), 2), real(1, 8, 4))
layer("Flatten", lambda nn: nn.Flatten(1, 2), real(1, 2, 3, 3))
layer("Unflatten", lambda nn: nn.Unflatten(1, (2, 3)), real(2, 6, 2))

# ---- look-up tables and losses ------------------------------------------------------------------
layer("Embedding", lambda nn: nn.Embedding(5, 3, padding_idx=2), whole(2, 4, high=5))
layer("EmbeddingBag", lambda nn: nn.EmbeddingBag(5, 3, mode="sum"), whole(2, 4, high=5))
layer("CosineSimilarity", lambda nn: nn.CosineSimilarity(), real(3, 4), real(3, 4))
layer("PairwiseDistance", lambda nn: nn.PairwiseDistance(3.0), real(3, 4), real(3, 4))
for kind in ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss"):
    layer(kind, lambda nn, kind=kind: getattr(nn, kind)(), real(3, 4), real(3, 4))
layer("NLLLoss", lambda nn: nn.NLLLoss(), real(3, 4), whole(3))
layer("CrossEntropyLoss", lambda nn: nn.CrossEntropyLoss(), real(3, 4), whole(3))
layer(
    "BCELoss",
    lambda nn: nn.BCELoss(),
    real(3, low=0.1, high=0.9),
    Fixed(real(3, low=0.1, high=0.9)),
)
layer(
    "BCEWithLogitsLoss",
    lambda nn: nn.BCEWithLogitsLoss(),
    real(3),
    Fixed(real(3, low=0.1, high=0.9)),
)
layer("KLDivLoss", lambda nn: nn.KLDivLoss(reduction="batchmean"), real(3, 2), real(3, 2, low=0.1))
layer("PoissonNLLLoss", lambda nn: nn.PoissonNLLLoss(full=True), real(3), Fixed(real(3, low=0.1)))
layer("GaussianNLLLoss", lambda nn: nn.GaussianNLLLoss(), real(3, 2), real(3, 2), real(3, low=0.2))
layer("HingeEmbeddingLoss", lambda nn: nn.HingeEmbeddingLoss(0.5), real(5), signs(5))
layer("MarginRankingLoss", lambda nn: nn.MarginRankingLoss(0.5), real(5), real(5), signs(5))
layer(
    "CosineEmbeddingLoss", lambda nn: nn.CosineEmbeddingLoss(0.1), real(5, 3), real(5, 3), signs(5)
)
layer("TripletMarginLoss", lambda nn: nn.TripletMarginLoss(), real(5, 3), real(5, 3), real(5, 3))
layer("TripletMarginWithDistanceLoss", lambda nn: nn.TripletMarginWithDistanceLoss(swap=True),
      real(5, 3), real(5, 3), real(5, 3))  # fmt: skip
layer("MultiMarginLoss", lambda nn: nn.MultiMarginLoss(2), real(3, 4), whole(3))
layer("MultiLabelMarginLoss", lambda nn: nn.MultiLabelMarginLoss(), real(4), given([1, 3, -1, 0]))
layer("MultiLabelSoftMarginLoss", lambda nn: nn.MultiLabelSoftMarginLoss(),
      real(3, 4), real(3, 4, low=0.1, high=0.9))  # fmt: skip
layer("SoftMarginLoss", lambda nn: nn.SoftMarginLoss(), real(5), signs(5))
network("CTCLoss", lambda L, x: L.nn.CTCLoss(blank=1)(
    L.F.log_softmax(x, 2), L.t([[0, 2], [3, 0]]), L.t([5, 4]), L.t([2, 1])),
    real(5, 2, 4))  # fmt: skip

# ---- recurrent ----------------------------------------------------------------------------------
STEPS, N, SIZE = 4, 2, 3
for kind in ("RNN", "GRU"):
    layer(kind, lambda nn, kind=kind: getattr(nn, kind)(SIZE, 4), real(STEPS, N, SIZE))
    layer(f"{kind} deep", lambda nn, kind=kind: getattr(nn, kind)(
        SIZE, 2, 2, batch_first=True, bidirectional=True),
        real(N, STEPS, SIZE), real(4, N, 2))  # fmt: skip
    layer(f"{kind} one, no bias", lambda nn, kind=kind: getattr(nn, kind)(SIZE, 2, bias=False),
          real(STEPS, SIZE), real(1, 2))  # fmt: skip
    layer(
        f"{kind}Cell",
        lambda nn, kind=kind: getattr(nn, f"{kind}Cell")(SIZE, 2),
        real(N, SIZE),
        real(N, 2),
    )
layer("RNN relu", lambda nn: nn.RNN(SIZE, 4, nonlinearity="relu"), real(STEPS, N, SIZE))
layer("LSTM", lambda nn: nn.LSTM(SIZE, 4), real(STEPS, N, SIZE))
network("LSTM deep", lambda L, x, h, c: L.layer(L.nn.LSTM(
    SIZE, 2, 2, batch_first=True, bidirectional=True))(x, (h, c)),
    real(N, STEPS, SIZE), real(4, N, 2), real(4, N, 2))  # fmt: skip
layer("LSTM one, no bias", lambda nn: nn.LSTM(SIZE, 2, bias=False), real(STEPS, SIZE))
layer("LSTMCell", lambda nn: nn.LSTMCell(SIZE, 2), real(N, SIZE))

# ---- attention ----------------------------------------------------------------------------------
causal = np.triu(np.ones((4, 4), np.bool_), 1)
padding = np.array([[False] * 4, [False, False, True, True]])
network("MultiheadAttention", lambda L, x: L.layer(L.nn.MultiheadAttention(6, 2))(x, x, x),
        real(4, 2, 6))  # fmt: skip
network("MultiheadAttention sizes", lambda L, q, k, v: L.layer(L.nn.MultiheadAttention(
    6, 3, kdim=4, vdim=5, bias=False, batch_first=True))(q, k, v, average_attn_weights=False),
    real(2, 4, 6), real(2, 3, 4), real(2, 3, 5))  # fmt: skip
network("MultiheadAttention masks", lambda L, x: L.layer(L.nn.MultiheadAttention(
    6, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True))(
        x, x, x, key_padding_mask=L.t(padding), attn_mask=L.t(causal)), real(2, 4, 6))  # fmt: skip
network("MultiheadAttention one", lambda L, q, k: L.layer(L.nn.MultiheadAttention(4, 2))(q, k, k),
        real(3, 4), real(2, 4))  # fmt: skip
for first in (False, True):
    network(f"TransformerEncoderLayer {first}", lambda L, x, first=first: L.layer(
        L.nn.TransformerEncoderLayer(4, 2, 6, 0.0, "gelu", norm_first=first))(
            x, L.t(causal), L.t(padding)), real(4, 2, 4))  # fmt: skip
    network(f"TransformerDecoderLayer {first}", lambda L, x, m, first=first: L.layer(
        L.nn.TransformerDecoderLayer(4, 2, 6, 0.0, batch_first=True, norm_first=first))(
            x, m, L.t(causal)), real(2, 4, 4), real(2, 3, 4))  # fmt: skip
network("TransformerEncoder", lambda L, x: L.layer(L.nn.TransformerEncoder(
    L.nn.TransformerEncoderLayer(4, 2, 6, 0.0), 2, L.nn.LayerNorm(4)))(x),
    real(3, 2, 4))  # fmt: skip
network("TransformerDecoder", lambda L, x, m: L.layer(L.nn.TransformerDecoder(
    L.nn.TransformerDecoderLayer(4, 2, 6, 0.0), 2))(x, m),
    real(3, 2, 4), real(2, 2, 4))  # fmt: skip
