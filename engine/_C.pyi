# Written by tests/engine/make_stub.py from the module itself; do not edit.
# ruff: noqa
"""
The native tensor and autograd engine.
"""
from __future__ import annotations
import builtins
import collections.abc
import numpy
import typing
__all__: list[str] = ['AutogradError', 'Device', 'Generator', 'Node', 'Tensor', 'abs', 'acos', 'acosh', 'adamw_step', 'adaptive_avg_pool2d', 'add', 'all', 'any', 'arange', 'argmax', 'argmin', 'argsort', 'asarray', 'asin', 'asinh', 'atan', 'atan2', 'atanh', 'avg_pool2d', 'batch_norm', 'bernoulli', 'bfloat16', 'bitwise_and', 'bitwise_left_shift', 'bitwise_or', 'bitwise_right_shift', 'bitwise_xor', 'bool', 'broadcast_to', 'ceil', 'celu', 'clip', 'complex128', 'complex64', 'concat', 'conj', 'conv2d', 'conv_transpose2d', 'copysign', 'cos', 'cosh', 'cpu_isa', 'cross_entropy', 'cummax', 'cummin', 'cumprod', 'cumsum', 'diagonal', 'digamma', 'divide', 'dropout', 'dtype', 'dtype_named', 'elu', 'embedding', 'empty', 'empty_cache', 'empty_like', 'equal', 'erf', 'erfc', 'erfinv', 'exp', 'exp2', 'expand_dims', 'expm1', 'eye', 'flip', 'float16', 'float32', 'float64', 'floor', 'floor_divide', 'from_dlpack', 'from_numpy', 'full', 'full_like', 'gather', 'gcd', 'gelu', 'gelu_tanh', 'get_conv_algorithm', 'get_num_threads', 'get_rng_state', 'grad_norm', 'greater', 'greater_equal', 'hardshrink', 'hardsigmoid', 'hardswish', 'hardtanh', 'hypot', 'i0', 'i1', 'imag', 'int16', 'int32', 'int64', 'int8', 'is_grad_enabled', 'isfinite', 'isinf', 'isnan', 'layer_norm', 'lcm', 'leaky_relu', 'less', 'less_equal', 'lgamma', 'linear', 'linear_scan', 'linspace', 'log', 'log10', 'log1p', 'log2', 'log_softmax', 'logaddexp', 'logcumsumexp', 'logical_and', 'logical_not', 'logical_or', 'logical_xor', 'logit', 'logsigmoid', 'manual_seed', 'matmul', 'max', 'max_pool2d', 'maximum', 'mean', 'memory_stats', 'min', 'minimum', 'mish', 'multiply', 'negative', 'nonzero', 'normal_', 'normalize_images', 'not_equal', 'ones', 'ones_like', 'permute_dims', 'polygamma', 'pow', 'prod', 'promote_types', 'rand', 'randint', 'randn', 'randperm', 'real', 'reciprocal', 'relu', 'relu6', 'remainder', 'reset_peak_memory_stats', 'reshape', 'round', 'rsqrt', 'scale_grads', 'scatter', 'scatter_add', 'selu', 'set_conv_algorithm', 'set_grad_enabled', 'set_num_threads', 'set_rng_state', 'sgd_step', 'sigmoid', 'sign', 'signbit', 'silu', 'sin', 'sinc', 'sinh', 'softmax', 'softplus', 'softshrink', 'softsign', 'sort', 'sqrt', 'square', 'squeeze', 'stack', 'std', 'subtract', 'sum', 'swapaxes', 'take', 'tan', 'tanh', 'tanhshrink', 'threshold', 'trunc', 'trunc_normal_', 'uint16', 'uint32', 'uint64', 'uint8', 'uniform_', 'var', 'where', 'xlogy', 'zeros', 'zeros_like']
class AutogradError(RuntimeError):
    """
    The graph cannot give the gradient that was asked for.

    >>> try:
    ...     engine.zeros(2).sum().backward()
    ... except engine.AutogradError:
    ...     'nothing was recorded'
    'nothing was recorded'
    """
class dtype:
    """
    The type of a tensor's elements, such as engine.float32.

    It equals its name. numpy's dtypes and names are taken wherever one is expected.

    >>> engine.float32.itemsize, engine.float32 == 'float32'
    (4, True)
    """
    def __eq__(self, arg0: typing.Any) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple: ...
    def __repr__(self) -> str: ...
    @property
    def is_complex(self) -> builtins.bool:
        """
        Whether it is complex64 or complex128.
        """
    @property
    def is_floating_point(self) -> builtins.bool:
        """
        Whether it is one of the float dtypes.
        """
    @property
    def itemsize(self) -> int:
        """
        Bytes an element takes.
        """
    @property
    def name(self) -> str:
        """
        Its name, 'float32'.
        """
class Device:
    """
    Where a tensor's elements live: 'cpu', 'cuda' (the first GPU) or 'cuda:1'. It equals its name. Raises NotImplementedError where no GPU can be used, ValueError for one that is not there.

    >>> engine.zeros(2).device == 'cpu'
    True
    """
    def __eq__(self, arg0: typing.Any) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, name: typing.Any) -> None: ...
    def __reduce__(self) -> tuple: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    @property
    def index(self) -> int:
        """
        Which of the devices of that type.
        """
    @property
    def type(self) -> str:
        """
        'cpu' or 'cuda'.
        """
DType: typing.TypeAlias = dtype
class Tensor:
    """
    An n-dimensional array that can record what is done to it.

    Tensor(t) is a new leaf over the memory of t. Make tensors from data with engine.asarray.

    >>> x = engine.asarray([1.0, 2.0])
    >>> x.requires_grad = True
    """
    __array_priority__: typing.ClassVar[int] = 1000
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: typing.Any) -> Tensor: ...
    def __and__(self, other: typing.Any) -> Tensor: ...
    def __array__(self, dtype: typing.Any = None, copy: typing.Any = None) -> typing.Any: ...
    def __array_function__(self, func: typing.Any, types: typing.Any, args: typing.Any, kwargs: typing.Any) -> typing.Any:
        """
        numpy's other functions on tensors: ``numpy.mean(t)`` runs in numpy on the tensor's memory
            and gives numpy's result. Raises AutogradError if a tensor requires gradients.

        """
    def __array_namespace__(self, *, api_version: str | None = None) -> typing.Any:
        """
        The namespace of functions for this tensor: the module engine.

            Raises ValueError for a version of the standard that it does not follow.

        """
    def __array_ufunc__(self, ufunc: typing.Any, method: str, *inputs: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """
        numpy's functions on tensors, so that ``numpy.exp(t)`` is ``engine.exp(t)``.

            A ufunc that the engine has under its own name gives a tensor, recorded as ever. Any other, and
            every method such as ``reduce``, runs in numpy on the tensors' memory and gives numpy arrays;
            it raises AutogradError if a tensor requires gradients, which would be lost. With ``out=`` a
            numpy array numpy writes into that.

        """
    def __bool__(self) -> builtins.bool: ...
    def __complex__(self) -> typing.Any: ...
    def __contains__(self, value: typing.Any) -> builtins.bool: ...
    def __copy__(self) -> Tensor: ...
    def __deepcopy__(self, memo: dict[int, typing.Any]) -> Tensor: ...
    def __divmod__(self, other: typing.Any) -> tuple[Tensor, Tensor]: ...
    def __dlpack__(self, *, stream: typing.Any = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None, copy: builtins.bool | None = None) -> typing.Any:
        """
        A DLPack capsule over this tensor's memory, or a copy's. Raises BufferError where gradients are required or the device is another.
        """
    def __dlpack_device__(self) -> tuple[int, int]:
        """
        DLPack's pair of numbers for the device: (1, 0), the CPU, or (2, index), a GPU.
        """
    def __eq__(self, arg0: typing.Any) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> float: ...
    def __floordiv__(self, other: typing.Any) -> Tensor: ...
    def __format__(self, spec: str) -> str: ...
    def __ge__(self, arg0: typing.Any) -> Tensor: ...
    def __getitem__(self, arg0: typing.Any) -> Tensor: ...
    def __gt__(self, arg0: typing.Any) -> Tensor: ...
    def __hash__(self) -> int: ...
    def __iadd__(self, other: typing.Any) -> Tensor: ...
    def __iand__(self, other: typing.Any) -> Tensor: ...
    def __ifloordiv__(self, other: typing.Any) -> Tensor: ...
    def __ilshift__(self, other: typing.Any) -> Tensor: ...
    def __imatmul__(self, other: typing.Any) -> Tensor: ...
    def __imod__(self, other: typing.Any) -> Tensor: ...
    def __imul__(self, other: typing.Any) -> Tensor: ...
    def __index__(self) -> int: ...
    def __init__(self, t: Tensor) -> None: ...
    def __int__(self) -> int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: typing.Any) -> Tensor: ...
    def __ipow__(self, other: typing.Any) -> Tensor: ...
    def __irshift__(self, other: typing.Any) -> Tensor: ...
    def __isub__(self, other: typing.Any) -> Tensor: ...
    def __iter__(self) -> collections.abc.Iterator: ...
    def __itruediv__(self, other: typing.Any) -> Tensor: ...
    def __ixor__(self, other: typing.Any) -> Tensor: ...
    def __le__(self, arg0: typing.Any) -> Tensor: ...
    def __len__(self) -> int: ...
    def __lshift__(self, other: typing.Any) -> Tensor: ...
    def __lt__(self, arg0: typing.Any) -> Tensor: ...
    def __matmul__(self, other: typing.Any) -> Tensor: ...
    def __mod__(self, other: typing.Any) -> Tensor: ...
    def __mul__(self, other: typing.Any) -> Tensor: ...
    def __ne__(self, arg0: typing.Any) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: typing.Any) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: typing.Any) -> Tensor: ...
    def __radd__(self, other: typing.Any) -> Tensor: ...
    def __rand__(self, other: typing.Any) -> Tensor: ...
    def __rdivmod__(self, other: typing.Any) -> tuple[Tensor, Tensor]: ...
    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> typing.Any: ...
    def __repr__(self) -> str: ...
    def __rfloordiv__(self, other: typing.Any) -> Tensor: ...
    def __rlshift__(self, other: typing.Any) -> Tensor: ...
    def __rmatmul__(self, other: typing.Any) -> Tensor: ...
    def __rmod__(self, other: typing.Any) -> Tensor: ...
    def __rmul__(self, other: typing.Any) -> Tensor: ...
    def __ror__(self, other: typing.Any) -> Tensor: ...
    def __rpow__(self, other: typing.Any) -> Tensor: ...
    def __rrshift__(self, other: typing.Any) -> Tensor: ...
    def __rshift__(self, other: typing.Any) -> Tensor: ...
    def __rsub__(self, other: typing.Any) -> Tensor: ...
    def __rtruediv__(self, other: typing.Any) -> Tensor: ...
    def __rxor__(self, other: typing.Any) -> Tensor: ...
    def __setitem__(self, arg0: typing.Any, arg1: typing.Any) -> None: ...
    def __sub__(self, other: typing.Any) -> Tensor: ...
    def __truediv__(self, other: typing.Any) -> Tensor: ...
    def __xor__(self, other: typing.Any) -> Tensor: ...
    def abs(self) -> Tensor:
        """
        Absolute value; the gradient at 0 is 0, elementwise.

        Args:
            x: tensor of any shape; any dtype but bool.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.abs(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def acos(self) -> Tensor:
        """
        Inverse cosine, in radians, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.acos(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def acosh(self) -> Tensor:
        """
        Inverse hyperbolic cosine, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.acosh(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def add_(self, other: typing.Any) -> typing.Any:
        """
        Adds other to this tensor in place.

        >>> engine.ones(2).add_(2).tolist()
        [3.0, 3.0]
        """
    def all(self, axis: int | collections.abc.Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
        """
        Whether all elements are true.

        Any dtype: what is not 0 is true. Gives bool.

        >>> engine.all(engine.asarray([0, 3])).item()
        False
        """
    def any(self, axis: int | collections.abc.Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
        """
        Whether any element is true.

        Any dtype: what is not 0 is true. Gives bool.

        >>> engine.any(engine.asarray([0, 3])).item()
        True
        """
    def argmax(self, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
        """
        Position of the first largest element.

        An int64 along one axis, or in reading order if axis is None. Raises IndexError for an axis
        out of range, ValueError where there are no elements.

        >>> engine.argmax(engine.asarray([2.0, 7.0, 7.0])).item()
        1
        """
    def argmin(self, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
        """
        Position of the first smallest element.

        An int64 along one axis, or in reading order if axis is None. Raises IndexError for an axis
        out of range, ValueError where there are no elements.

        >>> engine.argmin(engine.asarray([2.0, 7.0, 7.0])).item()
        0
        """
    def asin(self) -> Tensor:
        """
        Inverse sine, in radians, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.asin(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def asinh(self) -> Tensor:
        """
        Inverse hyperbolic sine, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.asinh(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def astype(self, dtype: DType) -> Tensor:
        """
        A copy with elements of another dtype. Raises TypeError from complex to real numbers: take real, imag or abs.

        >>> engine.asarray([1.9]).astype(engine.int32).tolist()
        [1]
        """
    def atan(self) -> Tensor:
        """
        Inverse tangent, in radians, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.atan(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def atanh(self) -> Tensor:
        """
        Inverse hyperbolic tangent, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.atanh(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def backward(self, grad: Tensor | None = None, retain_graph: builtins.bool = False, create_graph: builtins.bool = False) -> None:
        """
        Adds the gradient of this tensor to .grad of every leaf it came from. Without grad the tensor must be a single element. Frees the graph unless retain_graph is set; create_graph records the walk itself, for gradients of gradients.

        Raises AutogradError if nothing was recorded, or the graph was freed or a saved tensor changed.

        >>> x = engine.asarray([3.0])
        >>> x.requires_grad = True
        >>> (x * x).backward()
        >>> x.grad.tolist()
        [6.0]
        """
    def broadcast_to(self, shape: int | collections.abc.Sequence[int]) -> Tensor:
        """
        A view of another shape, by broadcasting.

        Any dtype. Raises ValueError for shapes that do not broadcast.

        >>> engine.broadcast_to(engine.asarray([1, 2]), (2, 2)).tolist()
        [[1, 2], [1, 2]]
        """
    def ceil(self) -> Tensor:
        """
        Smallest integer not below x, elementwise.

        Args:
            x: tensor of any shape; any dtype but bool.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.ceil(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def clip(self, min: typing.Any = None, max: typing.Any = None) -> Tensor:
        """
        Elements limited to [min, max]; NaN stays NaN.

        >>> engine.asarray([-1.0, 5.0]).clip(0, 1).tolist()
        [0.0, 1.0]
        """
    def clone(self) -> Tensor:
        """
        A copy; gradients flow through it.

        >>> x = engine.zeros(2)
        >>> x.clone().data_ptr() == x.data_ptr()
        False
        """
    def conj(self) -> Tensor:
        """
        Complex conjugate: the sign of the imaginary part changed. A real tensor is returned as it is.

        >>> engine.conj(engine.asarray([1 + 2j])).tolist()
        [(1-2j)]
        """
    def contiguous(self, memory_format: str = 'contiguous') -> Tensor:
        """
        This tensor if its memory has that order ('contiguous' or 'channels_last'), else a copy that has.

        >>> engine.zeros((1, 2, 3, 4)).contiguous('channels_last').strides()
        (24, 1, 8, 2)
        """
    def copy_(self, source: Tensor) -> Tensor:
        """
        Copies source into this tensor, with conversion and broadcasting.

        Raises ValueError for shapes that do not broadcast.

        >>> engine.zeros(2).copy_(engine.asarray([1, 2])).tolist()
        [1.0, 2.0]
        """
    def cos(self) -> Tensor:
        """
        Cosine of x radians, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.cos(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def cosh(self) -> Tensor:
        """
        Hyperbolic cosine, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.cosh(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def data_ptr(self) -> int:
        """
        Address of the first element.

        >>> x = engine.zeros(2)
        >>> x.data_ptr() == x.numpy().ctypes.data
        True
        """
    def detach(self) -> Tensor:
        """
        The same memory, outside the graph.

        >>> x = engine.zeros(2)
        >>> x.requires_grad = True
        >>> x.detach().requires_grad
        False
        """
    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        """
        A diagonal of two axes, as the last axis of a view.

        Raises IndexError for an axis out of range.

        >>> engine.diagonal(engine.asarray([[1, 2], [3, 4]])).tolist()
        [1, 4]
        """
    def digamma(self) -> Tensor:
        """
        Derivative of lgamma(x); NaN at negative integers, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.digamma(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def div_(self, other: typing.Any) -> typing.Any:
        """
        Divides this tensor by other in place.

        >>> engine.ones(2).div_(2).tolist()
        [0.5, 0.5]
        """
    def erf(self) -> Tensor:
        """
        Error function, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.erf(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def erfc(self) -> Tensor:
        """
        1 - erf(x), exact where that is near 0, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.erfc(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def erfinv(self) -> Tensor:
        """
        The number whose error function is x, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.erfinv(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def exp(self) -> Tensor:
        """
        e to the power x, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.exp(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def exp2(self) -> Tensor:
        """
        2 to the power x, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.exp2(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def expand_dims(self, axis: int = 0) -> Tensor:
        """
        A new axis of size 1.

        Raises IndexError for an axis out of range.

        >>> engine.zeros((2, 3)).expand_dims(1).shape
        (2, 1, 3)
        """
    def expm1(self) -> Tensor:
        """
        exp(x) - 1, exact near 0, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.expm1(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def fill_(self, value: float) -> Tensor:
        """
        Sets every element to a number.

        >>> engine.zeros(2).fill_(3).tolist()
        [3.0, 3.0]
        """
    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """
        Axes start_dim to end_dim as one.

        >>> engine.zeros((2, 3, 4)).flatten(1).shape
        (2, 12)
        """
    def flip(self, axis: int | collections.abc.Sequence[int] | None = None) -> Tensor:
        """
        Elements in reverse order along the axes named, or all; a view.

        Raises IndexError for an axis out of range.

        >>> engine.flip(engine.asarray([1, 2, 3])).tolist()
        [3, 2, 1]
        """
    def floor(self) -> Tensor:
        """
        Largest integer not above x, elementwise.

        Args:
            x: tensor of any shape; any dtype but bool.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.floor(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def floor_divide_(self, other: typing.Any) -> typing.Any:
        """
        Floor division in place.

        >>> engine.full(2, 7.0).floor_divide_(2).tolist()
        [3.0, 3.0]
        """
    def gelu(self) -> Tensor:
        """
        Gaussian error linear unit, exact (Hendrycks and Gimpel, arXiv:1606.08415), elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.gelu(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def gelu_tanh(self) -> Tensor:
        """
        Gaussian error linear unit, tanh form, as in GPT-2, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.gelu_tanh(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def hardsigmoid(self) -> Tensor:
        """
        min(max(x / 6 + 1 / 2, 0), 1) (Courbariaux et al., arXiv:1511.00363), elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.hardsigmoid(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def hardswish(self) -> Tensor:
        """
        x * hardsigmoid(x) (Howard et al., arXiv:1905.02244), elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.hardswish(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def i0(self) -> Tensor:
        """
        Modified Bessel function of the first kind, order 0, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.i0(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def i1(self) -> Tensor:
        """
        Modified Bessel function of the first kind, order 1, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.i1(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def is_contiguous(self, memory_format: str = 'contiguous') -> builtins.bool:
        """
        Whether memory is in row-major order, or with 'channels_last' in NHWC order.

        >>> engine.zeros((2, 3)).T.is_contiguous()
        False
        """
    def is_shared(self) -> builtins.bool:
        """
        Whether other processes can see this tensor's memory: see share_memory_.

            >>> engine.zeros(2).is_shared()
            False

        """
    def isfinite(self) -> Tensor:
        """
        Whether x is neither infinite nor NaN, elementwise.

        Returns a bool tensor of x's shape.

        >>> engine.isfinite(engine.asarray([0.0, 1.0])).dtype
        bool
        """
    def isinf(self) -> Tensor:
        """
        Whether x is plus or minus infinity, elementwise.

        Returns a bool tensor of x's shape.

        >>> engine.isinf(engine.asarray([0.0, 1.0])).dtype
        bool
        """
    def isnan(self) -> Tensor:
        """
        Whether x is NaN, elementwise.

        Returns a bool tensor of x's shape.

        >>> engine.isnan(engine.asarray([0.0, 1.0])).dtype
        bool
        """
    def item(self) -> typing.Any:
        """
        The single element as a Python number.

        Raises ValueError if there are several.

        >>> engine.asarray([2.5]).item()
        2.5
        """
    def lgamma(self) -> Tensor:
        """
        Logarithm of |gamma(x)|, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.lgamma(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def log(self) -> Tensor:
        """
        Natural logarithm, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.log(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def log10(self) -> Tensor:
        """
        Base-10 logarithm, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.log10(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def log1p(self) -> Tensor:
        """
        log(1 + x), exact near 0, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.log1p(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def log2(self) -> Tensor:
        """
        Base-2 logarithm, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.log2(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def logical_not(self) -> Tensor:
        """
        Whether x is zero, elementwise.

        Returns a bool tensor of x's shape.

        >>> engine.logical_not(engine.asarray([0.0, 1.0])).dtype
        bool
        """
    def logit(self) -> Tensor:
        """
        log(x / (1 - x)), elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.logit(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def logsigmoid(self) -> Tensor:
        """
        log(1 / (1 + exp(-x))), without overflow, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.logsigmoid(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def max(self, axis: int | collections.abc.Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
        """
        Largest element; NaN if there is one.

        Any real dtype; axis: an int, several, or None for all. Raises ValueError where there are no
        elements.

        >>> engine.max(engine.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=1).tolist()
        [2.0, 4.0]
        """
    def maximum_(self, other: typing.Any) -> typing.Any:
        """
        The larger of this tensor and other, in place.

        >>> engine.zeros(2).maximum_(1).tolist()
        [1.0, 1.0]
        """
    def mean(self, axis: int | collections.abc.Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
        """
        Mean over the axes named, or all. Accumulates in float64.

        axis: an int, several, or None; keepdims: keep them with size 1. Raises TypeError for
        integers, IndexError for an axis out of range.

        >>> engine.mean(engine.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
        [2.0, 3.0]
        """
    def min(self, axis: int | collections.abc.Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
        """
        Smallest element; NaN if there is one.

        Any real dtype; axis: an int, several, or None for all. Raises ValueError where there are no
        elements.

        >>> engine.min(engine.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=1).tolist()
        [1.0, 3.0]
        """
    def minimum_(self, other: typing.Any) -> typing.Any:
        """
        The smaller of this tensor and other, in place.

        >>> engine.zeros(2).minimum_(-1).tolist()
        [-1.0, -1.0]
        """
    def mish(self) -> Tensor:
        """
        x * tanh(log(1 + exp(x))) (Misra, arXiv:1908.08681), elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.mish(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def mul_(self, other: typing.Any) -> typing.Any:
        """
        Multiplies this tensor by other in place.

        >>> engine.ones(2).mul_(2).tolist()
        [2.0, 2.0]
        """
    def negative(self) -> Tensor:
        """
        -x, elementwise.

        Args:
            x: tensor of any shape; any dtype but bool.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.negative(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def numpy(self) -> numpy.ndarray:
        """
        A numpy array over the same memory. Raises AutogradError if gradients are required.

        >>> engine.ones(2).numpy().sum().item()
        2.0
        """
    def permute_dims(self, *args) -> Tensor:
        """
        The axes in another order, as a view.

        >>> engine.zeros((2, 3, 4)).permute_dims(2, 0, 1).shape
        (4, 2, 3)
        """
    def pow_(self, other: typing.Any) -> typing.Any:
        """
        Raises this tensor to a power in place.

        >>> engine.full(2, 3.0).pow_(2).tolist()
        [9.0, 9.0]
        """
    def prod(self, axis: int | collections.abc.Sequence[int] | None = None, keepdims: builtins.bool = False, dtype: DType | None = None) -> Tensor:
        """
        Product over the axes named, or all.

        Small integers and bool give int64 or uint64 unless a dtype is named. Raises IndexError for an
        axis out of range.

        >>> engine.prod(engine.asarray([2, 3, 4])).item()
        24
        """
    def reciprocal(self) -> Tensor:
        """
        1 / x, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.reciprocal(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def register_hook(self, hook: typing.Any) -> _HookHandle:
        """
        Calls hook(grad) whenever the gradient of this tensor is complete; a tensor that it returns replaces it. Returns a handle with remove(). A hook lives as long as the tensor's graph; one on a leaf that refers to that leaf keeps it alive until removed. Raises AutogradError if the tensor requires no gradients.

        >>> x = engine.ones(2)
        >>> x.requires_grad = True
        >>> with x.register_hook(lambda grad: grad * 10):
        ...     x.sum().backward()
        >>> x.grad.tolist()
        [10.0, 10.0]
        """
    def register_post_accumulate_grad_hook(self, hook: typing.Any) -> _HookHandle:
        """
        Calls hook(leaf) whenever backward() has added to .grad of this leaf. Returns a handle with remove().

        >>> x, seen = engine.ones(2), []
        >>> x.requires_grad = True
        >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.shape))
        >>> x.sum().backward()
        >>> seen
        [(2,)]
        """
    def relu(self) -> Tensor:
        """
        max(x, 0); NaN stays NaN, elementwise.

        Args:
            x: tensor of any shape; any dtype but bool.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.relu(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def relu6(self) -> Tensor:
        """
        min(max(x, 0), 6), elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.relu6(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def remainder_(self, other: typing.Any) -> typing.Any:
        """
        Remainder in place.

        >>> engine.full(2, 7.0).remainder_(4).tolist()
        [3.0, 3.0]
        """
    def reshape(self, *args) -> Tensor:
        """
        The same elements in another shape: t.reshape(2, -1) or t.reshape((2, -1)).

        Raises ValueError if the elements do not fill it.

        >>> engine.arange(6).reshape(2, -1).shape
        (2, 3)
        """
    def retain_grad(self) -> None:
        """
        Makes backward() fill .grad of this tensor too, though it is no leaf.

        >>> x = engine.ones(2)
        >>> x.requires_grad = True
        >>> y = x * 3
        >>> y.retain_grad()
        >>> y.sum().backward()
        >>> y.grad.tolist()
        [1.0, 1.0]
        """
    def round(self) -> Tensor:
        """
        Nearest integer, ties to even, elementwise.

        Args:
            x: tensor of any shape; any dtype but bool.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.round(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def rsqrt(self) -> Tensor:
        """
        1 / sqrt(x), elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.rsqrt(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def selu(self) -> Tensor:
        """
        Scaled exponential linear unit (Klambauer et al., arXiv:1706.02515), elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.selu(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def share_memory_(self) -> Tensor:
        """
        Moves this tensor's elements to memory that processes share, and returns the tensor.

            After that, sending it through a queue or to a pool of multiprocessing copies nothing: the other
            process has a tensor over the same memory. Do it before making views: raises ValueError when
            other tensors look at the memory. A leaf may require gradients; the gradient is not shared.

            >>> t = engine.zeros((2, 3)).share_memory_()
            >>> t.is_shared()
            True

        """
    def sigmoid(self) -> Tensor:
        """
        1 / (1 + exp(-x)), elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.sigmoid(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def sign(self) -> Tensor:
        """
        -1, 0 or 1; NaN stays NaN, elementwise.

        Args:
            x: tensor of any shape; any dtype but bool.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.sign(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def signbit(self) -> Tensor:
        """
        Whether the sign of x is negative, -0.0 and NaN included, elementwise.

        Returns a bool tensor of x's shape.

        >>> engine.signbit(engine.asarray([0.0, 1.0])).dtype
        bool
        """
    def silu(self) -> Tensor:
        """
        x * sigmoid(x) (Elfwing et al., arXiv:1702.03118), elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.silu(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def sin(self) -> Tensor:
        """
        Sine of x radians, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.sin(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def sinc(self) -> Tensor:
        """
        sin(pi x) / (pi x), 1 at 0, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.sinc(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def sinh(self) -> Tensor:
        """
        Hyperbolic sine, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.sinh(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def softsign(self) -> Tensor:
        """
        x / (1 + |x|), elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.softsign(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def sqrt(self) -> Tensor:
        """
        Square root, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.sqrt(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def square(self) -> Tensor:
        """
        x * x, elementwise.

        Args:
            x: tensor of any shape; any dtype but bool.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.square(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def squeeze(self, axis: int | collections.abc.Sequence[int] | None = None) -> Tensor:
        """
        Axes of size 1 removed: those named, or all.

        Raises ValueError for a named axis of another size.

        >>> engine.zeros((1, 3, 1)).squeeze().shape
        (3,)
        """
    def std(self, axis: int | collections.abc.Sequence[int] | None = None, correction: float = 0.0, keepdims: builtins.bool = False) -> Tensor:
        """
        Standard deviation; divides by n - correction.

        Floating-point dtypes; over the axes named, or all. Raises TypeError for integers.

        >>> engine.std(engine.asarray([1.0, 5.0])).item()
        2.0
        """
    def strides(self) -> tuple:
        """
        Steps from one element to the next along each axis, in elements.

        >>> engine.zeros((2, 3)).strides()
        (3, 1)
        """
    def sub_(self, other: typing.Any) -> typing.Any:
        """
        Subtracts other from this tensor in place.

        >>> engine.ones(2).sub_(2).tolist()
        [-1.0, -1.0]
        """
    def sum(self, axis: int | collections.abc.Sequence[int] | None = None, keepdims: builtins.bool = False, dtype: DType | None = None) -> Tensor:
        """
        Sum over the axes named, or all. Accumulates in float64 or int64.

        Small integers and bool give int64 or uint64 unless a dtype is named. Raises IndexError for an
        axis out of range.

        >>> engine.sum(engine.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
        [4.0, 6.0]
        """
    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """
        Two axes exchanged, as a view.

        Raises IndexError for an axis out of range.

        >>> engine.swapaxes(engine.zeros((2, 3)), 0, 1).shape
        (3, 2)
        """
    def tan(self) -> Tensor:
        """
        Tangent of x radians, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.tan(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def tanh(self) -> Tensor:
        """
        Hyperbolic tangent, elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.tanh(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def tanhshrink(self) -> Tensor:
        """
        x - tanh(x), elementwise.

        Args:
            x: tensor of any shape; integers are converted to float32.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.tanhshrink(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def to(self, target: typing.Any) -> Tensor:
        """
        The tensor with another dtype, or on another device: 'cpu', 'cuda', 'cuda:1'. The tensor itself where it is so already. Differentiable. Raises NotImplementedError where no GPU can be used.

        >>> engine.zeros(2).to(engine.float64).dtype
        float64
        """
    def to_device(self, device: Device | str, *, stream: typing.Any = None) -> Tensor:
        """
        This tensor on a device: 'cpu', 'cuda' or 'cuda:1'.

            Raises NotImplementedError where no GPU can be used, ValueError for a stream: everything goes
            to the one stream that a device has here, in order.

            >>> engine.zeros(2).to_device("cpu").shape
            (2,)

        """
    def tolist(self) -> typing.Any:
        """
        The elements as nested Python lists.

        >>> engine.asarray([[1, 2]]).tolist()
        [[1, 2]]
        """
    def trunc(self) -> Tensor:
        """
        Integer part of x, elementwise.

        Args:
            x: tensor of any shape; any dtype but bool.

        Returns a tensor of x's shape. Raises TypeError for bool.

        >>> engine.trunc(engine.asarray([0.5, 1.0])).shape
        (2,)
        """
    def unsqueeze(self, axis: int) -> Tensor:
        """
        A new axis of size 1.

        >>> engine.zeros((2, 3)).unsqueeze(0).shape
        (1, 2, 3)
        """
    def var(self, axis: int | collections.abc.Sequence[int] | None = None, correction: float = 0.0, keepdims: builtins.bool = False) -> Tensor:
        """
        Variance; divides by n - correction.

        Floating-point dtypes; over the axes named, or all. Raises TypeError for integers.

        >>> engine.var(engine.asarray([1.0, 3.0])).item()
        1.0
        """
    def zero_(self) -> Tensor:
        """
        Sets every element to 0.

        >>> engine.ones(2).zero_().tolist()
        [0.0, 0.0]
        """
    @property
    def T(self) -> Tensor:
        """
        The tensor with its axes in reverse order.

        >>> engine.zeros((2, 3)).T.shape
        (3, 2)
        """
    @property
    def device(self) -> Device:
        """
        Where the elements live; it equals its name, such as 'cpu' or 'cuda:0'.

        >>> engine.zeros(2).device == 'cpu'
        True
        """
    @property
    def dtype(self) -> DType:
        """
        Type of the elements.

        >>> engine.zeros(2).dtype
        float32
        """
    @property
    def grad(self) -> Tensor:
        """
        The gradient that backward() accumulated, or None.

        >>> x = engine.zeros(2)
        >>> x.requires_grad = True
        >>> x.sum().backward()
        >>> x.grad.tolist()
        [1.0, 1.0]
        """
    @grad.setter
    def grad(self, arg1: Tensor | None) -> None: ...
    @property
    def grad_fn(self) -> Node | None:
        """
        The recorded operation that made this tensor, or None.

        >>> x = engine.ones(2)
        >>> x.requires_grad = True
        >>> (x * x).grad_fn.name()
        'multiply'
        """
    @property
    def imag(self) -> Tensor:
        """
        Imaginary parts, a view of a complex tensor.

        >>> engine.asarray([1 + 2j]).imag.tolist()
        [2.0]
        """
    @property
    def is_leaf(self) -> builtins.bool:
        """
        Whether no recorded operation made this tensor.

        >>> engine.zeros(2).is_leaf
        True
        """
    @property
    def mT(self) -> Tensor:
        """
        The tensor with its last two axes swapped.

        >>> engine.zeros((2, 3, 4)).mT.shape
        (2, 4, 3)
        """
    @property
    def nbytes(self) -> int:
        """
        Bytes the elements take.

        >>> engine.zeros((2, 3)).nbytes
        24
        """
    @property
    def ndim(self) -> int:
        """
        Number of axes.

        >>> engine.zeros((2, 3)).ndim
        2
        """
    @property
    def real(self) -> Tensor:
        """
        Real parts, as a view.

        >>> engine.asarray([1 + 2j]).real.tolist()
        [1.0]
        """
    @property
    def requires_grad(self) -> builtins.bool:
        """
        Whether operations on this tensor are recorded.

        May be set on leaves. Raises TypeError for integers.

        >>> engine.zeros(2).requires_grad
        False
        """
    @requires_grad.setter
    def requires_grad(self, arg1: builtins.bool) -> None: ...
    @property
    def shape(self) -> tuple:
        """
        Sizes of the axes, a tuple.

        >>> engine.zeros((2, 3)).shape
        (2, 3)
        """
    @property
    def size(self) -> int:
        """
        Number of elements.

        >>> engine.zeros((2, 3)).size
        6
        """
    @property
    def version(self) -> int:
        """
        How often the memory was changed in place.

        >>> engine.zeros(2).fill_(1.0).version
        1
        """
class _HookHandle:
    """
    A registered hook; remove() takes it back.
    """
    def __enter__(self) -> typing.Any: ...
    def __exit__(self, *args) -> None: ...
    def remove(self) -> None:
        """
        The hook runs no more. Doing it twice is no error.
        """
class Node:
    """
    A recorded operation: what turns gradients of its results into gradients of its operands.

    >>> x = engine.ones(2)
    >>> x.requires_grad = True
    >>> (x * x).grad_fn.name()
    'multiply'
    """
    def __repr__(self) -> str: ...
    def name(self) -> str:
        """
        Name of the operation.
        """
    def register_hook(self, hook: typing.Any) -> _HookHandle:
        """
        Calls hook(grad_inputs, grad_outputs) after this node ran in a backward pass; a tuple that it returns replaces grad_inputs. Returns a handle with remove().
        """
    def register_prehook(self, hook: typing.Any) -> _HookHandle:
        """
        Calls hook(grad_outputs) before this node runs in a backward pass; a tuple that it returns replaces them. Returns a handle with remove().
        """
    @property
    def location(self) -> str:
        """
        The line of the program that ran the operation, 'file.py:12'.
        """
    @property
    def next_functions(self) -> tuple:
        """
        For each operand, the node that it came from (None if it needs no gradient) and which of that node's results it is.
        """
class _FunctionContext:
    """
    The ctx of a Function: what its forward keeps for its backward. Other values may be kept as attributes.
    """
    def mark_non_differentiable(self, *args) -> None:
        """
        Says that no gradient flows through these outputs of forward.
        """
    def save_for_backward(self, *args) -> None:
        """
        Keeps tensors, and None, for backward; a change of one in place will be noticed.
        """
    def set_materialize_grads(self, value: builtins.bool) -> None:
        """
        Whether backward gets zeros, the default, or None for outputs that no gradient reached.
        """
    @property
    def needs_input_grad(self) -> tuple:
        """
        For each argument of forward, whether a gradient for it is wanted.
        """
    @property
    def saved_tensors(self) -> tuple:
        """
        The tensors given to save_for_backward, a tuple.
        """
class Generator:
    """
    A source of random numbers: Philox4x32-10 counters (Salmon et al., SC 2011). The same seed gives the same numbers for any number of threads and on every processor.

    >>> g = engine.Generator(7)
    >>> g.seed
    7
    """
    def __init__(self, seed: int = 0) -> None: ...
    def __repr__(self) -> str: ...
    def get_state(self) -> dict:
        """
        {'seed': ..., 'offset': ...}: the whole state.
        """
    def manual_seed(self, seed: int) -> None:
        """
        Starts again from a seed.
        """
    def set_state(self, state: dict) -> None:
        """
        Continues from what get_state() returned.
        """
    @property
    def offset(self) -> int:
        """
        How many counters are used up; each gives 128 random bits.
        """
    @property
    def seed(self) -> int:
        """
        The seed it started from.
        """
def _adaptive_max_pool2d(arg0: Tensor, arg1: tuple[int, int]) -> tuple[Tensor, Tensor]: ...
def _adopt_memory(t: Tensor, other: Tensor) -> None:
    """
    Makes t a tensor over other's memory.
    """
def _apply_function(function: typing.Any, *args) -> typing.Any:
    """
    Runs function.forward and records function.backward.
    """
def _attention(arg0: Tensor, arg1: Tensor, arg2: Tensor, arg3: Tensor | None, arg4: float, arg5: builtins.bool) -> Tensor: ...
def _autocast_dtypes() -> typing.Annotated[list[DType | None], "FixedSize(2)"]:
    """
    What products on (cpu, cuda) are computed in on this thread, None for what they are in.
    """
def _backend_absence() -> str:
    """
    Why no library of kernels for GPUs is loaded; empty if one is.
    """
def _backend_info() -> typing.Any:
    """
    Name, versions (13000 is 13.0) and devices of the library for GPUs, or None.
    """
def _bincount(arg0: Tensor, arg1: int) -> Tensor:
    """
    How often each integer from 0 on occurs.
    """
def _chunks(arg0: Tensor, arg1: int, arg2: int) -> tuple: ...
def _conv2d_norm(x: Tensor, weight: Tensor, bias: Tensor | None, stride: tuple[int, int], padding: tuple[int, int], dilation: tuple[int, int], groups: int, norm_weight: Tensor | None, norm_bias: Tensor | None, running_mean: Tensor, running_var: Tensor, eps: float, residual: Tensor | None, relu: builtins.bool) -> Tensor:
    """
    conv2d, then batch_norm with the running statistics: in one pass where no gradient is wanted.
    """
def _default_device() -> Device:
    """
    Where this thread's new tensors go.
    """
def _dequantize(arg0: Tensor, arg1: Tensor | None) -> Tensor: ...
def _device_info(index: int) -> dict:
    """
    Name, memory in bytes, compute capability and multiprocessors of a GPU.
    """
def _fold(arg0: Tensor, arg1: tuple[int, int], arg2: tuple[int, int], arg3: tuple[int, int], arg4: tuple[int, int], arg5: tuple[int, int]) -> Tensor: ...
def _given_away(t: Tensor) -> None:
    """
    Promises that t's memory, which came from outside, is written to through tensors only.
    """
def _kernel_tables() -> list:
    """
    (variable, name, has a CPU kernel, has a GPU kernel) of every kernel table.
    """
def _linear_cross_entropy(arg0: Tensor, arg1: Tensor, arg2: Tensor, arg3: int, arg4: str, arg5: float) -> Tensor: ...
def _load_backend(path: str) -> None:
    """
    Opens a library of kernels for GPUs; a process can have one.
    """
def _load_backend_if_possible(path: str) -> None:
    """
    The same if the file is there and the machine has a driver; no error otherwise.
    """
def _max_pool2d_with_indices(arg0: Tensor, arg1: tuple[int, int], arg2: tuple[int, int], arg3: tuple[int, int], arg4: tuple[int, int], arg5: builtins.bool) -> tuple[Tensor, Tensor]: ...
def _quantized_linear(arg0: Tensor, arg1: Tensor, arg2: Tensor | None, arg3: Tensor | None) -> Tensor: ...
def _run_backward(outputs: collections.abc.Sequence[Tensor], inputs: collections.abc.Sequence[Tensor], grad_outputs: collections.abc.Sequence[Tensor | None] | None, retain_graph: builtins.bool, create_graph: builtins.bool) -> list[Tensor | None]:
    """
    The walk behind engine.grad and engine.autograd.backward.
    """
def _searchsorted(arg0: Tensor, arg1: Tensor, arg2: builtins.bool) -> Tensor:
    """
    Positions in a sorted tensor.
    """
def _self_attention(arg0: Tensor, arg1: int, arg2: float, arg3: builtins.bool) -> Tensor: ...
def _set_anomaly_mode(backward: builtins.bool, forward: builtins.bool) -> tuple:
    """
    Sets what is watched; returns what was.
    """
def _set_autocast_dtypes(dtypes: typing.Annotated[collections.abc.Sequence[DType | None], "FixedSize(2)"]) -> None:
    """
    What engine.autocast does for a block and undoes.
    """
def _set_default_device(device: typing.Any) -> None:
    """
    Where this thread's new tensors go from here on.
    """
def _set_package_dir(path: str) -> None:
    """
    Files below this folder are the engine's own: messages skip them.
    """
def _set_saved_hooks(functions: typing.Any) -> typing.Any:
    """
    Sets (pack, unpack) or None; returns what was there.
    """
def _sort_with_indices(arg0: Tensor, arg1: int, arg2: builtins.bool) -> tuple:
    """
    The elements in order along an axis, and the positions they had.
    """
def _sum_pool2d(arg0: Tensor, arg1: tuple[int, int], arg2: tuple[int, int], arg3: tuple[int, int], arg4: builtins.bool, arg5: int) -> Tensor: ...
def _synchronize(device: typing.Any = None) -> None:
    """
    Waits for all work that was given to the device.
    """
def _tensor_over(bytes: numpy.ndarray, dtype: DType, shape: collections.abc.Sequence[int], strides: collections.abc.Sequence[int], offset: int) -> Tensor:
    """
    A tensor over the bytes of a numpy array.
    """
def _topk(arg0: Tensor, arg1: int, arg2: int, arg3: builtins.bool) -> tuple:
    """
    The k largest or smallest elements along an axis and their positions.
    """
def _unfold(arg0: Tensor, arg1: tuple[int, int], arg2: tuple[int, int], arg3: tuple[int, int], arg4: tuple[int, int]) -> Tensor: ...
def abs(x: Tensor) -> Tensor:
    """
    Absolute value; the gradient at 0 is 0, elementwise.

    Args:
        x: tensor of any shape; any dtype but bool.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.abs(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def acos(x: Tensor) -> Tensor:
    """
    Inverse cosine, in radians, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.acos(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def acosh(x: Tensor) -> Tensor:
    """
    Inverse hyperbolic cosine, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.acosh(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def adamw_step(params: collections.abc.Sequence[Tensor], grads: collections.abc.Sequence[Tensor], exp_avg: collections.abc.Sequence[Tensor], exp_avg_sq: collections.abc.Sequence[Tensor], step: int, lr: float, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-08, weight_decay: float = 0.0, decoupled: builtins.bool = True) -> None:
    """
    One step of AdamW (Loshchilov and Hutter, arXiv:1711.05101), or of Adam (Kingma and Ba, arXiv:1412.6980) if decoupled is False, on all params, in place. step counts from 1.

    engine.optim.AdamW calls it. Raises ValueError for lists or shapes that differ.

    >>> w, m, v = engine.asarray([1.0]), engine.zeros(1), engine.zeros(1)
    >>> engine.adamw_step([w], [engine.asarray([2.0])], [m], [v], step=1, lr=0.5)
    >>> round(w.item(), 4)
    0.5
    """
def adaptive_avg_pool2d(x: Tensor, output_size: tuple[int, int]) -> Tensor:
    """
    Means of x (N, C, H, W) over as many windows as output_size (rows, columns) says; window k covers floor(k H / rows) to ceil((k + 1) H / rows).

    Raises ValueError for another number of axes, TypeError for integers.

    >>> engine.adaptive_avg_pool2d(engine.ones((1, 3, 8, 8)), (1, 1)).shape
    (1, 3, 1, 1)
    """
def add(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a + b, elementwise with broadcasting.

    Args:
        x1, x2: tensors of numbers; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.add(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def all(x: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
    """
    Whether all elements are true.

    Any dtype: what is not 0 is true. Gives bool.

    >>> engine.all(engine.asarray([0, 3])).item()
    False
    """
def any(x: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
    """
    Whether any element is true.

    Any dtype: what is not 0 is true. Gives bool.

    >>> engine.any(engine.asarray([0, 3])).item()
    True
    """
def arange(start: typing.Any, /, stop: typing.Any = None, step: typing.Any = 1, *, dtype: DType | None = None, device: typing.Any = None) -> Tensor:
    """
    Evenly spaced values from start up to, not including, stop; arange(n) starts at 0.
    """
def argmax(x: Tensor, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
    """
    Position of the first largest element.

    An int64 along one axis, or in reading order if axis is None. Raises IndexError for an axis
    out of range, ValueError where there are no elements.

    >>> engine.argmax(engine.asarray([2.0, 7.0, 7.0])).item()
    1
    """
def argmin(x: Tensor, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
    """
    Position of the first smallest element.

    An int64 along one axis, or in reading order if axis is None. Raises IndexError for an axis
    out of range, ValueError where there are no elements.

    >>> engine.argmin(engine.asarray([2.0, 7.0, 7.0])).item()
    0
    """
def argsort(x: Tensor, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
    """
    The positions, int64, that put the elements in order along an axis. Always stable; NaN counts as the largest.

    >>> engine.argsort(engine.asarray([3, 1, 2]))
    Tensor([1, 2, 0], dtype=int64)
    """
def asarray(obj: typing.Any, /, *, dtype: DType | None = None, device: typing.Any = None, copy: builtins.bool | None = None) -> Tensor:
    """
    A tensor of a number, a nested list, a numpy array or a tensor. Python floats become float32, integers int64; arrays keep their dtype and share memory unless copy=True.

    >>> engine.asarray([[1.0, 2.0]]).shape
    (1, 2)
    """
def asin(x: Tensor) -> Tensor:
    """
    Inverse sine, in radians, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.asin(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def asinh(x: Tensor) -> Tensor:
    """
    Inverse hyperbolic sine, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.asinh(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def atan(x: Tensor) -> Tensor:
    """
    Inverse tangent, in radians, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.atan(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def atan2(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    Angle of the point (b, a), in radians, elementwise with broadcasting.

    Args:
        x1, x2: tensors of numbers; one may be a Python number, which takes the other's dtype.

    Returns floating point: integers become float32. Raises ValueError where the shapes do not broadcast.

    >>> engine.atan2(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def atanh(x: Tensor) -> Tensor:
    """
    Inverse hyperbolic tangent, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.atanh(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def avg_pool2d(x: Tensor, kernel: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int] = (0, 0), ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True) -> Tensor:
    """
    Mean of each window of x (N, C, H, W); zeros of the padding count unless count_include_pad is False.

    Raises ValueError for a window that does not fit, TypeError for integers.

    >>> engine.avg_pool2d(engine.ones((1, 3, 8, 8)), (2, 2), (2, 2)).shape
    (1, 3, 4, 4)
    """
def batch_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, running_mean: Tensor | None = None, running_var: Tensor | None = None, training: builtins.bool = False, momentum: float = 0.1, eps: float = 1e-05, residual: Tensor | None = None, relu: builtins.bool = False) -> Tensor:
    """
    act((x - mean) / sqrt(var + eps) * weight + bias + residual) by channel (axis 1) of x, (N, C), (N, C, L) or (N, C, H, W); act is ReLU or nothing. In training from the batch's own statistics, which also move the running ones, in place, by momentum; else from the running ones. Ioffe and Szegedy, arXiv:1502.03167.

    weight, bias, running_mean and running_var have shape (C,). Raises ValueError for shapes that do
    not fit, and for running statistics that are missing outside training.

    >>> x = engine.asarray([[1.0], [3.0]])
    >>> engine.batch_norm(x, training=True, eps=0.0).tolist()
    [[-1.0], [1.0]]
    """
def bernoulli(p: Tensor, generator: Generator | None = None) -> Tensor:
    """
    1 with the probability that p holds at that place, else 0; p's shape and dtype.

    Raises ValueError for a probability outside [0, 1].

    >>> engine.bernoulli(engine.asarray([0.0, 1.0])).tolist()
    [0.0, 1.0]
    """
def bitwise_and(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    Bits set in both, elementwise with broadcasting.

    Args:
        x1, x2: tensors of integers or bool; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.bitwise_and(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def bitwise_left_shift(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    Bits of a moved up by b places, elementwise with broadcasting.

    Args:
        x1, x2: tensors of integers or bool; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.bitwise_left_shift(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def bitwise_or(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    Bits set in either, elementwise with broadcasting.

    Args:
        x1, x2: tensors of integers or bool; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.bitwise_or(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def bitwise_right_shift(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    Bits of a moved down by b places; the sign stays, elementwise with broadcasting.

    Args:
        x1, x2: tensors of integers or bool; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.bitwise_right_shift(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def bitwise_xor(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    Bits set in exactly one, elementwise with broadcasting.

    Args:
        x1, x2: tensors of integers or bool; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.bitwise_xor(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def broadcast_to(x: Tensor, shape: int | collections.abc.Sequence[int]) -> Tensor:
    """
    A view of another shape, by broadcasting.

    Any dtype. Raises ValueError for shapes that do not broadcast.

    >>> engine.broadcast_to(engine.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
def ceil(x: Tensor) -> Tensor:
    """
    Smallest integer not below x, elementwise.

    Args:
        x: tensor of any shape; any dtype but bool.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.ceil(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """
    x, or alpha * (exp(x / alpha) - 1) where x is not positive (Barron, arXiv:1704.07483).

    Any shape; integers become float32.

    >>> engine.celu(engine.asarray([0.0, 2.0])).tolist()
    [0.0, 2.0]
    """
def clip(x: Tensor, min: typing.Any = None, max: typing.Any = None) -> Tensor:
    """
    Elements limited to [min, max]; NaN stays NaN.

    >>> engine.asarray([-1.0, 5.0]).clip(0, 1).tolist()
    [0.0, 1.0]
    """
def concat(arrays: collections.abc.Sequence[Tensor], axis: int | None = 0) -> Tensor:
    """
    Tensors joined along an axis they have; flattened first if axis is None.
    """
def conj(x: Tensor) -> Tensor:
    """
    Complex conjugate: the sign of the imaginary part changed. A real tensor is returned as it is.

    >>> engine.conj(engine.asarray([1 + 2j])).tolist()
    [(1-2j)]
    """
def conv2d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: tuple[int, int] = (1, 1), padding: tuple[int, int] = (0, 0), dilation: tuple[int, int] = (1, 1), groups: int = 1, residual: Tensor | None = None, relu: builtins.bool = False) -> Tensor:
    """
    Convolution of x (N, C, H, W) with weight (out, C / groups, kh, kw), plus bias and residual, then ReLU if asked.

    Args:
        x: pictures (N, C, H, W), one floating-point dtype for all operands.
        weight: filters (out, C / groups, kh, kw).
        bias: (out,), or None.
        stride, padding, dilation: (rows, columns), in pixels; zeros are padded.
        groups: parts of the channels that are convolved separately.
        residual: added before the ReLU; the result's shape.

    Returns (N, out, H', W') with H' = (H + 2 padding - dilation (kh - 1) - 1) / stride + 1, rounded
    down. 3x3 windows of stride 1 may use Winograd's algorithm (Lavin and Gray, arXiv:1509.09308): see
    set_conv_algorithm. Raises ValueError for shapes that do not fit, TypeError for dtypes that
    differ. engine.nn.functional.conv2d takes single numbers for pairs.

    >>> x, weight = engine.ones((1, 3, 8, 8)), engine.ones((4, 3, 3, 3))
    >>> engine.conv2d(x, weight, padding=(1, 1)).shape
    (1, 4, 8, 8)
    """
def conv_transpose2d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: tuple[int, int] = (1, 1), padding: tuple[int, int] = (0, 0), output_padding: tuple[int, int] = (0, 0), groups: int = 1, dilation: tuple[int, int] = (1, 1)) -> Tensor:
    """
    Transposed convolution of x (N, C, H, W) with weight (C, out / groups, kh, kw): the gradient that conv2d with that weight sends back to its input. Zeiler et al., CVPR 2010.

    Gives (N, out, H', W') with H' = (H - 1) stride - 2 padding + dilation (kh - 1) + output_padding
    + 1. Raises ValueError for shapes that do not fit, TypeError for dtypes that differ.

    >>> x, weight = engine.ones((1, 4, 2, 2)), engine.ones((4, 3, 2, 2))
    >>> engine.conv_transpose2d(x, weight, stride=(2, 2)).shape
    (1, 3, 4, 4)
    """
def copysign(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    The size of a with the sign of b, elementwise with broadcasting.

    Args:
        x1, x2: tensors of numbers; one may be a Python number, which takes the other's dtype.

    Returns floating point: integers become float32. Raises ValueError where the shapes do not broadcast.

    >>> engine.copysign(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def cos(x: Tensor) -> Tensor:
    """
    Cosine of x radians, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.cos(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def cosh(x: Tensor) -> Tensor:
    """
    Hyperbolic cosine, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.cosh(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def cpu_isa() -> str:
    """
    The instruction set in use: 'baseline', 'avx2' or 'avx512'. The environment variable ZOO_CPU_ISA can lower it before the import.

    >>> engine.cpu_isa() in ('baseline', 'avx2', 'avx512')
    True
    """
def cross_entropy(logits: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = 'mean', label_smoothing: float = 0.0) -> Tensor:
    """
    -log softmax(logits)[target] for logits (N, C, ...) and target (N, ...) of class numbers. 'mean' divides by the sum of the weights of the targets; targets equal to ignore_index count for nothing. label_smoothing s moves s of each target's mass evenly to all classes (Szegedy et al., arXiv:1512.00567).

    reduction: 'mean', 'sum' or 'none'; weight: one number for each class, (C,). Raises IndexError for
    a target that is no class, TypeError for targets that are not integers, ValueError for shapes
    that do not fit.

    >>> loss = engine.cross_entropy(engine.zeros((2, 4)), engine.asarray([0, 3]))
    >>> round(loss.item(), 4)
    1.3863
    """
def cummax(x: Tensor, /, axis: int = -1) -> tuple:
    """
    (values, indices): the largest element so far along an axis and its position, the last one of equals. NaN stays.

    >>> engine.cummax(engine.asarray([1, 3, 2]))[0]
    Tensor([1, 3, 3], dtype=int64)
    """
def cummin(x: Tensor, /, axis: int = -1) -> tuple:
    """
    (values, indices): the smallest element so far along an axis and its position, the last one of equals. NaN stays.

    >>> engine.cummin(engine.asarray([3, 1, 2]))[0]
    Tensor([3, 1, 1], dtype=int64)
    """
def cumprod(x: Tensor, /, axis: int = -1, *, dtype: DType | None = None) -> Tensor:
    """
    Running products along an axis: y[i] = x[0] * ... * x[i]. Small integers and bool give int64 or uint64 unless a dtype is named. The gradient divides by nothing: zeros are fine.

    >>> engine.cumprod(engine.asarray([1, 2, 3]))
    Tensor([1, 2, 6], dtype=int64)
    """
def cumsum(x: Tensor, /, axis: int = -1, *, dtype: DType | None = None) -> Tensor:
    """
    Running sums along an axis: y[i] = x[0] + ... + x[i]. Small integers and bool give int64 or uint64 unless a dtype is named.

    >>> engine.cumsum(engine.asarray([1, 2, 3]))
    Tensor([1, 3, 6], dtype=int64)
    """
def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """
    A diagonal of two axes, as the last axis of a view.

    Raises IndexError for an axis out of range.

    >>> engine.diagonal(engine.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
def digamma(x: Tensor) -> Tensor:
    """
    Derivative of lgamma(x); NaN at negative integers, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.digamma(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def divide(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a / b, in floating point, elementwise with broadcasting.

    Args:
        x1, x2: tensors of numbers; one may be a Python number, which takes the other's dtype.

    Returns floating point: integers become float32. Raises ValueError where the shapes do not broadcast.

    >>> engine.divide(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def dropout(x: Tensor, p: float, generator: Generator | None = None) -> Tensor:
    """
    Each element becomes 0 with probability p and is divided by 1 - p otherwise. The mask is drawn again in the backward pass instead of kept. Srivastava et al., JMLR 15 (2014).

    Any shape, floating-point dtypes. Raises ValueError for p outside [0, 1].

    >>> engine.dropout(engine.ones(4), 0.0).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
def dtype_named(name: str) -> DType:
    """
    The dtype of that name: dtype_named('float32') is engine.float32.

    Raises TypeError for a name of none.

    >>> engine.dtype_named('float32')
    float32
    """
def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """
    x, or alpha * (exp(x) - 1) where x is not positive (Clevert et al., arXiv:1511.07289).

    Any shape; integers become float32.

    >>> engine.elu(engine.asarray([0.0, 2.0])).tolist()
    [0.0, 2.0]
    """
def embedding(weight: Tensor, idx: Tensor) -> Tensor:
    """
    Rows of weight (V, D) by number: shape idx.shape + (D,). Gradients of repeated rows add up.

    idx holds integers of any shape. Raises IndexError for a number out of range.

    >>> table = engine.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> engine.embedding(table, engine.asarray([1, 0])).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
def empty(shape: int | collections.abc.Sequence[int], *, dtype: DType | None = None, device: typing.Any = None) -> Tensor:
    """
    A tensor whose elements are whatever the memory held.
    """
def empty_cache(device: typing.Any = None) -> None:
    """
    Gives memory that is kept for reuse back to the system, or to the GPU that is named.

    >>> engine.empty_cache()
    """
def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: typing.Any = None) -> Tensor:
    """
    Uninitialised, with the shape, layout and dtype of x.

    >>> engine.empty_like(engine.zeros((2, 3))).shape
    (2, 3)
    """
def equal(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a == b, elementwise with broadcasting.

    Args:
        x1, x2: tensors; one may be a Python number, which takes the other's dtype.

    Returns bool. Raises ValueError where the shapes do not broadcast.

    >>> engine.equal(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def erf(x: Tensor) -> Tensor:
    """
    Error function, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.erf(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def erfc(x: Tensor) -> Tensor:
    """
    1 - erf(x), exact where that is near 0, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.erfc(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def erfinv(x: Tensor) -> Tensor:
    """
    The number whose error function is x, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.erfinv(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def exp(x: Tensor) -> Tensor:
    """
    e to the power x, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.exp(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def exp2(x: Tensor) -> Tensor:
    """
    2 to the power x, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.exp2(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def expand_dims(x: Tensor, axis: int = 0) -> Tensor:
    """
    A new axis of size 1.

    Raises IndexError for an axis out of range.

    >>> engine.zeros((2, 3)).expand_dims(1).shape
    (2, 1, 3)
    """
def expm1(x: Tensor) -> Tensor:
    """
    exp(x) - 1, exact near 0, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.expm1(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DType | None = None, device: typing.Any = None) -> Tensor:
    """
    Ones on diagonal k, zeros elsewhere.
    """
def flip(x: Tensor, axis: int | collections.abc.Sequence[int] | None = None) -> Tensor:
    """
    Elements in reverse order along the axes named, or all; a view.

    Raises IndexError for an axis out of range.

    >>> engine.flip(engine.asarray([1, 2, 3])).tolist()
    [3, 2, 1]
    """
def floor(x: Tensor) -> Tensor:
    """
    Largest integer not above x, elementwise.

    Args:
        x: tensor of any shape; any dtype but bool.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.floor(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def floor_divide(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    Largest integer not above a / b, elementwise with broadcasting.

    Args:
        x1, x2: tensors of numbers; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.floor_divide(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def from_dlpack(x: typing.Any, /, *, device: typing.Any = None, copy: builtins.bool | None = None) -> Tensor:
    """
    A tensor over the memory of another library's array, by the DLPack protocol; a DLPack capsule is taken too, once.

    Args:
        x: an object with __dlpack__, such as a numpy or PyTorch array.
        device: None or 'cpu'.
        copy: True always copies, False never does, None only if it must.

    Raises BufferError for elements that no tensor can point at.

    >>> engine.from_dlpack(numpy.ones(2)).dtype
    float64
    """
def from_numpy(array: typing.Any) -> Tensor:
    """
    A tensor over the memory of a numpy array, without a copy: a change in one shows in the other. Negative steps and read-only arrays are fine (the tensor then refuses in-place changes). Arrays that no tensor can point into (foreign byte order, steps that are no multiple of the element) are copied.

    Raises TypeError for a dtype that no tensor has.

    >>> import numpy as np
    >>> array = np.zeros(2)
    >>> engine.from_numpy(array).fill_(1.0).dtype
    float64
    >>> array.tolist()
    [1.0, 1.0]
    """
def full(shape: int | collections.abc.Sequence[int], fill_value: typing.Any, *, dtype: DType | None = None, device: typing.Any = None) -> Tensor:
    """
    A tensor filled with one value, of that value's default dtype unless told otherwise.
    """
def full_like(x: Tensor, /, fill_value: typing.Any, *, dtype: DType | None = None, device: typing.Any = None) -> Tensor:
    """
    One value with the shape, layout and dtype of x.

    Raises ValueError if fill_value is more than one value.

    >>> engine.full_like(engine.asarray([1, 2]), 7).tolist()
    [7, 7]
    """
def gather(x: Tensor, axis: int, index: Tensor) -> Tensor:
    """
    x[index] along one axis: y[i, j] = x[index[i, j], j] for axis 0. index has x's number of axes and off the axis at most its sizes; negative indices count from the end. Raises IndexError for an index out of range.

    >>> engine.gather(engine.asarray([[1, 2], [3, 4]]), 1, engine.asarray([[0], [1]]))
    Tensor([[1],
            [4]], dtype=int64)
    """
def gcd(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    Greatest common divisor, elementwise with broadcasting.

    Args:
        x1, x2: tensors of integers or bool; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.gcd(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def gelu(x: Tensor) -> Tensor:
    """
    Gaussian error linear unit, exact (Hendrycks and Gimpel, arXiv:1606.08415), elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.gelu(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def gelu_tanh(x: Tensor) -> Tensor:
    """
    Gaussian error linear unit, tanh form, as in GPT-2, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.gelu_tanh(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def get_conv_algorithm() -> str:
    """
    How convolutions are computed: 'auto', 'direct' or 'winograd'.

    >>> engine.set_conv_algorithm('auto')
    >>> engine.get_conv_algorithm()
    'auto'
    """
def get_num_threads() -> int:
    """
    Threads that one operation may use.

    >>> engine.get_num_threads() >= 1
    True
    """
def get_rng_state() -> dict:
    """
    {'seed': ..., 'offset': ...} of the default generator.

    >>> engine.manual_seed(7)
    >>> engine.get_rng_state()
    {'seed': 7, 'offset': 0}
    """
def grad_norm(grads: collections.abc.Sequence[Tensor]) -> float:
    """
    The Euclidean norm of all tensors together, as a float; summed in float64.

    >>> engine.grad_norm([engine.asarray([3.0]), engine.asarray([4.0])])
    5.0
    """
def greater(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a > b, elementwise with broadcasting.

    Args:
        x1, x2: tensors; one may be a Python number, which takes the other's dtype.

    Returns bool. Raises ValueError where the shapes do not broadcast.

    >>> engine.greater(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def greater_equal(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a >= b, elementwise with broadcasting.

    Args:
        x1, x2: tensors; one may be a Python number, which takes the other's dtype.

    Returns bool. Raises ValueError where the shapes do not broadcast.

    >>> engine.greater_equal(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def hardshrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    """
    x, or 0 where |x| is not above lambd.

    Any shape; integers become float32.

    >>> engine.hardshrink(engine.asarray([-1.0, 0.25])).tolist()
    [-1.0, 0.0]
    """
def hardsigmoid(x: Tensor) -> Tensor:
    """
    min(max(x / 6 + 1 / 2, 0), 1) (Courbariaux et al., arXiv:1511.00363), elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.hardsigmoid(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def hardswish(x: Tensor) -> Tensor:
    """
    x * hardsigmoid(x) (Howard et al., arXiv:1905.02244), elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.hardswish(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def hardtanh(x: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """
    x limited to [min_val, max_val]; no gradient at the ends.

    Any shape.

    >>> engine.hardtanh(engine.asarray([-3.0, 0.5])).tolist()
    [-1.0, 0.5]
    """
def hypot(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    sqrt(a * a + b * b), elementwise with broadcasting.

    Args:
        x1, x2: tensors of numbers; one may be a Python number, which takes the other's dtype.

    Returns floating point: integers become float32. Raises ValueError where the shapes do not broadcast.

    >>> engine.hypot(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def i0(x: Tensor) -> Tensor:
    """
    Modified Bessel function of the first kind, order 0, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.i0(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def i1(x: Tensor) -> Tensor:
    """
    Modified Bessel function of the first kind, order 1, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.i1(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def imag(x: Tensor) -> Tensor:
    """
    Imaginary parts: a view of a complex tensor, zeros for a real one.

    >>> engine.imag(engine.asarray([1 + 2j])).tolist()
    [2.0]
    """
def is_grad_enabled() -> builtins.bool:
    """
    Whether operations are recorded on this thread.

    >>> with engine.no_grad():
    ...     engine.is_grad_enabled()
    False
    """
def isfinite(x: Tensor) -> Tensor:
    """
    Whether x is neither infinite nor NaN, elementwise.

    Returns a bool tensor of x's shape.

    >>> engine.isfinite(engine.asarray([0.0, 1.0])).dtype
    bool
    """
def isinf(x: Tensor) -> Tensor:
    """
    Whether x is plus or minus infinity, elementwise.

    Returns a bool tensor of x's shape.

    >>> engine.isinf(engine.asarray([0.0, 1.0])).dtype
    bool
    """
def isnan(x: Tensor) -> Tensor:
    """
    Whether x is NaN, elementwise.

    Returns a bool tensor of x's shape.

    >>> engine.isnan(engine.asarray([0.0, 1.0])).dtype
    bool
    """
def layer_norm(x: Tensor, normalized_shape: collections.abc.Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """
    (x - mean) / sqrt(var + eps) * weight + bias over the last axes, whose sizes are normalized_shape. Ba et al., arXiv:1607.06450.

    weight and bias have that shape. Raises ValueError if x does not end in it, TypeError for
    integers.

    >>> engine.layer_norm(engine.asarray([[1.0, 3.0]]), [2], eps=0.0).tolist()
    [[-1.0, 1.0]]
    """
def lcm(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    Least common multiple, not negative, elementwise with broadcasting.

    Args:
        x1, x2: tensors of integers or bool; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.lcm(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def leaky_relu(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    """
    x, or negative_slope * x where x is negative (Maas et al. 2013). Elementwise.

    Any shape; integers become float32.

    >>> engine.leaky_relu(engine.asarray([-1.0, 2.0]), 0.5).tolist()
    [-0.5, 2.0]
    """
def less(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a < b, elementwise with broadcasting.

    Args:
        x1, x2: tensors; one may be a Python number, which takes the other's dtype.

    Returns bool. Raises ValueError where the shapes do not broadcast.

    >>> engine.less(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def less_equal(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a <= b, elementwise with broadcasting.

    Args:
        x1, x2: tensors; one may be a Python number, which takes the other's dtype.

    Returns bool. Raises ValueError where the shapes do not broadcast.

    >>> engine.less_equal(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def lgamma(x: Tensor) -> Tensor:
    """
    Logarithm of |gamma(x)|, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.lgamma(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """
    x W^T + b for x (..., in), weight (out, in), bias (out,).

    Gives (..., out), of the operands' one floating-point dtype. Raises ValueError for shapes that
    do not fit, TypeError for dtypes that differ.

    >>> engine.linear(engine.ones((2, 3)), engine.ones((4, 3))).shape
    (2, 4)
    """
def linear_scan(a: Tensor, b: Tensor, /, axis: int = -1) -> Tensor:
    """
    The recurrence y[i] = a[i] * y[i - 1] + b[i] along an axis, y[0] = b[0] (Blelloch, "Prefix sums and their applications", 1990). a and b broadcast.

    >>> engine.linear_scan(engine.full(3, 0.5), engine.ones(3))
    Tensor([1.  , 1.5 , 1.75], dtype=float32)
    """
def linspace(start: complex | typing.SupportsComplex | float, stop: complex | typing.SupportsComplex | float, /, num: int, *, dtype: DType | None = None, device: typing.Any = None, endpoint: builtins.bool = True) -> Tensor:
    """
    num evenly spaced values from start to stop.
    """
def log(x: Tensor) -> Tensor:
    """
    Natural logarithm, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.log(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def log10(x: Tensor) -> Tensor:
    """
    Base-10 logarithm, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.log10(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def log1p(x: Tensor) -> Tensor:
    """
    log(1 + x), exact near 0, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.log1p(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def log2(x: Tensor) -> Tensor:
    """
    Base-2 logarithm, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.log2(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """
    log(softmax(x)) along an axis, exact where softmax underflows.

    Floating-point dtypes, any shape. Raises TypeError for integers, IndexError for an axis out of
    range.

    >>> engine.log_softmax(engine.asarray([0.0, -1000.0])).tolist()
    [0.0, -1000.0]
    """
def logaddexp(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    log(exp(a) + exp(b)), without overflow, elementwise with broadcasting.

    Args:
        x1, x2: tensors of numbers; one may be a Python number, which takes the other's dtype.

    Returns floating point: integers become float32. Raises ValueError where the shapes do not broadcast.

    >>> engine.logaddexp(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def logcumsumexp(x: Tensor, /, axis: int = -1) -> Tensor:
    """
    log(exp(x[0]) + ... + exp(x[i])) along an axis, without overflow.

    >>> engine.logcumsumexp(engine.zeros(3)).shape
    (3,)
    """
def logical_and(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a and b, elementwise with broadcasting.

    Args:
        x1, x2: tensors; one may be a Python number, which takes the other's dtype.

    Returns bool. Raises ValueError where the shapes do not broadcast.

    >>> engine.logical_and(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def logical_not(x: Tensor) -> Tensor:
    """
    Whether x is zero, elementwise.

    Returns a bool tensor of x's shape.

    >>> engine.logical_not(engine.asarray([0.0, 1.0])).dtype
    bool
    """
def logical_or(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a or b, elementwise with broadcasting.

    Args:
        x1, x2: tensors; one may be a Python number, which takes the other's dtype.

    Returns bool. Raises ValueError where the shapes do not broadcast.

    >>> engine.logical_or(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def logical_xor(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    Exactly one of a and b, elementwise with broadcasting.

    Args:
        x1, x2: tensors; one may be a Python number, which takes the other's dtype.

    Returns bool. Raises ValueError where the shapes do not broadcast.

    >>> engine.logical_xor(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def logit(x: Tensor) -> Tensor:
    """
    log(x / (1 - x)), elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.logit(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def logsigmoid(x: Tensor) -> Tensor:
    """
    log(1 / (1 + exp(-x))), without overflow, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.logsigmoid(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def manual_seed(seed: int) -> None:
    """
    Starts the default generator again from a seed (0 if never called).

    >>> engine.manual_seed(7)
    >>> first = engine.rand(3)
    >>> engine.manual_seed(7)
    >>> engine.all(first == engine.rand(3)).item()
    True
    """
def matmul(a: Tensor, b: Tensor) -> Tensor:
    """
    Matrix product; leading axes broadcast, a 1-d operand is a vector.

    a (..., n, k), b (..., k, m) -> (..., n, m), of the promoted dtype. Raises ValueError for shapes
    that do not fit.

    >>> engine.matmul(engine.ones((2, 3)), engine.ones((3, 4))).shape
    (2, 4)
    """
def max(x: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
    """
    Largest element; NaN if there is one.

    Any real dtype; axis: an int, several, or None for all. Raises ValueError where there are no
    elements.

    >>> engine.max(engine.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=1).tolist()
    [2.0, 4.0]
    """
def max_pool2d(x: Tensor, kernel: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int] = (0, 0), dilation: tuple[int, int] = (1, 1), ceil_mode: builtins.bool = False) -> Tensor:
    """
    Largest element of each window of x (N, C, H, W); NaN if there is one. Padding never wins; the gradient goes to the first largest element.

    kernel, stride, padding, dilation: (rows, columns). Raises ValueError for a window that does not
    fit.

    >>> engine.max_pool2d(engine.ones((1, 3, 8, 8)), (2, 2), (2, 2)).shape
    (1, 3, 4, 4)
    """
def maximum(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    The larger one; NaN if either is; equal ones share the gradient, elementwise with broadcasting.

    Args:
        x1, x2: tensors of numbers; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.maximum(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def mean(x: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
    """
    Mean over the axes named, or all. Accumulates in float64.

    axis: an int, several, or None; keepdims: keep them with size 1. Raises TypeError for
    integers, IndexError for an axis out of range.

    >>> engine.mean(engine.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [2.0, 3.0]
    """
def memory_stats(device: typing.Any = None) -> dict:
    """
    What the allocator of a device, the CPU if none is named, holds: bytes in use, bytes reserved, their peaks, and how many requests the cache served.

    >>> engine.memory_stats()['allocated_bytes'] >= 0
    True
    """
def min(x: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: builtins.bool = False) -> Tensor:
    """
    Smallest element; NaN if there is one.

    Any real dtype; axis: an int, several, or None for all. Raises ValueError where there are no
    elements.

    >>> engine.min(engine.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=1).tolist()
    [1.0, 3.0]
    """
def minimum(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    The smaller one; NaN if either is; equal ones share the gradient, elementwise with broadcasting.

    Args:
        x1, x2: tensors of numbers; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.minimum(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def mish(x: Tensor) -> Tensor:
    """
    x * tanh(log(1 + exp(x))) (Misra, arXiv:1908.08681), elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.mish(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def multiply(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a * b, elementwise with broadcasting.

    Args:
        x1, x2: tensors of numbers; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.multiply(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def negative(x: Tensor) -> Tensor:
    """
    -x, elementwise.

    Args:
        x: tensor of any shape; any dtype but bool.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.negative(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def nonzero(x: Tensor) -> tuple:
    """
    Positions of the nonzero elements, one int64 tensor per axis. ValueError for 0-d.

    >>> engine.nonzero(engine.asarray([0, 5, 0, 6]))[0].tolist()
    [1, 3]
    """
def normal_(t: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """
    Fills t in place from a normal distribution.

    Raises ValueError for a negative deviation.

    >>> engine.normal_(engine.zeros(3), std=0.02).shape
    (3,)
    """
def normalize_images(x: Tensor, mean: collections.abc.Sequence[float], std: collections.abc.Sequence[float]) -> Tensor:
    """
    (x / 255 - mean) / std by channel, for uint8 pictures (N, C, H, W) with any strides: float32, channels-last.

    mean and std: one number for each channel. Raises TypeError for another dtype.

    >>> x = engine.zeros((1, 3, 2, 2), dtype=engine.uint8)
    >>> engine.normalize_images(x, [0.5] * 3, [0.25] * 3)[0, 0, 0, 0].item()
    -2.0
    """
def not_equal(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a != b, elementwise with broadcasting.

    Args:
        x1, x2: tensors; one may be a Python number, which takes the other's dtype.

    Returns bool. Raises ValueError where the shapes do not broadcast.

    >>> engine.not_equal(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def ones(shape: int | collections.abc.Sequence[int], *, dtype: DType | None = None, device: typing.Any = None) -> Tensor:
    """
    A tensor of ones, float32 unless told otherwise.
    """
def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: typing.Any = None) -> Tensor:
    """
    Ones with the shape, layout and dtype of x.

    >>> engine.ones_like(engine.asarray([0.5, 2.0])).tolist()
    [1.0, 1.0]
    """
def permute_dims(x: Tensor, axes: int | collections.abc.Sequence[int]) -> Tensor:
    """
    The axes in another order, as a view.
    """
def polygamma(n: int, x: Tensor) -> Tensor:
    """
    The n-th derivative of digamma(x), elementwise (Abramowitz and Stegun, 6.4).

    >>> engine.polygamma(1, engine.ones(1)).shape
    (1,)
    """
def pow(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a to the power b, elementwise with broadcasting.

    Args:
        x1, x2: tensors of numbers; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.pow(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def prod(x: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: builtins.bool = False, dtype: DType | None = None) -> Tensor:
    """
    Product over the axes named, or all.

    Small integers and bool give int64 or uint64 unless a dtype is named. Raises IndexError for an
    axis out of range.

    >>> engine.prod(engine.asarray([2, 3, 4])).item()
    24
    """
def promote_types(a: DType, b: DType) -> DType:
    """
    The dtype of an operation between tensors of dtypes a and b.

    >>> engine.promote_types(engine.int8, engine.uint8)
    int16
    """
def rand(shape: int | collections.abc.Sequence[int], dtype: DType | None = None, generator: Generator | None = None, device: typing.Any = None) -> Tensor:
    """
    Uniform random numbers in [0, 1), float32 unless told otherwise.

    Raises TypeError for a dtype that is not floating point.

    >>> engine.rand((2, 3)).shape
    (2, 3)
    """
def randint(low: int, high: int, shape: int | collections.abc.Sequence[int], dtype: DType | None = None, generator: Generator | None = None, device: typing.Any = None) -> Tensor:
    """
    Uniform random integers from low up to, not including, high; int64 unless told otherwise.

    Raises ValueError unless low is below high.

    >>> engine.randint(0, 10, (2, 3)).dtype
    int64
    """
def randn(shape: int | collections.abc.Sequence[int], dtype: DType | None = None, generator: Generator | None = None, device: typing.Any = None) -> Tensor:
    """
    Normal random numbers of mean 0 and deviation 1, float32 unless told otherwise.

    Raises TypeError for a dtype that is not floating point.

    >>> engine.randn((2, 3)).shape
    (2, 3)
    """
def randperm(n: int, generator: Generator | None = None) -> Tensor:
    """
    The integers 0 to n - 1 in random order, int64.

    >>> sorted(engine.randperm(4).tolist())
    [0, 1, 2, 3]
    """
def real(x: Tensor) -> Tensor:
    """
    Real parts: a view of a complex tensor; a real tensor is returned as it is.

    >>> engine.real(engine.asarray([1 + 2j])).tolist()
    [1.0]
    """
def reciprocal(x: Tensor) -> Tensor:
    """
    1 / x, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.reciprocal(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def relu(x: Tensor) -> Tensor:
    """
    max(x, 0); NaN stays NaN, elementwise.

    Args:
        x: tensor of any shape; any dtype but bool.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.relu(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def relu6(x: Tensor) -> Tensor:
    """
    min(max(x, 0), 6), elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.relu6(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def remainder(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a - floor(a / b) * b: the sign of b, elementwise with broadcasting.

    Args:
        x1, x2: tensors of numbers; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.remainder(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def reset_peak_memory_stats(device: typing.Any = None) -> None:
    """
    Peaks start again from what is in use now.

    >>> engine.reset_peak_memory_stats()
    >>> stats = engine.memory_stats()
    >>> stats['peak_allocated_bytes'] == stats['allocated_bytes']
    True
    """
def reshape(x: Tensor, shape: int | collections.abc.Sequence[int], *, copy: builtins.bool | None = None) -> Tensor:
    """
    The same elements in another shape; one size may be -1. A view where memory allows, unless copy=True; with copy=False a ValueError where it does not.

    Raises ValueError if the elements do not fill the shape.

    >>> engine.reshape(engine.arange(6), (2, -1)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
def round(x: Tensor) -> Tensor:
    """
    Nearest integer, ties to even, elementwise.

    Args:
        x: tensor of any shape; any dtype but bool.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.round(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def rsqrt(x: Tensor) -> Tensor:
    """
    1 / sqrt(x), elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.rsqrt(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def scale_grads(grads: collections.abc.Sequence[Tensor], factor: float) -> None:
    """
    Multiplies every tensor by factor, in place.

    >>> g = engine.asarray([3.0])
    >>> engine.scale_grads([g], 2.0)
    >>> g.tolist()
    [6.0]
    """
def scatter(x: Tensor, axis: int, index: Tensor, source: typing.Any) -> Tensor:
    """
    A copy of x with source put at index along one axis: y[index[i, j], j] = source[i, j] for axis 0. Of equal indices the last one stays. source is a tensor of at least index's shape, or a number.

    >>> engine.scatter(engine.zeros(3), 0, engine.asarray([1]), 5.0)
    Tensor([0., 5., 0.], dtype=float32)
    """
def scatter_add(x: Tensor, axis: int, index: Tensor, source: Tensor) -> Tensor:
    """
    A copy of x with source added at index along one axis: y[index[i, j], j] += source[i, j] for axis 0. Equal indices add up, in order, for any number of threads.

    >>> engine.scatter_add(engine.zeros(2), 0, engine.asarray([1, 1]), engine.ones(2))
    Tensor([0., 2.], dtype=float32)
    """
def selu(x: Tensor) -> Tensor:
    """
    Scaled exponential linear unit (Klambauer et al., arXiv:1706.02515), elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.selu(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def set_conv_algorithm(name: str) -> None:
    """
    Chooses how convolutions are computed, for the whole process.

    'direct' never uses Winograd's algorithm F(4x4, 3x3), whose rounding errors reach about 1e-5 of the largest output (Lavin and Gray, arXiv:1509.09308); 'winograd' uses it wherever it applies (float32, 3x3 windows, stride 1, dilation 1, one group); 'auto' where it should be faster. Raises ValueError for another name.

    >>> engine.set_conv_algorithm('direct')
    >>> engine.get_conv_algorithm()
    'direct'
    """
def set_grad_enabled(enabled: builtins.bool) -> None:
    """
    Turns recording on or off for this thread.

    engine.no_grad() does it for a block and undoes it.

    >>> engine.set_grad_enabled(True)
    """
def set_num_threads(n: int) -> None:
    """
    Sets the number of threads that one operation may use. Results do not depend on it.

    Raises ValueError for fewer than 1.

    >>> engine.set_num_threads(engine.get_num_threads())
    """
def set_rng_state(state: dict) -> None:
    """
    Continues the default generator from what get_rng_state() returned.

    Raises ValueError for another dict.

    >>> engine.set_rng_state({'seed': 7, 'offset': 0})
    >>> engine.get_rng_state()['seed']
    7
    """
def sgd_step(params: collections.abc.Sequence[Tensor], grads: collections.abc.Sequence[Tensor], momentum_bufs: collections.abc.Sequence[Tensor], lr: float, momentum: float = 0.0, dampening: float = 0.0, weight_decay: float = 0.0, nesterov: builtins.bool = False, first: builtins.bool = False) -> None:
    """
    One step of stochastic gradient descent on all params, in place. momentum_bufs: one a parameter, or [] if momentum is 0; with first they are filled and not read.

    engine.optim.SGD calls it. Raises ValueError for lists or shapes that differ.

    >>> w = engine.asarray([1.0])
    >>> engine.sgd_step([w], [engine.asarray([2.0])], [], lr=0.5)
    >>> w.tolist()
    [0.0]
    """
def sigmoid(x: Tensor) -> Tensor:
    """
    1 / (1 + exp(-x)), elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.sigmoid(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def sign(x: Tensor) -> Tensor:
    """
    -1, 0 or 1; NaN stays NaN, elementwise.

    Args:
        x: tensor of any shape; any dtype but bool.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.sign(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def signbit(x: Tensor) -> Tensor:
    """
    Whether the sign of x is negative, -0.0 and NaN included, elementwise.

    Returns a bool tensor of x's shape.

    >>> engine.signbit(engine.asarray([0.0, 1.0])).dtype
    bool
    """
def silu(x: Tensor) -> Tensor:
    """
    x * sigmoid(x) (Elfwing et al., arXiv:1702.03118), elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.silu(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def sin(x: Tensor) -> Tensor:
    """
    Sine of x radians, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.sin(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def sinc(x: Tensor) -> Tensor:
    """
    sin(pi x) / (pi x), 1 at 0, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.sinc(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def sinh(x: Tensor) -> Tensor:
    """
    Hyperbolic sine, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.sinh(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """
    exp(x) / sum(exp(x)) along an axis, without overflow.

    Floating-point dtypes, any shape. Raises TypeError for integers, IndexError for an axis out of
    range.

    >>> engine.softmax(engine.zeros(2)).tolist()
    [0.5, 0.5]
    """
def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """
    log(1 + exp(beta x)) / beta, or x where beta x is above threshold.

    Any shape; integers become float32.

    >>> round(engine.softplus(engine.zeros(1)).item(), 4)
    0.6931
    """
def softshrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    """
    x moved lambd towards 0, at most to 0.

    Any shape; integers become float32.

    >>> engine.softshrink(engine.asarray([-1.0, 0.25])).tolist()
    [-0.5, 0.0]
    """
def softsign(x: Tensor) -> Tensor:
    """
    x / (1 + |x|), elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.softsign(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def sort(x: Tensor, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
    """
    The elements in order along an axis. Always stable; NaN counts as the largest.

    Raises IndexError for an axis out of range.

    >>> engine.sort(engine.asarray([3, 1, 2]))
    Tensor([1, 2, 3], dtype=int64)
    """
def sqrt(x: Tensor) -> Tensor:
    """
    Square root, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.sqrt(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def square(x: Tensor) -> Tensor:
    """
    x * x, elementwise.

    Args:
        x: tensor of any shape; any dtype but bool.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.square(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def squeeze(x: Tensor, axis: int | collections.abc.Sequence[int] | None = None) -> Tensor:
    """
    Axes of size 1 removed: those named, or all.

    Raises ValueError for a named axis of another size.

    >>> engine.zeros((1, 3, 1)).squeeze().shape
    (3,)
    """
def stack(arrays: collections.abc.Sequence[Tensor], axis: int = 0) -> Tensor:
    """
    Tensors joined along a new axis.

    All of one shape. Raises ValueError for none, or for shapes that differ.

    >>> engine.stack([engine.zeros(2), engine.ones(2)]).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
def std(x: Tensor, axis: int | collections.abc.Sequence[int] | None = None, correction: float = 0.0, keepdims: builtins.bool = False) -> Tensor:
    """
    Standard deviation; divides by n - correction.

    Floating-point dtypes; over the axes named, or all. Raises TypeError for integers.

    >>> engine.std(engine.asarray([1.0, 5.0])).item()
    2.0
    """
def subtract(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a - b, elementwise with broadcasting.

    Args:
        x1, x2: tensors of numbers; one may be a Python number, which takes the other's dtype.

    Returns the promoted dtype. Raises ValueError where the shapes do not broadcast.

    >>> engine.subtract(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def sum(x: Tensor, axis: int | collections.abc.Sequence[int] | None = None, keepdims: builtins.bool = False, dtype: DType | None = None) -> Tensor:
    """
    Sum over the axes named, or all. Accumulates in float64 or int64.

    Small integers and bool give int64 or uint64 unless a dtype is named. Raises IndexError for an
    axis out of range.

    >>> engine.sum(engine.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [4.0, 6.0]
    """
def swapaxes(x: Tensor, axis1: int, axis2: int) -> Tensor:
    """
    Two axes exchanged, as a view.

    Raises IndexError for an axis out of range.

    >>> engine.swapaxes(engine.zeros((2, 3)), 0, 1).shape
    (3, 2)
    """
def take(x: Tensor, indices: Tensor, *, axis: int | None = None) -> Tensor:
    """
    The elements of x at integer positions along an axis, which a 1-d tensor need not name.
    """
def tan(x: Tensor) -> Tensor:
    """
    Tangent of x radians, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.tan(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def tanh(x: Tensor) -> Tensor:
    """
    Hyperbolic tangent, elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.tanh(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def tanhshrink(x: Tensor) -> Tensor:
    """
    x - tanh(x), elementwise.

    Args:
        x: tensor of any shape; integers are converted to float32.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.tanhshrink(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def threshold(x: Tensor, threshold: float, value: float) -> Tensor:
    """
    x, or value where x is not above threshold.

    Any shape.

    >>> engine.threshold(engine.asarray([0.5, 2.0]), 1.0, 0.0).tolist()
    [0.0, 2.0]
    """
def trunc(x: Tensor) -> Tensor:
    """
    Integer part of x, elementwise.

    Args:
        x: tensor of any shape; any dtype but bool.

    Returns a tensor of x's shape. Raises TypeError for bool.

    >>> engine.trunc(engine.asarray([0.5, 1.0])).shape
    (2,)
    """
def trunc_normal_(t: Tensor, mean: float = 0.0, std: float = 1.0, low: float = -2.0, high: float = 2.0, generator: Generator | None = None) -> Tensor:
    """
    Fills t in place from a normal distribution cut off at low and high (absolute values, not deviations).

    Raises ValueError unless std is positive and low below high.

    >>> engine.trunc_normal_(engine.zeros(3)).abs().max().item() <= 2.0
    True
    """
def uniform_(t: Tensor, low: float = 0.0, high: float = 1.0, generator: Generator | None = None) -> Tensor:
    """
    Fills t in place, uniformly from [low, high).

    Raises ValueError if high is below low.

    >>> engine.uniform_(engine.zeros(3), 2.0, 3.0).min().item() >= 2.0
    True
    """
def var(x: Tensor, axis: int | collections.abc.Sequence[int] | None = None, correction: float = 0.0, keepdims: builtins.bool = False) -> Tensor:
    """
    Variance; divides by n - correction.

    Floating-point dtypes; over the axes named, or all. Raises TypeError for integers.

    >>> engine.var(engine.asarray([1.0, 3.0])).item()
    1.0
    """
def where(condition: Tensor, a: typing.Any, b: typing.Any) -> Tensor:
    """
    a where condition holds, else b.
    """
def xlogy(x1: typing.Any, x2: typing.Any) -> Tensor:
    """
    a * log(b), 0 where a is 0, elementwise with broadcasting.

    Args:
        x1, x2: tensors of numbers; one may be a Python number, which takes the other's dtype.

    Returns floating point: integers become float32. Raises ValueError where the shapes do not broadcast.

    >>> engine.xlogy(engine.asarray([1, 2]), 2).shape
    (2,)
    """
def zeros(shape: int | collections.abc.Sequence[int], *, dtype: DType | None = None, device: typing.Any = None) -> Tensor:
    """
    A tensor of zeros, float32 unless told otherwise.
    """
def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: typing.Any = None) -> Tensor:
    """
    Zeros with the shape, layout and dtype of x.

    >>> engine.zeros_like(engine.asarray([1, 2])).tolist()
    [0, 0]
    """
_extension_api: typing.Any
bfloat16: dtype
bool: dtype
complex128: dtype
complex64: dtype
float16: dtype
float32: dtype
float64: dtype
int16: dtype
int32: dtype
int64: dtype
int8: dtype
uint16: dtype
uint32: dtype
uint64: dtype
uint8: dtype
