"""Networks of PyTorch as other programs run them: inference of one batch, in float32.

Each function gets a module and its input, and returns the work. They import what they need, and
take as many threads as the worker says.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable
from typing import Any

from tests.benchmarks.workload import Work

THREADS = "ZOO_BENCHMARK_THREADS"


def eager(model: Any, x: Any) -> Work:
    import torch

    def work() -> object:
        with torch.inference_mode():
            return model(x)

    return work


def channels_last(model: Any, x: Any) -> Work:
    import torch

    layout = {"memory_format": torch.channels_last}
    return eager(model.to(**layout), x.to(**layout))


def compiled(model: Any, x: Any) -> Work:
    import torch

    return eager(torch.compile(model), x)


def openvino(model: Any, x: Any) -> Work:
    import openvino

    settings = {
        "INFERENCE_NUM_THREADS": int(os.environ[THREADS]),
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    network = openvino.convert_model(model, example_input=x)
    ready = openvino.Core().compile_model(network, "CPU", settings)
    array = x.numpy()
    return lambda: ready(array)


def onnxruntime(model: Any, x: Any) -> Work:
    import onnxruntime as runtime
    import torch

    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, (x,), file, dynamo=False)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = int(os.environ[THREADS])
    session = runtime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    inputs = {session.get_inputs()[0].name: x.numpy()}
    return lambda: session.run(None, inputs)


# By the name of the peer; each needs PyTorch, and a module of its own where it names one.
RUNTIMES: dict[str, tuple[Callable[[Any, Any], Work], str]] = {
    "PyTorch": (channels_last, "torch"),
    "PyTorch NCHW": (eager, "torch"),
    "torch.compile": (compiled, "torch"),
    "OpenVINO": (openvino, "openvino"),
    "ONNX Runtime": (onnxruntime, "onnxruntime"),
}
