"""What every model of the zoo offers besides its layers, whatever it is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from engine import Device
from engine.nn import Module
from zoo.placement import device_of

if TYPE_CHECKING:
    from hub import Card


class ZooModel(Module):
    """Base class of the zoo's models. `zoo.load` sets the attributes, not the constructors.

    Attributes:
        arch: name of the architecture.
        card: the model card of its weights, or None for weights of a file and for random ones.
        source: where the weights are from: "name" (of the card, the file, or "random values") and
            "sha256" (of the file, or None).
        notices: what a person should know about how it was loaded, such as a new last layer.

    >>> model = zoo.load("resnet20")
    >>> isinstance(model, ZooModel), model.arch
    (True, 'resnet20')
    """

    # Names in hub.keymaps.KEY_MAPS of the layouts that files for such a model come in.
    key_maps: ClassVar[tuple[str, ...]]
    # What state-dict keys of the layer start with that depends on the task, if there is one.
    classifier_name: ClassVar[str | None] = None

    arch: str
    card: Card | None
    source: dict[str, Any]
    notices: tuple[str, ...]

    @property
    def device(self) -> Device:
        """Where its parameters are."""
        return device_of(self)

    def adapt(
        self, state: dict[str, Any], wanted: Mapping[str, Any], label: str
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Makes model and weights fit at the ends that may differ, before the weights go in.

        Args:
            state: arrays of a file by the model's names.
            wanted: what the person who loads asked for, such as num_classes.
            label: the name of the weights, for messages.

        Returns:
            The arrays to load, and notices for the person.
        """
        return state, ()

    def describe(self, card: Card | None, run: Mapping[str, Any]) -> None:
        """Sets what goes with the weights and is no weight, such as names of classes.

        Args:
            card: of the weights, if they have one.
            run: facts that `zoo finetune` wrote beside them, by name; empty if it did not.

        Raises:
            ValueError, TypeError, KeyError: the facts are damaged.
        """

    def facts(self) -> dict[str, Any]:
        """What `describe` and the builder need to make this model again, as JSON values: "arch",
        "config" (keyword arguments of the builder), "source", and what the kind adds."""
        return {"arch": self.arch, "config": {}, "source": self.source}
