"""Where a model computes: names of devices that people type, and numbers back from a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zoo.errors import DeviceMissing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import engine
    from engine.nn import Module

DEVICES = "cpu, cuda (the first GPU), cuda:1 and so on, or auto: a GPU if there is one"


def chosen_device(name: str) -> engine.Device:
    """The device of this machine that a name means.

    Args:
        name: one of DEVICES.

    Raises:
        DeviceMissing: there is no such device, or the name is none; the message says what to do.

    >>> chosen_device("cpu")
    Device('cpu')
    """
    import engine  # here, because commands show their help without it

    if name == "auto":
        name = "cuda" if engine.cuda.is_available() else "cpu"
    try:
        return engine.Device(name)
    except (NotImplementedError, ValueError) as error:
        raise DeviceMissing(f"device {name}: {error}\nExpected {DEVICES}.") from None


def device_of(model: Module) -> engine.Device:
    """Where a model's parameters are.

    >>> device_of(engine.nn.Linear(2, 1))
    Device('cpu')
    """
    return next(iter(model.parameters())).device


def beside(model: Module, *values: Any) -> list[engine.Tensor]:
    """Arrays, lists or tensors as tensors where a model's parameters are.

    >>> [ids] = beside(engine.nn.Linear(2, 1), [[1, 2]])
    >>> ids.shape
    (1, 2)
    """
    import engine

    return [engine.asarray(value, device=device_of(model)) for value in values]


def host_array(tensor: engine.Tensor) -> NDArray[Any]:
    """A tensor's numbers as an array: over the same memory on the CPU, else a copy.

    >>> host_array(engine.ones(2)).tolist()
    [1.0, 1.0]
    """
    return tensor.detach().to("cpu").numpy()


def wait_for(device: engine.Device) -> None:
    """Return when a device has done what it was given: before a clock is read.

    >>> wait_for(engine.Device("cpu"))
    """
    if device.type != "cpu":
        import engine

        engine.cuda.synchronize(device)
