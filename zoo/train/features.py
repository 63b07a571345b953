"""What the last layer of a frozen network gets to see, for views of pictures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import engine
import zoo
from engine import Tensor
from zoo.data import ImageSet, LoaderError, Preprocessing
from zoo.data.errors import DataError
from zoo.data.loader import view_of
from zoo.data.threads import default_threads, ordered_map
from zoo.data.transforms import Transform, philox
from zoo.placement import device_of, host_array
from zoo.train.distributed import ALONE, Ranks
from zoo.train.feature_cache import FeatureCache, backbone_key
from zoo.train.inference import forward

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel

# Of a picture alone the engine may compute other last bits than of a picture among others, so
# batches are always full: then a feature depends on its picture only, whoever is beside it.
_BATCH = 16
_VIEW_STREAM = 2  # of random numbers, apart from those of samples and of their order
_FLUSH_SECONDS = 20.0  # between two publications of what was computed


class ViewFeatures:
    """The inputs of a model's last layer for views of pictures, computed when first wanted.

    Args:
        model: its weights, but for the last layer, must not change afterwards.
        transform: of the pictures. What it draws for view v of a picture follows from `seed`, v and
            the picture's content.
        seed: of the views.
        folder: to keep features in, see `FeatureCache`; None: in memory only.
        limit: bytes that the folder may take.
        threads: that decode; None takes one per CPU, at most 8.

    Attributes:
        computed, reused: how many features were computed, and found, so far.

    >>> features = ViewFeatures(model, model.preprocessing)      # doctest: +SKIP
    >>> features.ensure(images, views=[0])                       # doctest: +SKIP
    >>> features.rows(images, [0, 1], view=0).shape              # doctest: +SKIP
    (2, 512)
    """

    def __init__(
        self,
        model: ImageModel,
        transform: Transform,
        *,
        seed: int = 0,
        folder: Path | None = None,
        limit: int = 0,
        threads: int | None = None,
    ) -> None:
        self.model = model
        self.transform = transform
        self.seed = seed
        self.threads = default_threads() if threads is None else threads
        self.computed = 0
        self.reused = 0
        self._cache = FeatureCache(folder, self._key(), limit)

    @property
    def damaged(self) -> int:
        """Stored features that were found damaged, and are computed anew."""
        return self._cache.damaged

    def ensure(
        self,
        images: ImageSet,
        views: Iterable[int],
        on_batch: Callable[[int], None] = lambda count: None,
        ranks: Ranks = ALONE,
    ) -> None:
        """Compute the views of all pictures that are not there yet.

        Args:
            on_batch: called after each batch with its number of views; may raise to stop. What was
                computed by then is kept.
            ranks: among which the work is shared out; each has all features in the end, and
                rank 0 writes them.

        Raises:
            UnreadableImage, LoaderError: a picture cannot be prepared, by name.
        """
        wanted = [(index, view) for view in views for index in range(len(images))]
        names = {(images.digest(i), v): (i, v) for i, v in wanted}  # a duplicate is computed once
        absent = ranks.sum(np.array([name not in self._cache for name in names], np.int64))
        missing = [
            place for place, on_ranks in zip(names.values(), absent, strict=True) if on_ranks
        ]
        self.reused += len(names) - len(missing)
        batches = [missing[start : start + _BATCH] for start in range(0, len(missing), _BATCH)]
        # In turn; in the last round a rank that nothing is left for does something again.
        last = ranks.rounds(len(batches)) * ranks.size
        own = [batches[n % len(batches)] for n in range(ranks.rank, last, ranks.size)]
        prepared = ordered_map(
            lambda place: self._view(images, *place),
            [place for places in own for place in places],
            self.threads,
            2 * _BATCH,
        )
        flushed = time.monotonic()
        try:
            for number, places in enumerate(own):
                pictures = np.stack([next(prepared) for _ in places])
                together = batches[number * ranks.size : (number + 1) * ranks.size]
                everyones = ranks.stack(self._compute(pictures), _BATCH)
                for theirs, rows in zip(together, everyones, strict=False):
                    names_of = [(images.digest(i), v) for i, v in theirs]
                    self._cache.add(names_of, rows[: len(theirs)])
                done = sum(map(len, together))
                self.computed += done
                if time.monotonic() - flushed > _FLUSH_SECONDS and ranks.rank == 0:
                    self._cache.flush()
                    flushed = time.monotonic()
                on_batch(done)
        finally:
            prepared.close()
            if ranks.rank == 0:
                self._cache.flush()

    def rows(self, images: ImageSet, indices: Iterable[int], view: int) -> NDArray[np.float32]:
        """(number of indices, D) features of one view, which `ensure` has made."""
        return self._cache.rows([(images.digest(int(i)), view) for i in indices])

    def _key(self) -> str:
        from PIL import __version__ as pillow

        facts: list[Any] = [self.model.preprocessing.to_dict(), zoo.__version__, pillow]
        # Another kind of processor rounds in another way.
        device = device_of(self.model).type
        facts += [engine.cpu_isa() if device == "cpu" else device, _BATCH]
        if not isinstance(self.transform, Preprocessing):
            facts += [self.transform, self.seed]
        return backbone_key(self.model, facts)

    def _view(self, images: ImageSet, index: int, view: int) -> NDArray[np.uint8]:
        try:
            content = int.from_bytes(images.digest(index)[:8], "little")
            return view_of(
                images,
                index,
                self.transform,
                lambda: philox(self.seed, _VIEW_STREAM, view, content),
            )
        except (DataError, MemoryError):
            raise
        except Exception as error:
            raise LoaderError(f"{images.name(index)}: {error}") from error

    def _compute(self, pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(N, D) features of N pictures, at most a batch; leaves the model in inference mode."""
        count = len(pictures)
        full = np.concatenate([pictures, np.repeat(pictures[:1], _BATCH - count, axis=0)])
        seen: list[Tensor] = []
        self.model.eval()
        head = self.model.get_classifier()
        with head.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0])):
            with engine.no_grad():
                forward(self.model, full, self.model.preprocessing)
        return host_array(seen[0])[:count].copy()
