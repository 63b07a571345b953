"""More activation layers; those of the models of this zoo are in activation.py."""

from __future__ import annotations

import engine
from engine import Tensor
from engine.nn import functional as F
from engine.nn.module import Module
from engine.nn.parameter import Parameter


class Sigmoid(Module):
    """y = 1 / (1 + exp(-x)).

    >>> Sigmoid()(engine.asarray([0.0]))
    Tensor([0.5], dtype=float32)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.sigmoid(x)


class Tanh(Module):
    """y = tanh(x).

    >>> Tanh()(engine.asarray([0.0]))
    Tensor([0.], dtype=float32)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.tanh(x)


class SiLU(Module):
    """y = x / (1 + exp(-x)) (Elfwing et al., arXiv:1702.03118).

    >>> SiLU()(engine.asarray([0.0]))
    Tensor([0.], dtype=float32)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(x)


class Mish(Module):
    """y = x * tanh(log(1 + exp(x))) (Misra, arXiv:1908.08681).

    >>> Mish()(engine.asarray([0.0]))
    Tensor([0.], dtype=float32)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.mish(x)


class ReLU6(Module):
    """y = min(max(x, 0), 6).

    >>> ReLU6()(engine.asarray([-1.0, 7.0]))
    Tensor([0., 6.], dtype=float32)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.relu6(x)


class SELU(Module):
    """Scaled exponential linear unit (Klambauer et al., arXiv:1706.02515).

    >>> SELU()(engine.asarray([0.0]))
    Tensor([0.], dtype=float32)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.selu(x)


class Softsign(Module):
    """y = x / (1 + |x|).

    >>> Softsign()(engine.asarray([1.0]))
    Tensor([0.5], dtype=float32)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.softsign(x)


class Tanhshrink(Module):
    """y = x - tanh(x).

    >>> Tanhshrink()(engine.asarray([0.0]))
    Tensor([0.], dtype=float32)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.tanhshrink(x)


class LogSigmoid(Module):
    """y = log(1 / (1 + exp(-x))), without overflow.

    >>> LogSigmoid()(engine.asarray([-1000.0]))
    Tensor([-1000.], dtype=float32)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.logsigmoid(x)


class Hardsigmoid(Module):
    """y = min(max(x / 6 + 1 / 2, 0), 1) (Courbariaux et al., arXiv:1511.00363).

    >>> Hardsigmoid()(engine.asarray([0.0, 4.0]))
    Tensor([0.5, 1. ], dtype=float32)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.hardsigmoid(x)


class Hardswish(Module):
    """y = x * min(max(x / 6 + 1 / 2, 0), 1) (Howard et al., arXiv:1905.02244).

    >>> Hardswish()(engine.asarray([0.0, 4.0]))
    Tensor([0., 4.], dtype=float32)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.hardswish(x)


class LeakyReLU(Module):
    """y = x, or negative_slope * x where x is negative (Maas et al., ICML 2013).

    >>> LeakyReLU(0.5)(engine.asarray([-2.0, 1.0]))
    Tensor([-1.,  1.], dtype=float32)
    """

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: Tensor) -> Tensor:
        return F.leaky_relu(x, self.negative_slope)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope!r}"


class ELU(Module):
    """y = x, or alpha * (exp(x) - 1) where x is not positive (Clevert et al., arXiv:1511.07289).

    >>> ELU()(engine.asarray([0.0, 1.0]))
    Tensor([0., 1.], dtype=float32)
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return F.elu(x, self.alpha)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha!r}"


class CELU(Module):
    """y = x, or alpha * (exp(x / alpha) - 1) where x is not positive (Barron, arXiv:1704.07483).

    >>> CELU()(engine.asarray([0.0, 1.0]))
    Tensor([0., 1.], dtype=float32)
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return F.celu(x, self.alpha)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha!r}"


class Hardtanh(Module):
    """y = x limited to [min_val, max_val]; no gradient at the ends.

    >>> Hardtanh()(engine.asarray([-2.0, 2.0]))
    Tensor([-1.,  1.], dtype=float32)
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__()
        self.min_val = min_val
        self.max_val = max_val

    def forward(self, x: Tensor) -> Tensor:
        return F.hardtanh(x, self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val!r}, max_val={self.max_val!r}"


class Softplus(Module):
    """y = log(1 + exp(beta x)) / beta, or x where beta x is above threshold.

    >>> Softplus()(engine.asarray([100.0]))
    Tensor([100.], dtype=float32)
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, x: Tensor) -> Tensor:
        return F.softplus(x, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta!r}, threshold={self.threshold!r}"


class Softshrink(Module):
    """y = x moved lambd towards 0, at most to 0.

    >>> Softshrink()(engine.asarray([0.2, 1.0]))
    Tensor([0. , 0.5], dtype=float32)
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, x: Tensor) -> Tensor:
        return F.softshrink(x, self.lambd)

    def extra_repr(self) -> str:
        return f"lambd={self.lambd!r}"


class Hardshrink(Module):
    """y = x, or 0 where |x| is not above lambd.

    >>> Hardshrink()(engine.asarray([0.2, 1.0]))
    Tensor([0., 1.], dtype=float32)
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, x: Tensor) -> Tensor:
        return F.hardshrink(x, self.lambd)

    def extra_repr(self) -> str:
        return f"lambd={self.lambd!r}"


class Threshold(Module):
    """y = x, or value where x is not above threshold.

    >>> Threshold(0.5, -1.0)(engine.asarray([0.2, 1.0]))
    Tensor([-1.,  1.], dtype=float32)
    """

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value

    def forward(self, x: Tensor) -> Tensor:
        return F.threshold(x, self.threshold, self.value)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold!r}, value={self.value!r}"


class GLU(Module):
    """y = a * sigmoid(b), a and b the halves of x along an axis (Dauphin et al., arXiv:1612.08083).

    >>> GLU()(engine.asarray([3.0, 0.0]))
    Tensor([1.5], dtype=float32)
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return F.glu(x, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim!r}"


class Softmax(Module):
    """y = exp(x) / sum(exp(x)) along an axis.

    >>> Softmax()(engine.asarray([0.0, 0.0]))
    Tensor([0.5, 0.5], dtype=float32)
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return F.softmax(x, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim!r}"


class LogSoftmax(Module):
    """y = log(softmax(x)) along an axis, exact where softmax underflows.

    >>> LogSoftmax()(engine.asarray([0.0, 1000.0]))
    Tensor([-1000.,     0.], dtype=float32)
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return F.log_softmax(x, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim!r}"


class Softmin(Module):
    """y = softmax(-x) along an axis.

    >>> Softmin()(engine.asarray([0.0, 0.0]))
    Tensor([0.5, 0.5], dtype=float32)
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return F.softmin(x, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim!r}"


class Softmax2d(Module):
    """softmax over the channels of x (N, C, H, W) or (C, H, W), for each pixel.

    >>> Softmax2d()(engine.zeros((1, 2, 1, 1))).flatten().tolist()
    [0.5, 0.5]
    """

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim not in (3, 4):
            raise ValueError(
                f"Softmax2d: x has shape {x.shape}, expected (N, C, H, W) or (C, H, W)"
            )
        return F.softmax(x, -3)


class PReLU(Module):
    """y = x, or a * x where x is negative, with a slope a that is learned (He et al.,
    arXiv:1502.01852).

    Args:
        num_parameters: 1, or the number of channels for a slope of its own each.
        init: where the slopes start.

    Parameters: weight (num_parameters,).

    >>> PReLU()(engine.asarray([-2.0, 1.0])).tolist()
    [-0.5, 1.0]
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        super().__init__()
        self.slopes = num_parameters
        self.weight = Parameter(engine.full((num_parameters,), init))

    def forward(self, x: Tensor) -> Tensor:
        return F.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.slopes}"


class RReLU(Module):
    """y = x, or s * x where x is negative: s uniform in [lower, upper) for each element in
    training, their mean in inference (Xu et al., arXiv:1505.00853).

    >>> RReLU(0.25, 0.75).eval()(engine.asarray([-2.0, 1.0]))
    Tensor([-1.,  1.], dtype=float32)
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__()
        if lower > upper:
            raise ValueError(f"RReLU: lower={lower} is above upper={upper}")
        self.lower = lower
        self.upper = upper

    def forward(self, x: Tensor) -> Tensor:
        return F.rrelu(x, self.lower, self.upper, self.training)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}"
