"""Linear layers for inference with weights of 16, 8 or 4 bits."""

from __future__ import annotations

import engine
from engine import Tensor
from engine.nn import functional as F
from engine.nn.linear import Linear
from engine.nn.module import Module
from engine.nn.parameter import Parameter


class QuantizedLinear(Module):
    """y = x W^T + b, with W kept as functional.quantize makes it.

    Args:
        in_features: size of the last axis of x; a multiple of 32 for int4.
        out_features: size of the last axis of y.
        kind: "bfloat16", "int8" or "int4"; functional.quantize says how exact each is.
        bias: whether there is a b.

    Shapes: x (..., in_features) float32 -> (..., out_features).
    Parameters: bias (out_features,). Buffers: codes and scales, all zeros until they are loaded.

    >>> QuantizedLinear.from_linear(Linear(64, 3), "int4")(engine.ones((2, 64))).shape
    (2, 3)
    """

    codes: Tensor
    scales: Tensor | None

    def __init__(
        self, in_features: int, out_features: int, kind: str = "int8", bias: bool = True
    ) -> None:
        super().__init__()
        if in_features < 1 or out_features < 1:
            raise ValueError(
                f"QuantizedLinear: in_features={in_features}, out_features={out_features}; "
                "expected 1 or more of each"
            )
        self.in_features = in_features
        self.out_features = out_features
        self.kind = kind
        codes, scales = F.quantize(engine.zeros((out_features, in_features)), kind)
        self.register_buffer("codes", codes)
        self.register_buffer("scales", scales)
        self.bias = Parameter(engine.zeros(out_features)) if bias else None

    @classmethod
    def from_linear(cls, linear: Linear, kind: str = "int8") -> QuantizedLinear:
        """The quantised copy of a layer."""
        made = cls(linear.in_features, linear.out_features, kind, linear.bias is not None)
        codes, scales = F.quantize(linear.weight, kind)
        made.register_buffer("codes", codes)
        made.register_buffer("scales", scales)
        if linear.bias is not None and made.bias is not None:
            with engine.no_grad():
                made.bias.copy_(linear.bias)
        return made

    def forward(self, x: Tensor) -> Tensor:
        return F.quantized_linear(x, self.codes, self.scales, self.bias)

    def extra_repr(self) -> str:
        return (
            f"{self.in_features}, {self.out_features}, kind={self.kind!r}, "
            f"bias={self.bias is not None}"
        )
