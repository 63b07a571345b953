"""Use finished runs: open one by name, and measure it on a folder of labelled pictures."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import engine
import zoo
from hub.progress import progress_bar
from zoo import demo
from zoo.data import Audit, ImageSet, Loader, prepare_evaluation
from zoo.data.errors import listed
from zoo.models.image_model import expect_images
from zoo.stored import RUN_WEIGHTS
from zoo.train.errors import DataChanged, NotARun
from zoo.train.inference import evaluate
from zoo.train.label_metrics import LabelScore, macro_f1, mean_average_precision, micro_f1
from zoo.train.label_report import label_table
from zoo.train.report import class_table
from zoo.train.tta import views_for

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel


@dataclass(frozen=True)
class Measured:
    """What a model scored.

    Attributes:
        run, data: what was measured, on what.
        accuracy, loss: over all pictures.
        pictures: how many they were.
        unreadable: files left out.
        classes: names, in index order.
        class_accuracy: (right, all) pictures of each class.
        unknown_classes: pictures left out because the model does not know their class, by class.
    """

    run: str
    data: str
    accuracy: float
    loss: float
    pictures: int
    unreadable: int
    classes: tuple[str, ...]
    class_accuracy: tuple[tuple[int, int], ...]
    unknown_classes: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The report for people, one string a line."""
        right = sum(right for right, _ in self.class_accuracy)
        lines = [
            f"Accuracy {self.accuracy:.2%} ({right} of {self.pictures}), loss {self.loss:.4f}",
            *class_table(self.classes, self.class_accuracy),
        ]
        absent = [
            name
            for name, (_, count) in zip(self.classes, self.class_accuracy, strict=True)
            if count == 0
        ]
        if absent:
            lines.append(f"No pictures of {listed(absent)}: nothing is said of these classes.")
        if self.unknown_classes:
            more = sum(self.unknown_classes.values())
            named = listed([f"{name} ({n})" for name, n in self.unknown_classes.items()])
            lines.append(
                f"Left out, of classes that the model does not know: {named}. With these counted "
                f"as wrong, accuracy is {right / (self.pictures + more):.2%}."
            )
        return lines


@dataclass(frozen=True)
class LabelsMeasured:
    """What a model that gives pictures several labels scored.

    Attributes:
        run, data: what was measured, on what.
        mean_average_precision: over the labels that some picture has.
        micro_f1, macro_f1: at the model's thresholds, over all decisions, and the mean over labels.
        loss: mean over pictures and labels, nats.
        pictures: how many they were.
        unreadable: files left out.
        classes: names of the labels, in index order.
        labels: how each fared.
        unknown_classes: pictures that have a label which the model does not know, by label.
    """

    run: str
    data: str
    mean_average_precision: float
    micro_f1: float
    macro_f1: float
    loss: float
    pictures: int
    unreadable: int
    classes: tuple[str, ...]
    labels: tuple[LabelScore, ...]
    unknown_classes: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The report for people, one string a line."""
        lines = [
            f"Mean average precision {self.mean_average_precision:.2%} over {self.pictures} "
            f"pictures, loss {self.loss:.4f}",
            f"Micro F1 {self.micro_f1:.2%}, macro F1 {self.macro_f1:.2%}",
            *label_table(self.classes, self.labels),
        ]
        if self.unknown_classes:
            named = listed([f"{name} ({n})" for name, n in self.unknown_classes.items()])
            lines.append(f"Labels that the model does not know, not counted: {named}")
        return lines


def open_model(run: str, *, threads: int | None = None, device: str = "cpu") -> ImageModel:
    """The model of a run (its folder or weights file), or a model by name with its published
    weights.

    Raises:
        NotARun: neither a path nor a model's name.
        zoo.LoadError, hub.HubError: it cannot be read.

    >>> open_model("runs/resnet18-1").classes      # doctest: +SKIP
    ('cat', 'dog')
    """
    if threads is not None:
        engine.set_num_threads(threads)
    try:
        return expect_images(zoo.load(run, device=device))
    except zoo.UnknownModelError as error:
        raise NotARun(
            f"{run}: no such run. Expected the folder that `zoo finetune` wrote to, the "
            f"{RUN_WEIGHTS} in it, or a name from `zoo list`."
        ) from error


def measure(
    run: str,
    data: str,
    *,
    batch_size: int = 16,
    threads: int | None = None,
    device: str = "cpu",
    strict: bool = False,
    tta: str = "none",
    show_progress: bool = False,
) -> Measured | LabelsMeasured:
    """Loss and accuracy of a run on the pictures under `data`: its validation part where it has
    one, else all of it. Labels are matched to the classes of the run by name: some may be missing,
    others may be there that the run does not know, and their order does not matter. `tta` says
    which views of a picture are averaged: "none", "flip" or "ten"; see `zoo.train.tta`. A model
    that gives pictures several labels is measured with its own thresholds. `device` is where to
    compute, see zoo.load.

    Raises:
        TrainError, zoo.data.DataError, hub.HubError: each says what to do.

    >>> measure("run1", "pictures").accuracy       # doctest: +SKIP
    0.97
    """
    model = open_model(run, threads=threads, device=device)
    images, audit, unknown = _labelled(data, model, strict, threads, show_progress)
    loader = Loader(images, views_for(model.preprocessing, tta), batch_size, threads=threads)
    bar = progress_bar(
        show=show_progress, total=len(images), desc="evaluating", unit=" images", leave=False
    )
    with loader, bar:
        tally = evaluate(model, loader, bar.update)
    if model.thresholds is not None:
        scores = tally.scores(np.asarray(model.thresholds))
        return LabelsMeasured(
            run=run,
            data=data,
            mean_average_precision=mean_average_precision(scores),
            micro_f1=micro_f1(scores),
            macro_f1=macro_f1(scores),
            loss=tally.loss,
            pictures=tally.count,
            unreadable=len(audit.unreadable),
            classes=tuple(model.classes),
            labels=tuple(scores),
            unknown_classes=unknown,
        )
    return Measured(
        run=run,
        data=data,
        accuracy=tally.accuracy,
        loss=tally.loss,
        pictures=tally.count,
        unreadable=len(audit.unreadable),
        classes=tuple(model.classes),
        class_accuracy=tuple(tally.per_class()),
        unknown_classes=unknown,
    )


def _labelled(
    data: str, model: ImageModel, strict: bool, threads: int | None, show_progress: bool
) -> tuple[ImageSet, Audit, dict[str, int]]:
    if data != demo.NAME:
        return prepare_evaluation(
            data,
            model.classes,
            several=model.thresholds is not None,
            strict=strict,
            threads=threads,
            progress=show_progress,
        )
    prepared = demo.prepare_digits()
    if tuple(model.classes) != prepared.val.classes or model.thresholds is not None:
        raise DataChanged(
            f"the demo's classes are the digits 0 to 9, the model's are {', '.join(model.classes)}."
            "\nName a folder of pictures of these classes: --data DIR"
        )
    return prepared.val, prepared.audit, {}
