"""Runs a parity case with one library, PyTorch or the engine."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from tests.engine.parity_cases import Case


def filled(state: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Values for the parameters and buffers of a layer, from their names."""
    values: dict[str, np.ndarray] = {}
    for key, shape in state.items():
        rng = np.random.default_rng(zlib.crc32(key.encode()))
        if key.endswith("num_batches_tracked"):
            values[key] = np.asarray(0)
        elif key.endswith("running_var"):
            values[key] = rng.uniform(0.5, 1.5, shape)
        else:
            values[key] = np.asarray(rng.uniform(-0.5, 0.5, shape))
    return values


class Library:
    """What a case is given: functions, layers, and ways between them and numpy."""

    F: Any
    nn: Any

    def __init__(self) -> None:
        self.layers: list[Any] = []

    def t(self, value: Any) -> Any:
        """A tensor without a gradient."""
        raise NotImplementedError

    def leaf(self, value: np.ndarray) -> Any:
        """A float64 tensor with one."""
        raise NotImplementedError

    def set_state(self, layer: Any, values: dict[str, np.ndarray]) -> Any:
        """Makes the layer float64 and gives it those values."""
        raise NotImplementedError

    def layer(self, layer: Any) -> Any:
        """The layer with values that do not depend on the library; its gradients will count."""
        shapes = {key: tuple(value.shape) for key, value in layer.state_dict().items()}
        layer = self.set_state(layer, filled(shapes))
        self.layers.append(layer)
        return layer

    def is_float(self, tensor: Any) -> bool:
        raise NotImplementedError

    def to_numpy(self, tensor: Any) -> np.ndarray:
        return np.asarray(tensor.detach().numpy())


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, tuple | list):
        return [leaf for part in tree for leaf in leaves(part)]
    return [tree]


def outcome(case: Case, library: Library) -> np.ndarray:
    """All results of a case, then the gradients of inputs and parameters; each after its shape."""
    library.layers = []
    inputs = [library.leaf(a) if differs else library.t(a) for a, differs in case.arrays()]
    results = leaves(case.run(library, *inputs))
    scales = case.weights([tuple(r.shape) for r in results])
    total = None
    for result, scale in zip(results, scales, strict=True):
        if library.is_float(result) and result.requires_grad:
            part = (result * library.t(scale)).sum()
            total = part if total is None else total + part
    if total is not None:
        total.backward()
    arrays = [library.to_numpy(r) for r in results]
    for tensor in [x for x in inputs if x.requires_grad] + [
        p for layer in library.layers for _, p in sorted(layer.named_parameters())
    ]:
        shape = tuple(tensor.shape)
        arrays.append(np.zeros(shape) if tensor.grad is None else library.to_numpy(tensor.grad))
    for layer in library.layers:
        for _, buffer in sorted(layer.named_buffers()):
            arrays.append(library.to_numpy(buffer))
    return np.concatenate(
        [np.asarray([*a.shape, *a.astype(np.float64).reshape(-1)], np.float64) for a in arrays]
    )
