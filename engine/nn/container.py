"""Modules made of modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from engine.nn.module import Module


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

    def __getitem__(self, index: int) -> Module:
        return list(self.children())[index]

    def __setitem__(self, index: int, module: Module) -> None:
        names = [name for name, _ in self.named_children()]
        setattr(self, names[index], module)


class Sequential(_Numbered):
    """Modules one after the other: y = m2(m1(m0(x))).

    >>> model = Sequential(Linear(3, 4), ReLU())
    >>> model(engine.ones((2, 3))).shape
    (2, 4)
    """

    def __init__(self, *modules: Module) -> None:
        super().__init__(modules)

    def forward(self, x: Any) -> Any:
        for module in self.children():
            x = module(x)
        return x


class ModuleList(_Numbered):
    """A list of modules that its owner runs as it likes; a plain list would not be saved.

    >>> blocks = ModuleList([Linear(3, 3) for _ in range(2)])
    >>> sorted(blocks.state_dict())
    ['0.bias', '0.weight', '1.bias', '1.weight']
    """
