"""What `finetune` hands back: the run's figures, and the model it made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zoo
from zoo.errors import WrongTask
from zoo.stored import RUN_WEIGHTS
from zoo.train.label_report import LabelSummary
from zoo.train.log import Row, read_rows
from zoo.train.report import REPORT, Summary

if TYPE_CHECKING:
    from zoo.export import Exported
    from zoo.models.image_model import ImageModel
    from zoo.train.answered import Answered
    from zoo.train.measure import LabelsMeasured, Measured


@dataclass(frozen=True)
class Result:
    """A finished run.

    Attributes:
        path: its folder.
        summary: its figures, as summary.json holds them; a LabelSummary where pictures have several
            labels.

    >>> result = zoo.finetune("resnet20", data="demo", out="run1")      # doctest: +SKIP
    >>> result.accuracy, result.best_epoch                              # doctest: +SKIP
    (0.98, 1)
    >>> result.predict("seven.png").label                               # doctest: +SKIP
    '7'
    >>> result.validation.mistakes()                                    # doctest: +SKIP
    <The surest mistakes: 6 pictures>
    """

    path: Path
    summary: Summary | LabelSummary

    @property
    def accuracy(self) -> float:
        """Fraction of the validation pictures that the kept weights classify rightly.

        Raises:
            WrongTask: pictures have several labels.
        """
        if isinstance(self.summary, LabelSummary):
            raise WrongTask(
                f"{self.path}: its pictures have several labels, so none is simply right or wrong; "
                "see mean_average_precision"
            )
        return self.summary.val_accuracy

    @property
    def val_accuracy(self) -> float:
        """The same as `accuracy`, as summary.json calls it."""
        return self.accuracy

    @property
    def mean_average_precision(self) -> float:
        """Of the kept weights over all validation pictures, where these have several labels.

        Raises:
            WrongTask: each has one class.
        """
        if isinstance(self.summary, Summary):
            raise WrongTask(f"{self.path}: each of its pictures has one class; see accuracy")
        return self.summary.val_map

    @property
    def val_loss(self) -> float:
        """Validation loss of the kept weights, nats a picture."""
        return self.summary.val_loss

    @property
    def best_epoch(self) -> int:
        """The epoch whose weights were kept, from 1."""
        return self.summary.best_epoch

    @property
    def classes(self) -> tuple[str, ...]:
        """Names, in index order."""
        return self.summary.classes

    @property
    def weights(self) -> Path:
        """The file with the kept weights."""
        return self.path / RUN_WEIGHTS

    @property
    def report(self) -> Path | None:
        """The page about the run, or None where it was not wanted."""
        page = self.path / REPORT
        return page if page.is_file() else None

    @cached_property
    def model(self) -> ImageModel:
        """The model with the kept weights, in inference mode; loaded when first asked for."""
        from zoo.models.image_model import expect_images

        return expect_images(zoo.load(self.path))

    @property
    def history(self) -> list[Row]:
        """One row for each epoch, as metrics.jsonl has them: "epoch", "train_loss", "val_loss",
        "val_accuracy", "lr", "best" and more."""
        return [row for row in read_rows(self.path / "metrics.jsonl") if row["kind"] == "epoch"]

    @cached_property
    def validation(self) -> Answered:
        """What the kept weights say of the pictures that validated the run, and those pictures;
        computed when first asked for. The pictures must still be where they were.

        Raises:
            WrongTask: pictures have several labels.
        """
        from zoo.train.answered import answer_validation

        if isinstance(self.summary, LabelSummary):
            raise WrongTask(f"{self.path}: its pictures have several labels; see its report")
        return answer_validation(self.path, self.model)

    def export(self, format: str, out: str | Path | None = None) -> Exported:
        """Write the kept weights for other programs; see `zoo.export.export`."""
        from zoo.export import export

        return export(self.path, format, out)

    def predict(self, images: Any, **options: Any) -> Any:
        """What the kept weights say of pictures; see `ImageModel.predict`."""
        return self.model.predict(images, **options)

    def evaluate(self, data: str | Path, **options: Any) -> Measured | LabelsMeasured:
        """Measure the kept weights on other labelled pictures; see `zoo.train.measure.measure`."""
        from zoo.train.measure import measure

        return measure(str(self.path), str(data), **options)

    def __repr__(self) -> str:
        return (
            f"<zoo run {str(self.path)!r}: {self.summary.headline}, epoch "
            f"{self.best_epoch} of {self.summary.epochs}, {len(self.classes)} classes>"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the figures, the curves and where the page is."""
        from zoo.report.html import Child, h, show
        from zoo.report.pictures import embedded_png

        rows: Sequence[tuple[str, str]] = (
            ("result", self.summary.headline),
            ("kept", f"epoch {self.best_epoch} of {self.summary.epochs}"),
            ("classes", str(len(self.classes))),
            ("weights", str(self.weights)),
            ("report", str(self.report or "–")),
        )
        curves = self.path / "curves.png"
        picture: Child = None
        if curves.is_file():
            picture = h("img", src=embedded_png(curves.read_bytes()), style="max-width:100%")
        cells = [h("tr", h("th", k, style="text-align:left"), h("td", v)) for k, v in rows]
        return show(h("div", h("table", cells), picture))
