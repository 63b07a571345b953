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
from hub.progress import progress_bar
from zoo.data import ImageSet, Loader
from zoo.data.loader import epoch_batches
from zoo.data.mixing import Mixing, draw_mixing, mix_features, mix_images
from zoo.placement import beside, host_array
from zoo.train.config import TrainConfig
from zoo.train.distributed import ALONE, Ranks
from zoo.train.errors import ConfigError
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
from zoo.train.precision import mixed
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
    """A rank's part of a batch to train on: pictures (N, H, W, 3) uint8, or what the last layer
    gets of them (N, D) float32; labels, (N,) or (N, classes) as in an ImageSet; and, if they were
    mixed, the other picture's labels and the share (N,) float32 of the own."""

    inputs: NDArray[Any]
    labels: NDArray[Any]
    others: NDArray[Any] | None = None
    share: NDArray[np.float32] | None = None

    @classmethod
    def of(
        cls, inputs: NDArray[Any], labels: NDArray[Any], mixing: Mixing | None, part: slice
    ) -> Samples:
        """A part of a whole batch, whose pictures may have partners in any other part."""
        if mixing is None:
            return cls(inputs[part], labels[part])
        others = labels[mixing.partner]
        return cls(inputs[part], labels[part], others[part], mixing.share[part])


class PictureTask(Task):
    """Give pictures their class, or their labels where they may have several; which epoch is kept,
    and what the loss is, is the business of an `Objective`.

    In epochs that train the last layer alone, what this layer gets is computed once for `views`
    views of each picture, and taken from there in all epochs; see `ViewFeatures`.

    Args:
        model: with `preprocessing` and `classes` set.
        train, val: pictures, with the classes of the model.
        config: how to train.
        ranks: among which to share batches out.

    Attributes:
        plain: features of the view that validation sees; None where no epoch wants them.
        varied: features of random views; None where no epoch wants them.

    >>> Trainer(PictureTask(model, train, val, config), config, out, origin={}).fit()
    ... # doctest: +SKIP
    """

    unit = "images"

    def __init__(
        self,
        model: ImageModel,
        train: ImageSet,
        val: ImageSet,
        config: TrainConfig,
        ranks: Ranks = ALONE,
    ) -> None:
        self.model: ImageModel = model
        self.train = train
        self.val = val
        self.config = config
        self.ranks = ranks
        self.synced_norms = config.sync_norm == "on"
        self.plain: ViewFeatures | None = None
        self.varied: ViewFeatures | None = None
        self._epoch = 0
        self.objective = objective_for(train, config)
        self.columns = self.objective.columns
        self.counted = self.objective.counted
        balanced = config.sampling == "balanced"
        self._odds = 1.0 / train.counts()[train.labels] if balanced else None
        self._augmentation = augmentation(config, model.preprocessing)
        self._threads = config.threads or ranks.threads
        # Where pictures are mixed with others of their batch, each rank reads all of it.
        mixes = config.mixup > 0 or config.cutmix > 0
        self._mixed_part = ranks.part if mixes else lambda count: slice(count)
        self._train_loader = Loader(
            train,
            self._augmentation,
            config.batch_size,
            training=True,
            seed=config.seed,
            threads=self._threads,
            odds=self._odds,
            share=(0, 1) if mixes else (ranks.rank, ranks.size),
        )
        self._val_loader = Loader(
            val,
            model.preprocessing,
            config.batch_size,
            threads=self._threads,
            share=(ranks.rank, ranks.size),
        )
        self.batch_weights = [len(batch) for batch in self._plan(epoch=0)]
        self._check_parts()

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
                if not len(batch.labels):
                    side = self.model.preprocessing.size
                    images = np.zeros((0, side, side, 3), np.uint8)
                part = self._mixed_part(len(batch.labels))
                yield Samples.of(images, batch.labels, mixing, part)
        finally:
            batches.close()

    def backward(self, group: Sequence[Samples], weight: int) -> Sums:
        """What is descended has smoothed, mixed and weighted targets; what is reported has not, so
        that training and validation can be compared."""
        tally = self.objective.tally()
        (share,) = beside(self.model, np.float32(self.loss_scale / weight))
        for number, batch in enumerate(group, 1):
            if not len(batch.labels) and not self.synced_norms:
                continue  # nobody waits for this rank within the model
            with mixed(self.config, self.model):
                logits = self._logits(batch.inputs)
            logits = logits.astype(engine.float32)
            loss = self._loss(logits, batch)
            if len(batch.labels):
                tally.add(host_array(logits), _main_labels(batch))
            finite = math.isfinite(loss.item())
            if self.synced_norms:  # which ranks go through together, backward as well
                finite = not self.ranks.any(not finite)
            if not finite:
                return Sums(finite=False)
            if number == len(group):
                self.ranks.arm()
            loss.backward(share)
        return Sums(tally.loss_sum, counts=self.objective.counts(tally))

    def train_metrics(self, sums: Sums, weight: int) -> dict[str, float]:
        return self.objective.train_metrics(sums, weight)

    def evaluate(self, on_batch: Callable[[int], None]) -> Evaluation:
        if self._epoch < head_epochs(self.config):
            tally = self._evaluate_head(on_batch)
        else:
            tally = evaluate(
                self.model, self._val_loader, on_batch, self.ranks, self.objective.tally()
            )
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
        self.ranks.average_statistics()

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

    def _check_parts(self) -> None:
        """Refuse parts of batches that batch norms cannot work with."""
        ranks, least = self.ranks, min(self.batch_weights)
        trains_norms = self.config.batch_norm != "frozen" and any(
            isinstance(module, nn.BatchNorm2d) for module in self.model.modules()
        )
        if ranks.size > 1 and not self.synced_norms and trains_norms and least < 2 * ranks.size:
            raise ConfigError(
                f"sync_norm=off: the smallest batch of an epoch has {least} picture"
                f"{'s' if least > 1 else ''} for {ranks.size} ranks, and each rank's batch norms "
                f"need two or more; expected sync_norm=on, or batches of {2 * ranks.size} or more"
            )

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
            part = self.ranks.part(len(indices))
            yield Samples.of(features, self.train.labels[indices], mixing, part)

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
        with progress_bar(
            show=self.show_progress,
            total=sum(len(images) * len(views) for _, images, views in wanted),
            desc="features",
            unit=" views",
            leave=False,
        ) as bar:

            def on_batch(count: int) -> None:
                bar.update(count)
                self.stop_if_asked()

            for source, images, numbers in wanted:
                source.ensure(images, numbers, on_batch, self.ranks)
        self.plain = plain

    def _logits(self, inputs: NDArray[Any]) -> Tensor:
        if inputs.ndim == 2:
            return self.model.get_classifier()(*beside(self.model, inputs))
        return forward(self.model, inputs, self.model.preprocessing)

    def _loss(self, logits: Tensor, batch: Samples) -> Tensor:
        """The sum over a batch of what is descended."""

        loss = self.objective.loss
        if batch.others is None or batch.share is None:
            return loss(logits, batch.labels, "sum")
        own, other = beside(self.model, batch.share, 1 - batch.share)
        mixed = own * loss(logits, batch.labels, "none") + other * loss(
            logits, batch.others, "none"
        )
        return mixed.sum()

    def _evaluate_head(self, on_batch: Callable[[int], None]) -> AnyTally:
        """What `evaluate` finds, of features that are there already."""
        assert self.plain is not None
        self.model.eval()
        tally = self.objective.tally()
        with engine.no_grad():
            plan = epoch_batches(len(self.val), self.config.batch_size, training=False)
            own = plan[self.ranks.rank :: self.ranks.size]
            for number in range(self.ranks.rounds(len(plan))):
                indices = own[number] if number < len(own) else None
                if indices is not None:
                    logits = self._logits(self.plain.rows(self.val, indices, view=0))
                    tally.add(host_array(logits), self.val.labels[indices])
                on_batch(0 if indices is None else len(indices))
        tally.join(self.ranks)
        return tally


def _main_labels(batch: Samples) -> NDArray[Any]:
    """The labels that have the greater share of each picture."""
    if batch.others is None or batch.share is None:
        return batch.labels
    own = batch.share >= 0.5
    return np.where(own if batch.labels.ndim == 1 else own[:, None], batch.labels, batch.others)
