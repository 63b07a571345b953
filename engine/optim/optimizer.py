"""What all optimizers share: parameter groups, state by parameter name, saving and loading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import engine
from engine import Tensor

# A tensor, or a (name, tensor) pair as named_parameters() gives.
Params = Iterable[Tensor | tuple[str, Tensor] | Mapping[str, Any]]


class OptimizerStateError(RuntimeError):
    """A saved optimizer state does not fit this optimizer; nothing was changed.

    >>> optimizer = engine.optim.SGD([engine.zeros(2)], lr=0.1)
    >>> try:
    ...     optimizer.load_state_dict({"state": {}, "param_groups": []})
    ... except OptimizerStateError:
    ...     "nothing was changed"
    'nothing was changed'
    """


class Optimizer:
    """Base class. A subclass names its hyperparameters in `defaults` and defines `_step_group`.

    Args:
        params: one of
            - tensors, as model.parameters() gives;
            - (name, tensor) pairs, as model.named_parameters() gives;
            - dicts {"params": either of these, **hyperparameters of this group}.
            With names, saved state finds its parameters by name, so it survives a change of order;
            without, by position.
        defaults: hyperparameters for groups that do not set their own.

    Attributes:
        param_groups: dicts with "params" (list of tensors), "names" and the hyperparameters, which
            may be changed between steps.
        state: name -> what the rule remembers about that parameter (tensors and step counts).

    Raises:
        TypeError: something that is no tensor.
        ValueError: no parameters, one given twice, an unknown hyperparameter, or a bad value.

    >>> optimizer = engine.optim.SGD([("w", engine.zeros(2))], lr=0.1)
    >>> optimizer.param_groups[0]["names"]
    ['w']
    """

    _state_tensors: ClassVar[tuple[str, ...]] = ()  # tensors in each parameter's state

    def __init__(self, params: Params, defaults: Mapping[str, Any]) -> None:
        self.defaults = dict(defaults)
        self.param_groups: list[dict[str, Any]] = []
        self.state: dict[str, dict[str, Any]] = {}
        entries = [params] if isinstance(params, Tensor | Mapping) else list(params)
        if not entries:
            raise ValueError(
                f"{self._name}: no parameters to optimise; pass model.named_parameters(), and "
                "check that it is not used up already and that not all of it is filtered away"
            )
        groups = entries if isinstance(entries[0], Mapping) else [{"params": entries}]
        for group in groups:
            if not isinstance(group, Mapping):
                raise TypeError(
                    f"{self._name}: expected all groups as dicts, got a {type(group).__name__}"
                )
            self.add_param_group(group)

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Adds a group, such as layers that are unfrozen later.

        Args:
            group: {"params": tensors or (name, tensor) pairs, **hyperparameters}.
        """
        unknown = sorted(set(group) - {"params", "names", *self.defaults})
        if "params" not in group or unknown:
            what = f"unknown {', '.join(unknown)}" if unknown else "no 'params'"
            raise ValueError(
                f"{self._name}: {what} in a parameter group; expected 'params' and any of "
                f"{', '.join(self.defaults)}"
            )
        given = group["params"]
        entries = [given] if isinstance(given, Tensor) else list(given)
        if "names" in group:
            entries = list(zip(group["names"], entries, strict=True))
        new = {**self.defaults, **group, "params": [], "names": []}
        taken = {id(p) for g in self.param_groups for p in g["params"]}
        taken_names = {name for g in self.param_groups for name in g["names"]}
        for entry in entries:
            position = str(len(taken_names))
            name, tensor = entry if isinstance(entry, tuple) else (position, entry)
            self._check_parameter(name, tensor)
            if id(tensor) in taken or name in taken_names:
                raise ValueError(f"{self._name}: parameter '{name}' is given twice")
            taken.add(id(tensor))
            taken_names.add(name)
            new["params"].append(tensor)
            new["names"].append(name)
        self._check_hyperparameters(new)
        self.param_groups.append(new)

    def zero_grad(self) -> None:
        """Drops all gradients; the next backward() starts afresh."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    def step(self) -> None:
        """Changes every parameter that has a gradient, in place; the others stay as they are.

        Raises:
            ValueError: a hyperparameter was set to a value that cannot be.
        """
        with engine.no_grad():
            for group in self.param_groups:
                self._check_hyperparameters(group)
                live = [
                    (name, parameter, parameter.grad)
                    for name, parameter in zip(group["names"], group["params"], strict=True)
                    if parameter.grad is not None
                ]
                if live:
                    self._step_group(group, live)

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs to go on bit for bit.

        Returns:
            {"state": {parameter name: {key: tensor or int}}, "param_groups": [{"names": [...],
            hyperparameter: number or bool or list}]}. The tensors share the optimizer's memory.
        """
        return {
            "state": {name: dict(entry) for name, entry in self.state.items()},
            "param_groups": [
                {key: _plain(value) for key, value in group.items() if key != "params"}
                for group in self.param_groups
            ],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from what state_dict() returned; hyperparameters too. Tensors are copied.

        Raises:
            OptimizerStateError: other groups, other parameter names in a group, an unknown key, or
                tensors of other shapes; the message names them. Nothing is changed then.
        """
        groups = self._matching_groups(state)
        shapes = {
            name: parameter
            for group in self.param_groups
            for name, parameter in zip(group["names"], group["params"], strict=True)
        }
        loaded = {
            name: self._loaded_entry(name, entry, shapes) for name, entry in state["state"].items()
        }
        for group, saved in zip(self.param_groups, groups, strict=True):
            group.update({key: saved[key] for key in self.defaults})
        self.state = loaded

    def _matching_groups(self, state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        if set(state) != {"state", "param_groups"}:
            raise OptimizerStateError(
                f"{self._name}: expected a state of the keys 'state' and 'param_groups', got "
                f"{', '.join(sorted(map(str, state)))}"
            )
        saved_groups = list(state["param_groups"])
        if len(saved_groups) != len(self.param_groups):
            raise OptimizerStateError(
                f"{self._name}: the saved state has {len(saved_groups)} parameter groups, this "
                f"optimizer {len(self.param_groups)}; make it with the same groups"
            )
        for index, (own, saved) in enumerate(zip(self.param_groups, saved_groups, strict=True)):
            keys = {"names", *self.defaults}
            if set(saved) != keys:
                raise OptimizerStateError(
                    f"{self._name}: group {index} of the saved state has the keys "
                    f"{', '.join(sorted(saved))}; expected {', '.join(sorted(keys))}"
                )
            lost = [name for name in saved["names"] if name not in own["names"]]
            new = [name for name in own["names"] if name not in saved["names"]]
            if lost or new:
                raise OptimizerStateError(
                    f"{self._name}: group {index} holds other parameters than the saved state: "
                    f"{_some(lost)} only there, {_some(new)} only here; freeze and group the "
                    "model as in the saved run"
                )
            self._check_hyperparameters({**saved, "params": own["params"]})
        return saved_groups

    def _loaded_entry(
        self, name: str, entry: Mapping[str, Any], parameters: Mapping[str, Tensor]
    ) -> dict[str, Any]:
        if name not in parameters:
            raise OptimizerStateError(
                f"{self._name}: the saved state has an entry for '{name}', which is no parameter "
                "of this optimizer"
            )
        expected = self._state_keys()
        if set(entry) != set(expected):
            raise OptimizerStateError(
                f"{self._name}: the saved state of '{name}' has the keys "
                f"{', '.join(sorted(entry))}; expected {', '.join(expected)}. Was it saved by "
                "another optimizer?"
            )
        loaded: dict[str, Any] = {}
        for key, value in entry.items():
            if key not in self._state_tensors:
                loaded[key] = int(value)
                continue
            tensor = value if isinstance(value, Tensor) else engine.asarray(value)
            own = parameters[name]
            if tensor.shape != own.shape or tensor.dtype != own.dtype:
                raise OptimizerStateError(
                    f"{self._name}: '{key}' of '{name}' is {tensor.dtype} {tensor.shape} in the "
                    f"saved state, the parameter {own.dtype} {own.shape}"
                )
            # In the parameter's memory order, so that a resumed step reads as an uninterrupted one.
            loaded[key] = engine.zeros_like(own.detach()).copy_(tensor)
        return loaded

    def _check_parameter(self, name: Any, tensor: Any) -> None:
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise TypeError(
                f"{self._name}: expected tensors or (name, tensor) pairs, got "
                f"{type(tensor).__name__} under the name {name!r}"
            )
        if tensor.grad_fn is not None:
            raise ValueError(
                f"{self._name}: '{name}' is the result of {tensor.grad_fn.name()}, so no gradient "
                "stays with it; optimise the tensors it was made from"
            )

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _state_keys(self) -> tuple[str, ...]:
        """Keys of each parameter's state."""
        return self._state_tensors

    def _check_hyperparameters(self, group: Mapping[str, Any]) -> None:
        """Raises ValueError for values that cannot be."""
        for key in ("lr", "weight_decay"):
            if not 0 <= group[key] < float("inf"):
                raise ValueError(f"{self._name}: {key}={group[key]}; expected a number, 0 or more")

    def _step_group(self, group: Mapping[str, Any], live: list[tuple[str, Tensor, Tensor]]) -> None:
        """One step of a group's (name, parameter, gradient) triples."""
        raise NotImplementedError(f"{self._name} has no rule for a step")

    def __repr__(self) -> str:
        lines = [
            f"  group {index}: {len(group['params'])} parameters, "
            + ", ".join(f"{key}={group[key]}" for key in self.defaults)
            for index, group in enumerate(self.param_groups)
        ]
        return "\n".join([f"{self._name}(", *lines, ")"])


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else value


def _some(names: list[str], shown: int = 5) -> str:
    if not names:
        return "none"
    rest = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + rest
