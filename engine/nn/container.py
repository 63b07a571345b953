"""Modules made of modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, overload

from engine import Tensor
from engine.nn.chain import run_chain
from engine.nn.module import Module
from engine.nn.parameter import Parameter


class _Numbered(Module):
    """Modules that are called 0, 1, 2, ..."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        for module in modules:
            self.append(module)

    def append(self, module: Module) -> _Numbered:
        """Adds a module at the end and returns the container.

        Raises:
            TypeError: it is no Module.
        """
        if not isinstance(module, Module):
            raise TypeError(
                f"{type(self).__name__}: expected a Module, got {type(module).__name__}"
            )
        setattr(self, str(len(self)), module)
        return self

    def __len__(self) -> int:
        return sum(1 for _ in self.children())

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    @overload
    def __getitem__(self, index: int) -> Module: ...

    @overload
    def __getitem__(self, index: slice) -> _Numbered: ...

    def __getitem__(self, index: int | slice) -> Any:
        modules = list(self.children())[index]
        if isinstance(modules, Module):
            return modules
        part = self._plain()
        for module in modules:
            part.append(module)
        part.training = self.training
        return part

    def _plain(self) -> _Numbered:
        """An empty container of the kind, for a part of this one."""
        raise NotImplementedError

    def __setitem__(self, index: int, module: Module) -> None:
        names = [name for name, _ in self.named_children()]
        setattr(self, names[index], module)


class Sequential(_Numbered):
    """Modules one after the other: y = m2(m1(m0(x))). A batch norm and a ReLU behind a convolution
    are computed while it writes, unless one of them has hooks. A slice is a Sequential of the same
    modules, counted from 0 again.

    >>> model = Sequential(Linear(3, 4), ReLU(), Linear(4, 1))
    >>> model(engine.ones((2, 3))).shape, model[:2](engine.ones((2, 3))).shape
    ((2, 1), (2, 4))
    """

    def __init__(self, *modules: Module) -> None:
        super().__init__(modules)

    def _plain(self) -> Sequential:
        return Sequential()

    def forward(self, x: Any) -> Any:
        return run_chain(self.children(), x)


class ModuleList(_Numbered):
    """A list of modules that its owner runs as it likes; a plain list would not be saved. A slice
    is a ModuleList of the same modules.

    >>> blocks = ModuleList([Linear(3, 3) for _ in range(2)])
    >>> sorted(blocks.state_dict())
    ['0.bias', '0.weight', '1.bias', '1.weight']
    """

    def _plain(self) -> ModuleList:
        return ModuleList()


class ModuleDict(Module):
    """Modules by name, which their owner runs as it likes.

    Args:
        modules: name -> module. A name has no dots and is no attribute of modules.

    >>> heads = ModuleDict({"small": Linear(3, 2), "large": Linear(3, 9)})
    >>> heads["large"](engine.ones((1, 3))).shape
    (1, 9)
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Mapping[str, Module]) -> None:
        """Adds modules, or puts them in the place of those of the same names.

        Raises:
            KeyError: a name with a dot, an empty one, or one of an attribute.
            TypeError: a value that is no Module.
        """
        for name, module in modules.items():
            self[name] = module

    def __setitem__(self, name: str, module: Module) -> None:
        _check_entry(self, name, module, Module, "a Module")
        setattr(self, name, module)

    def __getitem__(self, name: str) -> Module:
        return dict(self.named_children())[name]

    def __delitem__(self, name: str) -> None:
        del self.__dict__[self._known(name)]

    def _known(self, name: str) -> str:
        if name not in self:
            raise KeyError(name)
        return name

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __len__(self) -> int:
        return len(self.keys())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> list[str]:
        """The names, in the order of assignment."""
        return [name for name, _ in self.named_children()]

    def values(self) -> list[Module]:
        """The modules."""
        return list(self.children())

    def items(self) -> list[tuple[str, Module]]:
        """(name, module) of all."""
        return list(self.named_children())


class ParameterList(Module):
    """A list of parameters; a plain list would be neither saved nor trained. Tensors become
    parameters.

    >>> scales = ParameterList([engine.ones(2), engine.ones(3)])
    >>> list(scales.state_dict())
    ['0', '1']
    """

    def __init__(self, values: Iterable[Tensor] = ()) -> None:
        super().__init__()
        for value in values:
            self.append(value)

    def append(self, value: Tensor) -> ParameterList:
        """Adds a parameter at the end and returns the list.

        Raises:
            TypeError: it is no tensor.
        """
        name = str(len(self))
        _check_entry(self, name, value, Tensor, "a tensor")
        setattr(self, name, value if isinstance(value, Parameter) else Parameter(value))
        return self

    def _own(self) -> list[Parameter]:
        return [value for value in self.__dict__.values() if isinstance(value, Parameter)]

    def __len__(self) -> int:
        return len(self._own())

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._own())

    def __getitem__(self, index: int) -> Parameter:
        return self._own()[index]

    def __setitem__(self, index: int, value: Tensor) -> None:
        name = str(range(len(self))[index])
        _check_entry(self, name, value, Tensor, "a tensor")
        setattr(self, name, value if isinstance(value, Parameter) else Parameter(value))


class ParameterDict(Module):
    """Parameters by name. Tensors become parameters.

    >>> scales = ParameterDict({"left": engine.ones(2), "right": engine.ones(2)})
    >>> scales["left"].requires_grad
    True
    """

    def __init__(self, values: Mapping[str, Tensor] | None = None) -> None:
        super().__init__()
        for name, value in (values or {}).items():
            self[name] = value

    def _own(self) -> dict[str, Parameter]:
        return {k: v for k, v in self.__dict__.items() if isinstance(v, Parameter)}

    def __setitem__(self, name: str, value: Tensor) -> None:
        _check_entry(self, name, value, Tensor, "a tensor")
        setattr(self, name, value if isinstance(value, Parameter) else Parameter(value))

    def __getitem__(self, name: str) -> Parameter:
        return self._own()[name]

    def __delitem__(self, name: str) -> None:
        if name not in self._own():
            raise KeyError(name)
        del self.__dict__[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own()

    def __len__(self) -> int:
        return len(self._own())

    def __iter__(self) -> Iterator[str]:
        return iter(self._own())

    def keys(self) -> list[str]:
        """The names, in the order of assignment."""
        return list(self._own())

    def values(self) -> list[Parameter]:
        """The parameters."""
        return list(self._own().values())

    def items(self) -> list[tuple[str, Parameter]]:
        """(name, parameter) of all."""
        return list(self._own().items())


def _check_entry(owner: Module, name: str, value: object, kind: type, text: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(
            f"{type(owner).__name__}: expected {text} for '{name}', got {type(value).__name__}"
        )
    taken = hasattr(owner, name) and not isinstance(getattr(owner, name), kind)
    if not name or "." in name or taken:
        raise KeyError(
            f"{type(owner).__name__}: '{name}' is empty, has a dot or is an attribute already"
        )
