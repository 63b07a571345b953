"""Each rank keeps a part of the optimizer's state: the first stage of ZeRO (Rajbhandari et al.,
arXiv:1910.02054, section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import engine
from engine.optim import Optimizer

if TYPE_CHECKING:
    from engine import Tensor
    from engine.distributed import Group


class ShardedOptimizer(Optimizer):
    """An optimizer whose parameters are shared out among the ranks: each steps its own, has state
    for those alone, and hands the new values to the others. What comes out is what the optimizer
    alone would make, to the bit.

    Args:
        optimizer: that has taken no step yet, the same on all ranks.
        group: the ranks.

    >>> ShardedOptimizer(AdamW(model.parameters()), group).step()      # doctest: +SKIP
    """

    def __init__(self, optimizer: Optimizer, group: Group) -> None:
        self.inner = optimizer
        self.group = group
        self.defaults = optimizer.defaults
        self.param_groups = optimizer.param_groups
        self.owner = _shared_out(optimizer, group.size)

    @property
    def state(self) -> dict[str, dict[str, Any]]:  # type: ignore[override]
        """Of this rank's parameters."""
        return self.inner.state

    def step(self) -> None:
        """See Optimizer.step; all ranks together."""
        changed = [(name, p) for name, p in self._named() if p.grad is not None]
        kept = {name: p.grad for name, p in changed if self.owner[name] != self.group.rank}
        for name, parameter in changed:
            if name in kept:
                parameter.grad = None
        self.inner.step()
        for name, parameter in changed:
            if name in kept:
                parameter.grad = kept[name]
            self.group.broadcast(parameter.detach(), self.owner[name], label=name)

    def state_dict(self) -> dict[str, Any]:
        """See Optimizer.state_dict: the whole state, on rank 0; all ranks together. The others get
        their own part."""
        found = self.inner.state_dict()
        tensors, steps = self.inner._state_tensors, self.inner._state_keys()
        whole: dict[str, dict[str, Any]] = {}
        for name, parameter in self._named():
            owned = self.owner[name] == self.group.rank
            own = found["state"].get(name) if owned else None
            facts = engine.zeros(1 + len(steps), dtype=engine.int64)
            if own is not None:
                plain = [0 if key in tensors else own[key] for key in steps]
                facts = engine.asarray([1, *plain], dtype=engine.int64)
            self.group.broadcast(facts, self.owner[name], label=f"the state of {name}")
            exists, *numbers = facts.tolist()
            if not exists:
                continue
            entry: dict[str, Any] = {}
            for key, number in zip(steps, numbers, strict=True):
                if key not in tensors:
                    entry[key] = number
                    continue
                value = own[key] if own is not None else engine.zeros_like(parameter.detach())
                entry[key] = self.group.broadcast(value, self.owner[name], label=f"{key} of {name}")
            if owned or self.group.rank == 0:
                whole[name] = entry
        return {**found, "state": whole}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See Optimizer.load_state_dict: of the whole state, of which each rank keeps its part."""
        own = {n: e for n, e in state["state"].items() if self.owner.get(n) == self.group.rank}
        self.inner.load_state_dict({**state, "state": own})

    def _named(self) -> list[tuple[str, Tensor]]:
        return [
            pair
            for group in self.param_groups
            for pair in zip(group["names"], group["params"], strict=True)
        ]


def _shared_out(optimizer: Optimizer, ranks: int) -> dict[str, int]:
    """The rank of each parameter: the largest first, each to the rank that has least so far."""
    sizes = {
        name: parameter.size
        for group in optimizer.param_groups
        for name, parameter in zip(group["names"], group["params"], strict=True)
    }
    load, owner = [0] * ranks, {}
    for name in sorted(sizes, key=lambda n: -sizes[n]):
        owner[name] = load.index(min(load))
        load[owner[name]] += sizes[name]
    return owner
