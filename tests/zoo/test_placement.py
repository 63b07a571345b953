"""Names of devices, on a machine that has the CPU alone; tests/gpu/device has the rest."""

from __future__ import annotations

import numpy as np
import pytest

import engine
import zoo
from zoo.placement import chosen_device, host_array


@pytest.mark.parametrize("name", ["tpu", "cuda:x", "", "CPU"])
def test_a_name_that_is_no_device_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(zoo.DeviceMissing, match="auto: a GPU if there is one"):
        chosen_device(name)


def test_a_device_that_is_not_there_is_named_before_weights_are_looked_for() -> None:
    if not engine.cuda.is_available():
        with pytest.raises(zoo.DeviceMissing, match="device cuda: .*\n"):
            zoo.load("resnet20", "nowhere.safetensors", device="cuda")
    with pytest.raises(zoo.DeviceMissing, match="cuda:99"):
        zoo.load("resnet20", "nowhere.safetensors", device="cuda:99")


def test_auto_takes_what_there_is() -> None:
    expected = "cuda" if engine.cuda.is_available() else "cpu"
    assert chosen_device("auto").type == expected
    assert zoo.load("resnet20", device="auto").device.type == expected


def test_arrays_of_tensors_on_the_cpu_share_their_memory() -> None:
    x = engine.ones(3)
    host_array(x)[0] = 5
    assert np.array(x).tolist() == [5, 1, 1]


def test_training_refuses_a_device_that_is_not_there(tmp_path) -> None:
    with pytest.raises(zoo.DeviceMissing):
        zoo.finetune(
            "resnet20", "demo", device="cuda:99", out=tmp_path / "run", say=lambda line: None
        )
    assert not (tmp_path / "run").exists()
