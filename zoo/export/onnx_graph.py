"""ONNX graphs: nodes and arrays of one model, put together layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import nn

Size = int | str  # of an axis; a text names one that may be any


class Graph:
    """Nodes of a model and the arrays they use; weights have their state-dict keys as names.

    Every method that adds a layer takes and gives names of values.

    Args:
        state: the model's arrays by key.
    """

    def __init__(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._state = state
        self._nodes: list[tuple[str, Sequence[str], Sequence[str], dict[str, Any]]] = []
        self._arrays: dict[str, NDArray[Any]] = {}

    def node(self, kind: str, inputs: Sequence[str], name: str = "", **attributes: Any) -> str:
        """One operator with one output, which has the name given or one of its own."""
        output = name or f"{kind}_{len(self._nodes)}"
        self._nodes.append((kind, inputs, [output], attributes))
        return output

    def split(self, x: str, parts: int, axis: int) -> list[str]:
        """Equal parts of an axis."""
        outputs = [f"Split_{len(self._nodes)}_{i}" for i in range(parts)]
        self._nodes.append(("Split", [x], outputs, {"axis": axis}))
        return outputs

    def weights(self, layer: str, *names: str) -> list[str]:
        """The names of those of a layer's arrays that exist."""
        keys = [f"{layer}.{name}" for name in names if f"{layer}.{name}" in self._state]
        for key in keys:
            self._arrays[key] = self._state[key]
        return keys

    def constant(self, name: str, values: Any, dtype: Any = np.int64) -> str:
        """An array that is no weight."""
        self._arrays[name] = np.asarray(values, dtype)
        return name

    def number(self, value: float) -> str:
        """A single float32."""
        return self.constant(f"number {value!r}", value, np.float32)

    def conv(self, x: str, name: str, layer: nn.Conv2d) -> str:
        assert not isinstance(layer.padding, str)
        return self.node(
            "Conv",
            [x, *self.weights(name, "weight", "bias")],
            kernel_shape=layer.kernel_size,
            strides=layer.stride,
            pads=(*layer.padding, *layer.padding),
            dilations=layer.dilation,
            group=layer.groups,
        )

    def norm(self, x: str, name: str, layer: nn.BatchNorm2d) -> str:
        weights = self.weights(name, "weight", "bias", "running_mean", "running_var")
        return self.node("BatchNormalization", [x, *weights], epsilon=layer.eps)

    def relu(self, x: str) -> str:
        return self.node("Relu", [x])

    def linear(self, x: str, name: str) -> str:
        return self.node("Gemm", [x, *self.weights(name, "weight", "bias")], transB=1)

    def to_onnx(
        self,
        given: tuple[str, Any, Sequence[Size]],
        made: tuple[str, Any, Sequence[Size]],
        opset: int,
        ir_version: int,
    ) -> Any:
        """The whole as an onnx.ModelProto.

        Args:
            given, made: name, numpy dtype and shape of the input and of the output.
            opset, ir_version: versions of ONNX.
        """
        from onnx import helper, numpy_helper

        nodes = [
            helper.make_node(kind, inputs, outputs, name=outputs[0], **attributes)
            for kind, inputs, outputs, attributes in self._nodes
        ]
        ends = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), list(shape)
            )
            for name, dtype, shape in (given, made)
        ]
        arrays = [
            numpy_helper.from_array(np.ascontiguousarray(array), name)
            for name, array in self._arrays.items()
        ]
        graph = helper.make_graph(nodes, "zoo", ends[:1], ends[1:], arrays)
        imports = [helper.make_opsetid("", opset)]
        return helper.make_model(
            graph, producer_name="zoo", opset_imports=imports, ir_version=ir_version
        )
