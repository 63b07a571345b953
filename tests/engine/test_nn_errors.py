"""Common mistakes with the functions of engine.nn.functional, and what the message says."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import nn
from engine.nn import functional as F


def ones(*shape: int) -> engine.Tensor:
    return engine.ones(shape)


def ints(*values: int) -> engine.Tensor:
    return engine.asarray(np.array(values))


MISTAKES = [
    (lambda: F.pad(ones(2, 3), (1,)), r"pad: 1 numbers for x of shape \(2, 3\)"),
    (lambda: F.pad(ones(1, 2, 3), (3, 0), "reflect"), r"\(3, 0\) for axis 2 .* expected 0 to 2"),
    (lambda: F.pad(ones(2, 3), (1, 1), "mirror"), r"mode='mirror'; expected one of 'constant'"),
    (lambda: F.pad(ones(2, 3), (-4, 0)), r"cuts more than axis 1 of shape \(2, 3\) has"),
    (lambda: F.unfold(ones(1, 1, 2, 2), 3), r"window of 3 x 3 .* pictures of 2 x 2"),
    (lambda: F.fold(ones(1, 5, 4), (4, 4), 2), r"axis 1 is no multiple of the window's 4"),
    (lambda: F.fold(ones(1, 4, 5), (4, 4), 2), r"expected 3 x 3 = 9 windows"),
    (lambda: F.pixel_shuffle(ones(1, 6, 2, 2), 2), r"C a multiple of upscale_factor\^2 = 4"),
    (lambda: F.pixel_unshuffle(ones(1, 1, 3, 4), 2), r"multiples of downscale_factor = 2"),
    (lambda: F.channel_shuffle(ones(1, 5, 2), 2), r"C a multiple of groups = 2"),
    (lambda: F.bilinear(ones(2, 3), ones(2, 4), ones(5, 4, 3)), r"weight \(5, 4, 3\)"),
    (lambda: F.conv1d(ones(8), ones(4, 3, 3)), r"conv1d: x has shape \(8,\), expected \(N, C, L\)"),
    (lambda: F.conv1d(ones(1, 3, 8), ones(4, 3)), r"weight has shape \(4, 3\), expected 3 axes"),
    (lambda: F.conv1d(ones(1, 3, 8), ones(4, 3, 3), stride=2, padding="same"), "needs stride 1"),
    (lambda: F.conv2d(ones(1, 3, 8, 8), ones(4, 3, 3, 3), padding="full"), "'same', 'valid'"),
    (lambda: F.conv2d(ones(1, 3, 8, 8), ones(4, 3, 3, 3), stride=(1, 1, 1)), "stride: expected an"),
    (lambda: F.conv3d(ones(1, 1, 2, 8, 8), ones(4, 1, 3, 3, 3)), "window of depth 3 .* depth 2"),
    (lambda: F.conv_transpose3d(ones(1, 1, 2, 2, 2), ones(1, 1, 1, 1, 1), output_padding=1),
     "output_padding below stride or dilation"),
    (lambda: F.max_pool1d(ones(1, 1, 3), 5), "window of 5 does not fit into the width 3"),
    (lambda: F.avg_pool2d(ones(1, 1, 4, 4), 2, divisor_override=0), "divisor_override=0"),
    (lambda: F.adaptive_max_pool2d(ones(1, 1, 4, 4), (1, 2, 3)), r"two ints \(rows, columns\)"),
    (lambda: F.max_unpool2d(ones(1, 1, 2, 2), ints(0), 2), r"indices \(1,\); expected the same"),
    (lambda: F.max_unpool1d(ones(1, 1, 1), ints(0).reshape((1, 1, 1)), 2, output_size=(9,)),
     r"less than the stride away from \(2,\)"),
    (lambda: F.group_norm(ones(2, 5, 3), 2), r"C a multiple of num_groups = 2"),
    (lambda: F.group_norm(ones(2, 4, 3), 2, ones(3)), r"weight has shape \(3,\), expected \(4,\)"),
    (lambda: F.instance_norm(ones(2, 3, 1)), "two or more values a channel"),
    (lambda: F.rms_norm(ones(2, 3), 4), r"expected its last axes to be \(4,\)"),
    (lambda: F.local_response_norm(ones(2, 3), 2), r"x has shape \(2, 3\) and size=2"),
    (lambda: F.prelu(ones(2, 3), ones(2)), "expected 1 slope or 3"),
    (lambda: F.glu(ones(3)), r"\(3,\), expected an even size along axis -1"),
    (lambda: F.hardtanh(ones(3), 2.0, 1.0), "min_val=2.0 is above max_val=1.0"),
    (lambda: F.softshrink(ones(3), -1.0), "lambd=-1.0; expected 0 or more"),
    (lambda: F.celu(ones(3), 0.0), "alpha=0"),
    (lambda: F.mse_loss(ones(3, 1), ones(3)), r"shapes \(3, 1\) and \(3,\), expected the same"),
    (lambda: F.mse_loss(ones(3), ones(3), "average"), "'average'; expected one of 'mean', 'sum'"),
    (lambda: F.smooth_l1_loss(ones(3), ones(3), beta=-1.0), "beta=-1.0"),
    (lambda: F.huber_loss(ones(3), ones(3), delta=0.0), "delta=0.0; expected more than 0"),
    (lambda: F.binary_cross_entropy(ones(3) * 2.0, ones(3)), "outside 0 to 1.*with_logits"),
    (lambda: F.gaussian_nll_loss(ones(3, 2), ones(3, 2), ones(2)), r"var has shape \(2,\)"),
    (lambda: F.gaussian_nll_loss(ones(3), ones(3), -ones(3)), "negative elements"),
    (lambda: F.nll_loss(ones(3, 2), ints(0, 1)), r"x has shape \(3, 2\), target \(2,\)"),
    (lambda: F.multi_margin_loss(ones(3, 2), ints(0, 1, 0), 3), "p of 1 or 2"),
    (lambda: F.margin_ranking_loss(ones(3), ones(3), ones(3, 1)), r"target \(3, 1\)"),
    (lambda: F.cosine_embedding_loss(ones(3, 2), ones(3, 2), ones(2)), r"expected \(N, D\)"),
    (lambda: F.triplet_margin_loss(ones(3, 2), ones(3, 2), ones(2)), "as many axes of each"),
    (lambda: F.ctc_loss(ones(4), ints(1), [4], [1]), r"log_probs has shape \(4,\)"),
    (lambda: F.ctc_loss(ones(4, 2, 3), ints(1, 2), [4], [1]), "1 lengths for 2 sequences"),
    (lambda: F.ctc_loss(ones(4, 1, 3), ints(1, 2), [5], [2]), "expected 0 to 4"),
    (lambda: F.ctc_loss(ones(4, 1, 3), ints(1, 2), [4], [3]), "one axis of 3"),
    (lambda: F.ctc_loss(ones(4, 1, 3), ints(1), [4], [1], blank=3), "blank=3; expected a class"),
    (lambda: F.pdist(ones(3)), r"x has shape \(3,\), expected \(N, D\)"),
    (lambda: F.scaled_dot_product_attention(ones(3, 4), ones(3, 5), ones(3, 4)), r"key \(3, 5\)"),
    (lambda: F.scaled_dot_product_attention(ones(3, 4), ones(3, 4), ones(3, 4), ones(3, 3),
                                            is_causal=True), "give one of them"),
    (lambda: F.scaled_dot_product_attention(ones(3, 2, 4), ones(2, 2, 4), ones(2, 2, 4),
                                            enable_gqa=True), "multiple of the others'"),
    (lambda: F.embedding(ints(1), ones(3, 2), padding_idx=3), "padding_idx=3; the table has 3"),
    (lambda: F.embedding_bag(ints(1), ones(3, 2)), "expected \\(bags, K\\) without offsets"),
    (lambda: F.embedding_bag(ints(1, 2), ones(3, 2), ints(1)), r"offsets \[1\]; expected"),
    (lambda: F.embedding_bag(ints(1), ones(3, 2), ints(0), per_sample_weights=ones(1)),
     "mode 'sum'"),
    (lambda: F.one_hot(ints(3), 3), "idx holds 3 to 3, expected 0 to 2"),
    (lambda: F.interpolate(ones(1, 2, 3), 4, mode="bilinear"), r"x has shape \(1, 2, 3\)"),
    (lambda: F.interpolate(ones(1, 2, 3)), "expected one of size and scale_factor"),
    (lambda: F.interpolate(ones(1, 2, 3), (4, 5)), "2 numbers for the size of 1 axes"),
    (lambda: F.interpolate(ones(1, 2, 3), 4, align_corners=True), "align_corners with mode"),
    (lambda: F.interpolate(ones(1, 2, 3), 4, mode="linear", antialias=True), "antialias with"),
    (lambda: F.interpolate(ones(1, 2, 3), scale_factor=0.1), r"from \(3,\) to \(0,\)"),
    (lambda: F.affine_grid(ones(1, 3, 3), (1, 1, 2, 2)), r"theta has shape \(1, 3, 3\)"),
    (lambda: F.grid_sample(ones(1, 1, 2, 2), ones(1, 2, 2, 3)), r"grid \(1, 2, 2, 3\)"),
    (lambda: F.grid_sample(ones(1, 1, 2, 2, 2), ones(1, 2, 2, 2, 3), "bicubic"), "not for volumes"),
    (lambda: F.lstm_cell(ones(2, 3), (ones(2, 4), ones(2, 4)), ones(12, 3), ones(16, 4)),
     r"lstm_cell: .*weight_ih \(12, 3\)"),
    (lambda: F.gru(ones(5, 3), ones(1, 2, 1), []), "0 weights"),
    (lambda: F.rnn(ones(5, 3), ones(1, 2, 4), [(ones(4, 3), ones(4, 4), None, None)]),
     r"x has shape \(5, 3\), expected \(T, N, I\)"),
    (lambda: nn.LSTM(3, 4)(ones(5, 2, 2)), r"LSTM: x has shape \(5, 2, 2\), .* I = 3"),
    (lambda: nn.GRU(3, 4)(ones(5, 2, 3), ones(1, 3, 4)), r"state has shape \(1, 3, 4\)"),
    (lambda: nn.MultiheadAttention(6, 4), "multiple of num_heads=4"),
    (lambda: nn.MultiheadAttention(4, 2)(ones(3, 2, 5), ones(3, 2, 4), ones(3, 2, 4)),
     r"query \(3, 2, 5\)"),
    (lambda: nn.MultiheadAttention(4, 2)(ones(3, 1, 4), ones(3, 1, 4), ones(3, 1, 4),
                                         attn_mask=ones(2, 2)), r"attn_mask has shape \(2, 2\)"),
    (lambda: nn.TransformerEncoderLayer(4, 2, activation="tanh"), "activation='tanh'"),
    (lambda: nn.Conv1d(3, 4, 3, groups=2), "Conv1d: in_channels=3"),
    (lambda: nn.Conv1d(3, 4, 3, padding_mode="mirror"), "padding_mode='mirror'"),
    (lambda: nn.ConvTranspose2d(1, 1, 3, 2)(ones(1, 1, 2, 2), (9, 9)), r"\(5, 5\) to \(6, 6\)"),
    (lambda: nn.BatchNorm1d(3)(ones(1, 3, 2, 2)), r"expected \(N, C\) or \(N, C, L\)"),
    (lambda: nn.BatchNorm3d(3)(ones(1, 3, 2, 2)), r"expected \(N, C, D, H, W\)"),
    (lambda: nn.GroupNorm(2, 5), "num_channels=5, expected a multiple"),
    (lambda: nn.InstanceNorm2d(3)(ones(1, 2, 4, 4)), "with 3 channels"),
    (lambda: nn.ReflectionPad2d((1, 1)), "expected an int or 4 ints"),
    (lambda: nn.Dropout2d(2.0), "Dropout2d: p=2.0"),
    (lambda: nn.Embedding(3, 2, padding_idx=5), "Embedding: padding_idx=5"),
    (lambda: nn.L1Loss("median"), "L1Loss: reduction='median'"),
    (lambda: nn.Softmax2d()(ones(2)), r"Softmax2d: x has shape \(2,\)"),
    (lambda: nn.vector_to_parameters(ones(3), [ones(2)]), r"shape \(3,\), expected \(2,\)"),
    (lambda: engine.optim.clip_grad_value_([], 0.0), "clip_value=0.0"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_value_errors_say_what_was_expected(number: int) -> None:
    call, message = MISTAKES[number]
    with pytest.raises(ValueError, match=message):
        call()


WRONG_TYPES = [
    (lambda: F.grid_sample(ints(1), ones(1)), "x is int64"),
    (lambda: F.unfold(ints(1).reshape((1, 1, 1, 1)), 1), "expected a floating-point tensor"),
    (lambda: F.nll_loss(ones(1, 2), ones(1)), "target is float32, expected integers"),
    (lambda: F.one_hot(ones(2)), "one_hot: idx is float32"),
    (lambda: F.scaled_dot_product_attention(ones(2, 2), ones(2, 2), ones(2, 2), ints(1, 0)),
     "attn_mask is int64, expected bool or floats"),
    (lambda: F.conv_transpose2d(ones(1, 1, 2, 2), ones(1, 1, 2, 2).astype(engine.float64)),
     "input is float32, weight float64"),
    (lambda: nn.ParameterList([3]), "expected a tensor for '0', got int"),
    (lambda: nn.ModuleDict({"a": 3}), "expected a Module for 'a', got int"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG_TYPES)))
def test_type_errors_say_what_was_expected(number: int) -> None:
    call, message = WRONG_TYPES[number]
    with pytest.raises(TypeError, match=message):
        call()


OUT_OF_RANGE = [
    (lambda: F.nll_loss(ones(2, 3), ints(0, 3)), "numbers from 0 to 3, expected class numbers"),
    (lambda: F.multilabel_margin_loss(ones(3), ints(4, -1, 0)), "target 4 is no class number"),
    (lambda: F.ctc_loss(ones(4, 1, 3), ints(3), [4], [1]), "targets hold 3 to 3"),
    (lambda: F.embedding(ints(3), ones(3, 2)), "index 3"),
    (lambda: nn.Unflatten(3, (1, 2))(ones(2, 2)), "dim 3 is out of range"),
]


@pytest.mark.parametrize("number", range(len(OUT_OF_RANGE)))
def test_index_errors_say_what_was_expected(number: int) -> None:
    call, message = OUT_OF_RANGE[number]
    with pytest.raises(IndexError, match=message):
        call()
