"""What networks are made of on the emulated device: layers, losses, optimizers, whole models, and
NVIDIA's libraries by what stands for them."""

from __future__ import annotations

from tests.gpu.test_emulated import DEVICE, run_device_tests

# One row for each kind of kernel; the rest is in the slow tests.
PART = (
    "matmul", "linear", "conv2d", "batch_norm", "layer_norm", "max_pool2d", "avg_pool2d",
    "softmax", "cross_entropy", "embedding", "normalize_images",
)  # fmt: skip


def test_layers_pass_their_op_specs() -> None:
    names = " or ".join(f"{name}-" for name in PART)
    ran = run_device_tests(f"{DEVICE}/test_specs.py", "-k", f"({names}) and not layout")
    assert ran >= 2 * len(PART) - 1  # results and gradients; pictures of bytes have none


def test_layers_give_what_they_give_on_the_cpu() -> None:
    assert run_device_tests(f"{DEVICE}/test_layers.py") >= 27


def test_whole_models_learn_as_on_the_cpu() -> None:
    assert run_device_tests(f"{DEVICE}/test_models.py") >= 7


def test_nvidias_libraries_are_called_as_their_documentation_says() -> None:
    assert run_device_tests(f"{DEVICE}/test_libraries.py") >= 4
