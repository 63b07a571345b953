"""A run's answers to its validation pictures, with the pictures: to look at mistakes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zoo.data import ImageSet, Loader
from zoo.report.gallery import Gallery, Shown
from zoo.report.gradcam import heat_maps
from zoo.report.measures import Answers
from zoo.train.scored import answer

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel


@dataclass(frozen=True, repr=False)
class Answered:
    """What a model said of labelled pictures.

    Attributes:
        answers: labels, predicted classes and probabilities, as arrays; it counts them too.
        images: the pictures, in the same order.
        model: that gave the answers.

    >>> seen = result.validation                                   # doctest: +SKIP
    >>> seen.answers.confusion().shape                             # doctest: +SKIP
    (6, 6)
    >>> seen.mistakes()[0].name                                    # doctest: +SKIP
    'bishop/017.png'
    """

    answers: Answers
    images: ImageSet
    model: ImageModel

    def mistakes(self, most: int = 12) -> Gallery:
        """The wrong answers, the surest first."""
        return self.shown(self.answers.most_confident_mistakes(most), "The surest mistakes")

    def least_sure(self, most: int = 12) -> Gallery:
        """The right answers, the least sure first."""
        return self.shown(self.answers.least_confident_hits(most), "The least sure hits")

    def shown(self, positions: list[int], title: str) -> Gallery:
        """The pictures at these positions, with what the model said and where it looked."""
        answers, classes = self.answers, self.answers.classes
        squares = [self.model.preprocessing.apply(self.images.load(i)) for i in positions]
        maps = heat_maps(self.model, squares, answers.predicted[positions]) if positions else []
        return Gallery(
            [
                Shown(
                    name=self.images.name(i),
                    label=classes[answers.labels[i]],
                    said=classes[answers.predicted[i]],
                    confidence=float(answers.confidence[i]),
                    square=square,
                    heat=heat,
                )
                for i, square, heat in zip(positions, squares, maps, strict=True)
            ],
            title,
        )

    def __repr__(self) -> str:
        answers = self.answers
        share = answers.accuracy
        return (
            f"<answers to {len(answers)} pictures: {int(answers.right.sum())} right, "
            f"{share.value:.2%}, 95% interval {share.low:.1%} to {share.high:.1%}>"
        )


def answer_validation(
    run: str | os.PathLike[str], model: ImageModel, *, batch_size: int = 16
) -> Answered:
    """The answers of a finished run's model to the pictures that validated it.

    Args:
        run: its folder.
        model: with the run's weights; left in inference mode.
        batch_size: pictures computed at once.

    Raises:
        NotARun: it is none, or it has not finished.
        DataChanged: the pictures are no longer those that the run began with.
        zoo.data.DataError: they are not there.

    >>> answer_validation("run1", zoo.load("run1"))      # doctest: +SKIP
    <answers to 359 pictures: 358 right, 99.72%, 95% interval 98.4% to 100.0%>
    """
    from zoo.train.run import validation_of

    images = validation_of(run)
    with Loader(images, model.preprocessing, batch_size) as loader:
        return Answered(answer(model, loader), images, model)
