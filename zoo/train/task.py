"""What the training loop asks of whatever is trained: a `Task`.

The loop (`zoo.train.trainer`) knows epochs, steps, checkpoints and learning rates. A task knows
what a batch holds, what the loss is and what makes one epoch better than another: pictures
(`zoo.train.picture_task`), or anything else that has batches and a model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

from zoo.train.distributed import ALONE, Ranks

if TYPE_CHECKING:
    from engine.nn import Module
    from engine.optim import Optimizer
    from engine.optim.schedule import Schedule
    from zoo.train.progress import Best


@dataclass(frozen=True)
class Column:
    """A column of the table that a run prints: the value `key` of an epoch's row, in `form`."""

    title: str
    key: str
    form: str  # a format specification whose width is that of the column, such as ">10.4f"


@dataclass
class Sums:
    """What was counted over some batches: sums, so that batches of any sizes can be added up.

    Attributes:
        loss: sum over samples or tokens, of what is reported rather than descended.
        finite: whether every loss was; if not, gradients are not to be used.
        counts: other sums by name, such as {"correct": 12}.
    """

    loss: float = 0.0
    finite: bool = True
    counts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """How good the weights are.

    Attributes:
        metrics: by name, as they are logged; plain numbers.
        order: decides which epoch's weights are kept: the smaller, compared like tuples; none with
            a number that is not finite. Accuracy goes in negated.
        details: plain JSON values that are kept with the best epoch.
    """

    metrics: dict[str, float]
    order: tuple[float, ...]
    details: Any = None


class Task(ABC):
    """Something to train. Everything it gives must follow from the seed, the epoch and the batch's
    number alone: a run that was stopped anywhere then goes on bit for bit.

    A task is a context: the loop enters it before the first batch and leaves it at the end.

    Attributes:
        model: what is trained.
        unit: what batches are weighed in, plural: "images" or "tokens".
        columns: of the table, between the epoch and the learning rate.
        counted: names of what `Sums.counts` of its training hold.
        ranks: among which its batches are shared out; one process by default.
        synced_norms: whether batch norms see the parts of all ranks.
        batch_weights: how many of `unit` each batch of an epoch holds, the same in every epoch.
        stop_if_asked: set by the loop; to be called now and then by a long `start_epoch`. It
            raises when the run shall stop.
        show_progress: whether bars may be drawn on the error stream; set by the loop.

    >>> Trainer(PictureTask(model, train, val, config), config, out, origin={}).fit()
    ... # doctest: +SKIP
    """

    unit: ClassVar[str]
    columns: Sequence[Column]
    counted: Sequence[str] = ()

    model: Module
    batch_weights: Sequence[int]
    ranks: Ranks = ALONE
    synced_norms: bool = True
    stop_if_asked: Callable[[], None] = staticmethod(lambda: None)
    show_progress: bool = False

    @abstractmethod
    def make_optimizer(self) -> Optimizer:
        """Over all parameters that the run may ever change, each with its name."""

    @abstractmethod
    def make_schedule(self, steps_per_epoch: int) -> Schedule:
        """The learning rate of each step of the whole run."""

    @abstractmethod
    def start_epoch(self, epoch: int) -> None:
        """Make the model ready to be trained in `epoch` (from 0): mode, what is frozen."""

    @abstractmethod
    def batches(self, epoch: int, start: int) -> Generator[Any, None, None]:
        """The batches of an epoch, from number `start` on; of each, this rank's part, which may be
        empty."""

    loss_scale: float = 1.0
    """What gradients are multiplied by, so that small ones of float16 do not become 0."""

    @abstractmethod
    def backward(self, group: Sequence[Any], weight: int) -> Sums:
        """Add up the gradients of the batches of one step: each batch's loss is a sum, divided by
        `weight`, that of all of them. The mean of unequal batches' means would be another number.
        Stops at a loss that is not finite. Calls `ranks.arm()` before the last backward, unless
        there may be none; `weight` is that of all ranks, the sums are this rank's."""

    @abstractmethod
    def train_metrics(self, sums: Sums, weight: int) -> dict[str, float]:
        """Metrics of an epoch's training, by name, from its sums."""

    @abstractmethod
    def evaluate(self, on_batch: Callable[[int], None]) -> Evaluation:
        """Measure the model on what validates, each of it on one rank. `on_batch` gets each batch's
        weight, as often on every rank, and may raise to stop."""

    @abstractmethod
    def save_weights(self, path: Path, origin: Mapping[str, Any], best: Best) -> None:
        """Write the model's weights with all that is needed to use them, whole or not at all.

        Raises:
            CannotSave: with the system's reason.
        """

    def refresh(self, stop_if_asked: Callable[[], None]) -> None:
        """Called before `evaluate`, to measure anew what lags behind the weights or does not
        average as they do, such as the statistics of batch norms.

        The loop takes back afterwards what it does to the model. Draws no random numbers of the
        engine; calls `stop_if_asked` now and then, which raises to stop.
        """
        return None

    def counted_in(self, epoch: int) -> str:
        """What an epoch's speed is counted in, plural; `unit`, unless the epoch only looks up what
        was computed before."""
        return self.unit

    def notes(self) -> list[str]:
        """What a person should know of how the run went, one string a line."""
        return []

    def tensors(self) -> Mapping[str, Any]:
        """What a checkpoint keeps of the model, by name."""
        return self.model.state_dict()

    def load_tensors(self, tensors: Mapping[str, Any]) -> None:
        """The inverse of `tensors`."""
        self.model.load_state_dict(tensors)

    def __enter__(self) -> Task:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop threads, close files."""
        return None
