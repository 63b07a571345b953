"""Linear layers whose weights are kept in 16, 8 or 4 bits."""

from __future__ import annotations

import engine
from engine import _C, Tensor
from engine.nn.functional.sizes import check_float, check_one_of

KINDS = ("bfloat16", "int8", "int4")
# Weights of a group of int4 share a scale.
GROUP = 32


def quantize(weight: Tensor, kind: str) -> tuple[Tensor, Tensor | None]:
    """Weights (out, in) of a linear layer as codes and scales for quantized_linear.

    Args:
        weight: (out, in) finite floats.
        kind: "bfloat16": 16 bits a weight, off by at most 2^-8 of itself. "int8": 8 bits and a
            scale for each row, off by at most 1/254 of the row's largest. "int4": 4.5 bits, of
            which a half is a scale for each 32 neighbours in a row, off by at most 1/7 of the
            group's largest, mostly by half of that or less; `in` is a multiple of 32.

    Returns:
        bfloat16 (out, in) and None; int8 (out, in) and float32 (out,); uint8 (out, in / 2), which
        holds two int4 each, and bfloat16 (out, in / 32).

    Raises:
        ValueError: another kind, another number of axes, `in` that does not fit, NaN or infinity.

    >>> codes, scales = quantize(engine.asarray([[254.0, -127.0, 64.0]]), "int8")
    >>> codes.tolist(), scales.item()
    ([[127, -64, 32]], 2.0)
    """
    check_float("quantize", weight, "weight")
    check_one_of("quantize", "kind", kind, KINDS)
    if weight.ndim != 2 or (kind == "int4" and weight.shape[1] % GROUP):
        raise ValueError(
            f"quantize: weight has shape {weight.shape}, expected (out, in)"
            + (f" with `in` a multiple of {GROUP} for int4; use 'int8'" if kind == "int4" else "")
        )
    w = weight.detach().astype(engine.float32).contiguous()
    if w.size and not bool(engine.isfinite(w).all()):
        raise ValueError("quantize: weight holds NaN or infinity; no scale fits that")
    if kind == "bfloat16":
        return w.astype(engine.bfloat16), None
    if 0 in w.shape:
        raise ValueError(f"quantize: weight has shape {weight.shape}, expected no empty axis")
    if kind == "int8":
        scales = engine.max(engine.abs(w), axis=1) / 127
        scales = engine.where(scales == 0, 1.0, scales)
        return engine.round(w / scales.reshape((-1, 1))).astype(engine.int8), scales
    groups = w.reshape((w.shape[0], -1, GROUP))
    # The largest of a group, with its sign, becomes -8: int4 has no 8.
    low, high = engine.min(groups, axis=-1), engine.max(groups, axis=-1)
    scales = (engine.where(high > -low, high, low) / -8).astype(engine.bfloat16)
    wide = scales.astype(engine.float32)
    wide = engine.where(wide == 0, 1.0, wide)
    codes = engine.clip(engine.round(groups / engine.expand_dims(wide, axis=-1)), -8, 7)
    nibbles = engine.where(codes < 0, codes + 16, codes)
    both = nibbles[..., : GROUP // 2] + nibbles[..., GROUP // 2 :] * 16
    return both.astype(engine.uint8).reshape((w.shape[0], w.shape[1] // 2)), scales


def dequantize(codes: Tensor, scales: Tensor | None = None) -> Tensor:
    """The float32 weights (out, in) that codes and scales stand for.

    >>> dequantize(*quantize(engine.asarray([[1.0, -2.0]]), "bfloat16")).tolist()
    [[1.0, -2.0]]
    """
    return _C._dequantize(codes, scales)


def quantized_linear(
    x: Tensor, codes: Tensor, scales: Tensor | None = None, bias: Tensor | None = None
) -> Tensor:
    """x W^T + bias for weights as quantize gives them.

    Up to 8 rows of x go past the weights as they come from memory, which is read once: the time of
    a decoding step is then that of reading the codes. More rows are a product of floats, of which
    a block at a time is unpacked. Differentiable in x and bias.

    Args:
        x: (..., in) float32.
        codes, scales: from quantize.
        bias: (out,) float32, or None.

    Returns:
        (..., out) float32.

    >>> codes, scales = quantize(engine.ones((2, 32)), "int4")
    >>> quantized_linear(engine.ones((1, 32)), codes, scales).tolist()
    [[32.0, 32.0]]
    """
    return _C._quantized_linear(x, codes, scales, bias)
