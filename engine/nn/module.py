"""Modules: trees of parameters, buffers and other modules, with PyTorch's names for them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

import engine
from engine import _C, Tensor
from engine.nn.hooks import Hook, ModuleHooks, RemovableHandle
from engine.nn.parameter import Parameter
from engine.nn.state import IncompatibleKeys, adoptable, check_state

_Self = TypeVar("_Self", bound="Module")


class Module:
    """Base class of layers and models.

    A subclass calls `super().__init__()` and assigns its parameters, buffers and submodules as
    attributes; the names of the attributes, joined with dots, are the keys of the state dict.
    `forward` computes; calling the module calls it.

    Attributes:
        training: whether dropout drops and batch norm uses the batch's own statistics.

    >>> class Affine(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = Parameter([1.0, 2.0])
    ...     def forward(self, x):
    ...         return x * self.scale
    >>> list(Affine().state_dict())
    ['scale']
    """

    # Buffers that old files may lack: loading does not miss them.
    optional_buffers: ClassVar[tuple[str, ...]] = ()
    training: bool
    _buffers: dict[str, bool]
    _hooks: ModuleHooks | None = None  # made with the first hook

    def __init__(self) -> None:
        # Names of buffers, and whether each is part of the state dict. Parameters and submodules
        # need no register: they are the attributes of those types.
        object.__setattr__(self, "_buffers", {})
        self.training = True

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if "_buffers" not in own:
            raise AttributeError(
                f"{type(self).__name__}: call super().__init__() before assigning '{name}'"
            )
        plain_tensor = isinstance(value, Tensor) and not isinstance(value, Parameter)
        if plain_tensor and isinstance(own.get(name), Parameter):
            raise TypeError(
                f"{type(self).__name__}.{name} is a Parameter and the new value a plain tensor, "
                f"which would not be trained or saved; wrap it: Parameter(tensor)"
            )
        object.__setattr__(self, name, value)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} has no forward method")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooks is None:
            return self.forward(*args, **kwargs)
        return self._hooks.call(self, args, kwargs)

    # ---- hooks ---------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Calls hook(module, args) before forward; a tuple, or single value, that it returns
        replaces the positional arguments. Returns a handle with remove()."""
        hooks = self._own_hooks()
        return hooks.add(hooks.before, hook)

    def register_forward_hook(self, hook: Hook) -> RemovableHandle:
        """Calls hook(module, args, output) after forward; what it returns, if not None, replaces
        the output. Returns a handle with remove()."""
        hooks = self._own_hooks()
        return hooks.add(hooks.after, hook)

    def register_full_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Calls hook(module, grad_input, grad_output) when a backward pass has gone through the
        module; both are tuples, one entry per argument and per output, None where no gradient is.
        A tuple that it returns replaces grad_input. The module's arguments and outputs must then
        not be changed in place. Returns a handle with remove()."""
        hooks = self._own_hooks()
        return hooks.add(hooks.backward, hook)

    def _own_hooks(self) -> ModuleHooks:
        if self._hooks is None:
            object.__setattr__(self, "_hooks", ModuleHooks())
        assert self._hooks is not None
        return self._hooks

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Makes a tensor part of the module that no optimizer trains, such as running statistics.

        Args:
            name: attribute and key; no dots.
            tensor: its first value, or None for "none yet".
            persistent: whether it belongs to the state dict.

        Raises:
            KeyError: a name with a dot, an empty one, or one that is taken.
        """
        if not name or "." in name or (hasattr(self, name) and name not in self._buffers):
            raise KeyError(
                f"register_buffer: '{name}' is empty, has a dot or is an attribute already"
            )
        self._buffers[name] = persistent
        setattr(self, name, tensor)

    # ---- walking the tree ----------------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the modules directly inside, in the order of assignment."""
        for name, value in self.__dict__.items():
            if isinstance(value, Module):
                yield name, value

    def children(self) -> Iterator[Module]:
        """The modules directly inside."""
        for _, module in self.named_children():
            yield module

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """(dotted name, module) of this module, whose name is `prefix`, and of all below it.

        A module that is reached twice counts once, under its first name.
        """
        seen: set[int] = set()
        for path, module in self._walk(prefix):
            if id(module) not in seen:
                seen.add(id(module))
                yield path.removesuffix("."), module

    def modules(self) -> Iterator[Module]:
        """This module and all below it, each once."""
        for _, module in self.named_modules():
            yield module

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) of this module and all below it.

        A parameter that is reached twice, such as a tied weight, counts once, under its first name.
        """
        seen: set[int] = set()
        for path, module in self._walk(prefix):
            for name, value in module.__dict__.items():
                if isinstance(value, Parameter) and id(value) not in seen:
                    seen.add(id(value))
                    yield path + name, value

    def parameters(self) -> Iterator[Parameter]:
        """The parameters of this module and all below it, each once."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_buffers(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """(dotted name, buffer) of this module and all below it, each once."""
        seen: set[int] = set()
        for path, module in self._walk(prefix):
            for name in module._buffers:
                value = getattr(module, name)
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield path + name, value

    def buffers(self) -> Iterator[Tensor]:
        """The buffers of this module and all below it, each once."""
        for _, buffer in self.named_buffers():
            yield buffer

    @property
    def num_parameters(self) -> int:
        """How many numbers training can change, tied ones counted once; buffers do not count."""
        return sum(parameter.size for parameter in self.parameters())

    def _walk(self, prefix: str) -> Iterator[tuple[str, Module]]:
        """(path with a final dot, module), every path; '' is the path of the root."""
        path = f"{prefix}." if prefix else ""
        yield path, self
        for name, child in self.named_children():
            yield from child._walk(path + name)

    # ---- state ---------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Tensor]:
        """All parameters and persistent buffers by dotted name, sharing the module's memory.

        Keys and their order are PyTorch's: a module's parameters, its buffers, then its children.
        The tensors are detached, so `.numpy()` works on each.
        """
        return {key: tensor.detach() for key, tensor in self._own_state().items()}

    def load_state_dict(
        self, state: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copies values into the module's parameters and buffers, converting float dtypes.

        Args:
            state: tensors or numpy arrays by dotted name.
            strict: refuse missing and unexpected keys. Counters that old files lack
                (`num_batches_tracked`) may be missing all the same.
            assign: take values over as they lie in memory, without a copy, where that is possible:
                where they have the module's dtype, are writable, dense and in order and share
                nothing. The caller gives them away: training writes to them. Arrays of a file
                that is mapped copy-on-write take no time and no memory until they are used.
                Parameters are replaced by new ones, so make optimizers afterwards.

        Returns:
            The missing and unexpected keys (both empty when strict).

        Raises:
            StateDictError: keys or shapes differ, or, even when not strict, no key matched at
                all; the message lists them. Nothing is changed then.
        """
        optional = [
            path + name for path, module in self._walk("") for name in module.optional_buffers
        ]
        own = self._own_state()
        incompatible, values = check_state(type(self).__name__, own, optional, state, strict)
        if assign:
            taken = adoptable(own, values)
            replaced = {id(own[key]): values.pop(key).detach() for key in taken}
            for tensor in replaced.values():
                _C._given_away(tensor)
            self._replace_tensors(lambda tensor: replaced.get(id(tensor)))
        with engine.no_grad():
            for key, value in values.items():
                own[key].copy_(value)
        return incompatible

    def _own_state(self) -> dict[str, Tensor]:
        state: dict[str, Tensor] = {}
        for path, module in self._walk(""):
            for name, value in module.__dict__.items():
                if isinstance(value, Parameter):
                    state[path + name] = value
            for name, persistent in module._buffers.items():
                value = getattr(module, name)
                if persistent and value is not None:
                    state[path + name] = value
        return state

    # ---- changing all of it --------------------------------------------------------------------

    def train(self: _Self, mode: bool = True) -> _Self:
        """Puts this module and all below it in training mode (or, with False, inference mode)."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: _Self) -> _Self:
        """Puts this module and all below it in inference mode."""
        return self.train(False)

    def requires_grad_(self: _Self, requires_grad: bool = True) -> _Self:
        """Freezes (False) or unfreezes all parameters.

        Frozen parameters stand still, but batch norm's running statistics move as long as it is in
        training mode: call eval() on what is frozen.
        """
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def zero_grad(self) -> None:
        """Drops the gradients of all parameters; the next backward() starts afresh."""
        for parameter in self.parameters():
            parameter.grad = None

    def apply(self: _Self, fn: Callable[[Module], None]) -> _Self:
        """Calls fn on every module below this one, innermost first, then on this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def to(self: _Self, target: Any) -> _Self:
        """Converts floating-point parameters and buffers to a dtype, or moves all to a device.

        Parameters are replaced by new ones, so make optimizers afterwards. Integer buffers keep
        their dtype.

        Args:
            target: a dtype such as engine.float64, or a device such as "cuda".
        """
        is_device = isinstance(target, engine.Device) or (
            isinstance(target, str) and target.split(":")[0] in ("cpu", "cuda")
        )
        self._replace_tensors(
            lambda tensor: (
                tensor.detach().to(target) if is_device or tensor.dtype.is_floating_point else None
            )
        )
        return self

    def _replace_tensors(self, new_value: Callable[[Tensor], Tensor | None]) -> None:
        """Puts new tensors in the place of parameters and buffers, where new_value gives one."""
        replaced: dict[int, Tensor] = {}  # tied tensors stay tied
        for module in self.modules():
            for name, value in list(module.__dict__.items()):
                is_buffer = name in module._buffers and isinstance(value, Tensor)
                if not is_buffer and not isinstance(value, Parameter):
                    continue
                if id(value) not in replaced:
                    new = new_value(value)
                    if new is None:
                        continue
                    if isinstance(value, Parameter):
                        new = Parameter(new, value.requires_grad)
                    replaced[id(value)] = new
                setattr(module, name, replaced[id(value)])

    def __deepcopy__(self: _Self, memo: dict[int, Any]) -> _Self:
        """A module of the same values that shares nothing with this one: copy.deepcopy(model)."""
        copied = object.__new__(type(self))
        memo[id(self)] = copied
        for name, value in self.__dict__.items():
            if type(value) is Tensor:  # a Parameter copies itself
                memo.setdefault(id(value), value.detach().clone())
            object.__setattr__(copied, name, copy.deepcopy(value, memo))
        return copied

    # ---- display -------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands between the parentheses of a layer's repr; subclasses define it."""
        return ""

    def __repr__(self) -> str:
        head, extra = type(self).__name__, self.extra_repr()
        lines = [f"({name}): {child!r}" for name, child in self.named_children()]
        if not lines:
            return f"{head}({extra})"
        inner = "\n".join(([extra] if extra else []) + lines).replace("\n", "\n  ")
        return f"{head}(\n  {inner}\n)"
