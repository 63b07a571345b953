"""Naive numpy versions of the engine's structured operations: slow, short, obviously right."""

from __future__ import annotations

import numpy as np


def conv2d(x, w, b=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, residual=None,
           relu=False):  # fmt: skip
    n, c, h, wd = x.shape
    k, cg, kh, kw = w.shape
    (sh, sw), (ph, pw), (dh, dw) = stride, padding, dilation
    x = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    oh = (h + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    ow = (wd + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    y = np.zeros((n, k, oh, ow), x.dtype)
    per = k // groups
    for g in range(groups):
        xg = x[:, g * cg : (g + 1) * cg]
        wg = w[g * per : (g + 1) * per]
        for i in range(kh):
            for j in range(kw):
                window = xg[:, :, i * dh : i * dh + sh * (oh - 1) + 1 : sh,
                            j * dw : j * dw + sw * (ow - 1) + 1 : sw]  # fmt: skip
                y[:, g * per : (g + 1) * per] += np.einsum("nchw,kc->nkhw", window, wg[:, :, i, j])
    y = y if b is None else y + b[:, None, None]
    y = y if residual is None else y + residual
    return np.maximum(y, 0) if relu else y


def linear(x, w, b=None):
    y = x @ w.T
    return y if b is None else y + b


def batch_norm(x, weight, bias, mean, var, training=False, momentum=0.1, eps=1e-5, residual=None,
               relu=False):  # fmt: skip
    axes = (0, *range(2, x.ndim))
    per_channel = (1, -1) + (1,) * (x.ndim - 2)
    if training:
        mean, var = x.mean(axes), x.var(axes)
    y = (x - mean.reshape(per_channel)) / np.sqrt(var.reshape(per_channel) + eps)
    if weight is not None:
        y = y * weight.reshape(per_channel)
    if bias is not None:
        y = y + bias.reshape(per_channel)
    if residual is not None:
        y = y + residual
    return np.maximum(y, 0) if relu else y


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    axes = tuple(range(-len(normalized_shape), 0))
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _windows(x, kernel, stride, padding, dilation, ceil_mode, fill):
    """(N, C, OH, OW, kh * kw), positions outside the picture holding `fill`."""
    h, w = x.shape[2:]
    out = []
    for size, k, s, p, d in zip((h, w), kernel, stride, padding, dilation, strict=True):
        span = size + 2 * p - d * (k - 1) - 1
        o = (-(-span // s) if ceil_mode else span // s) + 1
        if ceil_mode and (o - 1) * s >= size + p:  # the last window must start inside
            o -= 1
        out.append(o)
    extra = [max(0, (o - 1) * s + d * (k - 1) + 1 - size - p)
             for o, k, s, p, d, size in zip(out, kernel, stride, padding, dilation, (h, w),
                                            strict=True)]  # fmt: skip
    x = np.pad(x, ((0, 0), (0, 0), (padding[0], extra[0]), (padding[1], extra[1])),
               constant_values=fill)  # fmt: skip
    columns = [
        x[:, :, i * dilation[0] : i * dilation[0] + stride[0] * (out[0] - 1) + 1 : stride[0],
          j * dilation[1] : j * dilation[1] + stride[1] * (out[1] - 1) + 1 : stride[1]]
        for i in range(kernel[0]) for j in range(kernel[1])
    ]  # fmt: skip
    return np.stack(columns, -1)


def max_pool2d(x, kernel, stride, padding=(0, 0), dilation=(1, 1), ceil_mode=False):
    return _windows(x, kernel, stride, padding, dilation, ceil_mode, -np.inf).max(-1)


def avg_pool2d(x, kernel, stride, padding=(0, 0), ceil_mode=False, count_include_pad=True):
    args = (kernel, stride, padding, (1, 1), ceil_mode)
    total = _windows(x, *args, 0).sum(-1)
    if count_include_pad:
        # Cells beyond the padding, which ceil_mode may reach, do not count.
        ones = np.pad(np.ones_like(x), ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2),
                      constant_values=1)  # fmt: skip
        return total / _windows(ones, kernel, stride, (0, 0), (1, 1), ceil_mode, 0)[
            :, :, : total.shape[2], : total.shape[3]
        ].sum(-1)
    return total / _windows(np.ones_like(x), *args, 0).sum(-1)


def adaptive_avg_pool2d(x, output_size):
    n, c, h, w = x.shape
    oh, ow = output_size
    y = np.zeros((n, c, oh, ow), x.dtype)
    for i in range(oh):
        for j in range(ow):
            rows = slice(i * h // oh, -(-(i + 1) * h // oh))
            columns = slice(j * w // ow, -(-(j + 1) * w // ow))
            y[:, :, i, j] = x[:, :, rows, columns].mean((2, 3))
    return y


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def log_softmax(x, axis=-1):
    z = x - x.max(axis, keepdims=True)
    return z - np.log(np.exp(z).sum(axis, keepdims=True))


def cross_entropy(logits, target, weight=None, ignore_index=-100, reduction="mean",
                  label_smoothing=0.0):  # fmt: skip
    logp = log_softmax(logits, 1)
    if logp.ndim > 2:
        logp = np.moveaxis(logp, 1, -1).reshape(-1, logits.shape[1])
    shape, target = target.shape, target.reshape(-1)
    weight = np.ones(logits.shape[1], logits.dtype) if weight is None else weight
    kept = target != ignore_index
    safe = np.where(kept, target, 0)
    w = np.where(kept, weight[safe], 0)
    nll = -logp[np.arange(len(safe)), safe] * w
    smooth = -(logp * weight).sum(1) * kept
    loss = (1 - label_smoothing) * nll + label_smoothing / logits.shape[1] * smooth
    if reduction == "none":
        return loss.reshape(shape)
    return loss.sum() / w.sum() if reduction == "mean" else loss.sum()


def normalize_images(x, mean, std):
    c = (1, -1, 1, 1)
    return (x / 255.0 - np.reshape(mean, c)) / np.reshape(std, c)


def erf(x):
    import math

    return np.vectorize(math.erf, otypes=[np.float64])(x)
