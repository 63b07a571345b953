"""Classifying pictures, as a task for the training loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import engine
import hub
from engine import Tensor, nn
from zoo.data import ImageSet, Loader
from zoo.data.loader import epoch_batches
from zoo.data.mixing import Mixing, draw_mixing, mix_features, mix_images
from zoo.train.config import TrainConfig
from zoo.train.features import ViewFeatures
from zoo.train.inference import evaluate, forward
from zoo.train.objective import AnyTally, objective_for
from zoo.train.parts import (
    augmentation,
    freeze_for_epoch,
    head_epochs,
    make_optimizer,
    make_schedule,
    set_training_mode,
)
from zoo.train.progress import Best
from zoo.train.saved import save_weights
from zoo.train.task import Evaluation, Sums, Task

if TYPE_CHECKING:
    from engine.optim import Optimizer
    from engine.optim.schedule import Schedule
    from zoo.models.image_model import ImageModel

_GIB = 2**30
_SWA_NORM_BATCHES = 16  # at least: a mean of weights has statistics of its own


class Samples(NamedTuple):
    """A batch to train on: pictures (N, H, W, 3) uint8, or what the last layer gets of them (N, D)
    float32; labels, (N,) or (N, classes) as in an ImageSet; and how they were mixed, if they
    were."""

    inputs: NDArray[Any]
    labels: NDArray[Any]
    mixing: Mixing | None


class PictureTask(Task):
    """Give pictures their class, or their labels where they may have several; which epoch is kept,
    and what the loss is, is the business of an `Objective`.

    In epochs that train the last layer alone, what this layer gets is computed once for `views`
    views of each picture, and taken from there in all epochs; see `ViewFeatures`.

    Args:
        model: with `preprocessing` and `classes` set.
        train, val: pictures, with the classes of the model.
        config: how to train.

    Attributes:
        plain: features of the view that validation sees; None where no epoch wants them.
        varied: features of random views; None where no epoch wants them.

    >>> Trainer(PictureTask(model, train, val, config), config, out, origin={}).fit()
    ... # doctest: +SKIP
    """

    unit = "images"

    def __init__(
        self, model: ImageModel, train: ImageSet, val: ImageSet, config: TrainConfig
    ) -> None:
        self.model: ImageModel = model
        self.train = train
        self.val = val
        self.config = config
        self.plain: ViewFeatures | None = None
        self.varied: ViewFeatures | None = None
        self._epoch = 0
        self.objective = objective_for(train, config)
        self.columns = self.objective.columns
        balanced = config.sampling == "balanced"
        self._odds = 1.0 / train.counts()[train.labels] if balanced else None
        self._augmentation = augmentation(config, model.preprocessing)
        self._threads = config.threads or None
        self._train_loader = Loader(
            train,
            self._augmentation,
            config.batch_size,
            training=True,
            seed=config.seed,
            threads=self._threads,
            odds=self._odds,
        )
        self._val_loader = Loader(
            val, model.preprocessing, config.batch_size, threads=self._threads
        )
        self.batch_weights = [len(batch) for batch in self._plan(epoch=0)]

    def make_optimizer(self) -> Optimizer:
        return make_optimizer(self.model, self.config)

    def make_schedule(self, steps_per_epoch: int) -> Schedule:
        return make_schedule(self.config, steps_per_epoch)

    def start_epoch(self, epoch: int) -> None:
        self._epoch = epoch
        if epoch < head_epochs(self.config):
            self._ensure_features()
        freeze_for_epoch(self.model, self.config, epoch)
        set_training_mode(self.model, self.config)

    def batches(self, epoch: int, start: int) -> Generator[Samples, None, None]:
        if epoch < head_epochs(self.config):
            yield from self._feature_batches(epoch, start)
            return
        batches = self._train_loader.epoch(epoch, start_batch=start)
        try:
            for number, batch in enumerate(batches, start):
                mixing = self._mixing(len(batch.labels), epoch, number)
                images = batch.images if mixing is None else mix_images(batch.images, mixing)
                yield Samples(images, batch.labels, mixing)
        finally:
            batches.close()

    def backward(self, group: Sequence[Samples], weight: int) -> Sums:
        """What is descended has smoothed, mixed and weighted targets; what is reported has not, so
        that training and validation can be compared."""
        tally = self.objective.tally()
        share = engine.asarray(np.float32(1 / weight))
        for batch in group:
            logits = self._logits(batch.inputs)
            loss = self._loss(logits, batch)
            tally.add(logits.detach().numpy(), _main_labels(batch))
            if not math.isfinite(loss.item()):
                return Sums(finite=False)
            loss.backward(share)
        return Sums(tally.loss_sum, counts=self.objective.counted(tally))

    def train_metrics(self, sums: Sums, weight: int) -> dict[str, float]:
        return self.objective.train_metrics(sums, weight)

    def evaluate(self, on_batch: Callable[[int], None]) -> Evaluation:
        if self._epoch < head_epochs(self.config):
            tally = self._evaluate_head(on_batch)
        else:
            tally = evaluate(self.model, self._val_loader, on_batch, self.objective.tally())
        return self.objective.evaluation(tally)

    def refresh(self, stop_if_asked: Callable[[], None]) -> None:
        """Measure the statistics of the batch norms that are trained, on pictures of this epoch (Wu
        and Johnson, "Rethinking batch in BatchNorm", arXiv:2105.07576, section 3)."""
        norms = [m for m in self.model.modules() if isinstance(m, nn.BatchNorm2d) and m.training]
        self.model.eval()
        least = _SWA_NORM_BATCHES if self.config.average == "swa" else 0
        wanted = max(self.config.norm_batches, least)
        if not norms or wanted == 0:
            return
        momenta = [norm.momentum for norm in norms]
        for norm in norms:
            norm.train()
            norm.momentum = None  # the plain mean over all batches
            if norm.num_batches_tracked is not None:
                norm.num_batches_tracked.copy_(engine.asarray(0))
        batches = self._train_loader.epoch(self._epoch)
        try:
            with engine.no_grad():
                for batch, _ in zip(batches, range(wanted), strict=False):
                    stop_if_asked()
                    forward(self.model, batch.images, self.model.preprocessing)
        finally:
            batches.close()
            for norm, momentum in zip(norms, momenta, strict=True):
                norm.momentum = momentum

    def counted_in(self, epoch: int) -> str:
        return "features" if epoch < head_epochs(self.config) else self.unit

    def notes(self) -> list[str]:
        if self.plain is None:
            return []
        sources = [s for s in (self.plain, self.varied) if s is not None]
        computed, reused = sum(s.computed for s in sources), sum(s.reused for s in sources)
        views = min(self.config.views, head_epochs(self.config))
        line = (
            f"The last layer learned from {views} view{'s' if views > 1 else ''} of each picture: "
            f"{computed} features were computed, {reused} were there already"
        )
        damaged = sum(s.damaged for s in sources)
        return [line, *([f"{damaged} stored features were damaged and made anew"] * (damaged > 0))]

    def save_weights(self, path: Path, origin: Mapping[str, Any], best: Best) -> None:
        if self.train.several:
            labels = best.details["labels"]
            self.model.thresholds = tuple(label["threshold"] for label in labels)
        save_weights(
            path,
            self.model,
            recipe=self.config.recipe(),
            origin=origin,
            result={"epoch": best.epoch, "step": best.step, **best.metrics},
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._train_loader.close()
        self._val_loader.close()

    def _plan(self, epoch: int) -> list[NDArray[np.int64]]:
        return epoch_batches(
            len(self.train),
            self.config.batch_size,
            training=True,
            seed=self.config.seed,
            epoch=epoch,
            odds=self._odds,
        )

    def _mixing(self, count: int, epoch: int, batch: int) -> Mixing | None:
        config = self.config
        if config.mixup == 0 and config.cutmix == 0:
            return None
        return draw_mixing(
            count,
            self.model.preprocessing.size,
            config.mixup,
            config.cutmix,
            seed=config.seed,
            epoch=epoch,
            batch=batch,
        )

    def _feature_batches(self, epoch: int, start: int) -> Generator[Samples, None, None]:
        view = epoch % self.config.views
        source = self.plain if view == 0 else self.varied
        assert source is not None
        for number, indices in enumerate(self._plan(epoch)[start:], start):
            features = source.rows(self.train, indices, view)
            mixing = self._mixing(len(indices), epoch, number)
            if mixing is not None:
                features = mix_features(features, mixing)
            yield Samples(features, self.train.labels[indices], mixing)

    def _ensure_features(self) -> None:
        """Have all features that epochs of the last layer want."""
        if self.plain is not None:
            return
        config, preprocessing = self.config, self.model.preprocessing
        keep: dict[str, Any] = {
            "folder": hub.cache_home() / "features" if config.feature_cache else None,
            "limit": round(config.feature_cache * _GIB),
            "threads": self._threads,
        }
        plain = ViewFeatures(self.model, preprocessing, **keep)
        # Random views are worth their time only as far as there are epochs to show them.
        views = range(1, min(config.views, head_epochs(config)))
        if views:
            self.varied = ViewFeatures(self.model, self._augmentation, seed=config.seed, **keep)
        wanted = [(plain, self.train, range(1)), (plain, self.val, range(1))]
        wanted += [(self.varied, self.train, views)] if self.varied is not None else []
        from tqdm import tqdm

        with tqdm(
            total=sum(len(images) * len(views) for _, images, views in wanted),
            desc="features",
            unit=" views",
            leave=False,
            disable=None if self.show_progress else True,
        ) as bar:

            def on_batch(count: int) -> None:
                bar.update(count)
                self.stop_if_asked()

            for source, images, numbers in wanted:
                source.ensure(images, numbers, on_batch)
        self.plain = plain

    def _logits(self, inputs: NDArray[Any]) -> Tensor:
        if inputs.ndim == 2:
            return self.model.get_classifier()(engine.from_numpy(inputs))
        return forward(self.model, inputs, self.model.preprocessing)

    def _loss(self, logits: Tensor, batch: Samples) -> Tensor:
        """The sum over a batch of what is descended."""

        loss = self.objective.loss
        if batch.mixing is None:
            return loss(logits, batch.labels, "sum")
        own = engine.from_numpy(batch.mixing.share)
        other = engine.from_numpy(1 - batch.mixing.share)
        partners = batch.labels[batch.mixing.partner]
        mixed = own * loss(logits, batch.labels, "none") + other * loss(logits, partners, "none")
        return mixed.sum()

    def _evaluate_head(self, on_batch: Callable[[int], None]) -> AnyTally:
        """What `evaluate` finds, of features that are there already."""
        assert self.plain is not None
        self.model.eval()
        tally = self.objective.tally()
        with engine.no_grad():
            for indices in epoch_batches(len(self.val), self.config.batch_size, training=False):
                logits = self._logits(self.plain.rows(self.val, indices, view=0))
                tally.add(logits.numpy(), self.val.labels[indices])
                on_batch(len(indices))
        return tally


def _main_labels(batch: Samples) -> NDArray[Any]:
    """The labels that have the greater share of each picture."""
    if batch.mixing is None:
        return batch.labels
    own = batch.mixing.share >= 0.5
    partners = batch.labels[batch.mixing.partner]
    return np.where(own if batch.labels.ndim == 1 else own[:, None], batch.labels, partners)
