"""From an upright RGB picture to the square uint8 array that a model is fed.

`Preprocessing` is what validation and prediction do; it is stored with the weights it was used for.
`TrainAugmentation` is the random version that training uses, built on the same preprocessing.
Both split their work in two, so that a loader can keep the costly half in memory:

- `prepare(image)` is deterministic and may be cached;
- `draw(prepared, rng)` gives the final array and is run anew for every epoch.

Scaling to floats, the mean and the standard deviation are applied by the engine, later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zoo.data.policies import POLICIES, apply_policy, erase, jitter_colours

if TYPE_CHECKING:
    from PIL import Image

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

_KINDS = ("resized_crop", "shift", "none")
_CROP_ATTEMPTS = 10
_SAMPLE_STREAM = 0


class Transform(Protocol):
    """What a loader needs of a transform; see the module's text for the two halves."""

    def min_side(self, width: int, height: int, rng: np.random.Generator) -> int | None:
        """How far a picture of that size may be reduced before `prepare`, for the view that `draw`
        would make with equal random numbers: the least shorter side (pixels), or None."""

    def prepare(self, image: Image.Image) -> Image.Image:
        """The deterministic half."""

    def draw(
        self,
        prepared: Image.Image,
        rng: np.random.Generator,
        full_size: tuple[int, int] | None = None,
    ) -> NDArray[np.uint8]:
        """The random half: (size, size, 3) uint8, or several views (views, size, size, 3).
        `full_size` is that of the picture before it was reduced; None: it was not."""


def sample_rng(seed: int, epoch: int, index: int) -> np.random.Generator:
    """The random numbers of one sample in one epoch.

    Counter-based (Philox, Salmon et al., 2011): the three numbers are the whole state, so a draw
    depends neither on the order of samples nor on threads, and resuming needs no stored state.

    Args:
        seed: of the run, 0 to 2**64 - 1.
        epoch: 0 or more.
        index: of the sample in its set, 0 or more.

    >>> a, b = sample_rng(0, 3, 17), sample_rng(0, 3, 17)
    >>> a.random() == b.random()
    True
    """
    return philox(seed, _SAMPLE_STREAM, epoch, index)


def philox(seed: int, stream: int, epoch: int, index: int = 0) -> np.random.Generator:
    """Random numbers that depend on these four numbers (each 0 to 2**64 - 1) and nothing else.

    The generator counts upwards in the two low words of its counter, so that the numbers of
    different (epoch, index) never overlap.
    """
    key = np.array([seed, stream], dtype=np.uint64)
    counter = np.array([0, 0, epoch, index], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def resized_size(width: int, height: int, shorter: int) -> tuple[int, int]:
    """(width, height) after resizing so that the shorter side becomes `shorter` pixels.

    The longer side is rounded down, as the published ImageNet accuracies were measured.

    >>> resized_size(500, 375, 256)
    (341, 256)
    """
    if width <= height:
        return shorter, int(shorter * height / width)
    return int(shorter * width / height), shorter


def center_crop_box(width: int, height: int, size: int) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) of the central square of `size` pixels; halves round to even.

    >>> center_crop_box(341, 256, 224)
    (58, 16, 282, 240)
    """
    left, top = round((width - size) / 2), round((height - size) / 2)
    return left, top, left + size, top + size


@dataclass(frozen=True)
class Preprocessing:
    """Resize the shorter side (Pillow, antialiased), then cut the central square.

    `mean` and `std` are per RGB channel, for pixels scaled to 0..1: the engine computes
    (x / 255 - mean) / std.

    Raises:
        ValueError: on construction, for values that cannot work, naming them.

    >>> preprocessing = Preprocessing(size=224, resize=256)
    >>> preprocessing.apply(image).shape      # doctest: +SKIP
    (224, 224, 3)
    """

    size: int = 224  # side of the square fed to the model, pixels
    resize: int = 256  # shorter side before the crop, pixels; at least `size`
    interpolation: str = "bilinear"  # "bilinear" or "bicubic"
    mean: tuple[float, float, float] = IMAGENET_MEAN  # of R, G, B, as a fraction of full scale
    std: tuple[float, float, float] = IMAGENET_STD  # of R, G, B, as a fraction of full scale

    def __post_init__(self) -> None:
        if not 0 < self.size <= self.resize:
            raise ValueError(
                f"preprocessing: size={self.size}, resize={self.resize}; expected "
                "0 < size <= resize, since the crop is cut from the resized picture"
            )
        if self.interpolation not in ("bilinear", "bicubic"):
            raise ValueError(
                f"preprocessing: interpolation={self.interpolation!r}; expected bilinear or bicubic"
            )
        for key in ("mean", "std"):
            values = tuple(float(v) for v in getattr(self, key))
            if len(values) != 3 or not all(map(math.isfinite, values)):
                raise ValueError(f"preprocessing: {key}={values}; expected three numbers (R, G, B)")
            object.__setattr__(self, key, values)
        if min(self.std) <= 0:
            raise ValueError(f"preprocessing: std={self.std}; expected positive numbers")

    def min_side(self, width: int, height: int, rng: np.random.Generator) -> None:
        """Every pixel counts: published accuracies are for undiminished pictures."""
        return None

    def prepare(self, image: Image.Image) -> Image.Image:
        """Upright RGB picture to the (size, size) square."""
        image = self.resized(image)
        return image.crop(center_crop_box(*image.size, self.size))

    def resized(self, image: Image.Image) -> Image.Image:
        """Upright RGB picture to one whose shorter side is `resize`: what the square is cut of."""
        if image.mode != "RGB":
            raise ValueError(f"preprocessing: picture has mode {image.mode}; expected RGB")
        wanted = resized_size(*image.size, self.resize)
        if image.size != wanted:
            image = image.resize(wanted, _filter(self.interpolation))
        return image

    def draw(
        self,
        prepared: Image.Image,
        rng: np.random.Generator,
        full_size: tuple[int, int] | None = None,
    ) -> NDArray[np.uint8]:
        """The prepared square as (size, size, 3) uint8; draws nothing from `rng`."""
        return np.asarray(prepared)

    def apply(self, image: Image.Image) -> NDArray[np.uint8]:
        """Upright RGB picture to (size, size, 3) uint8."""
        return np.asarray(self.prepare(image))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for checkpoints and cards."""
        return {**asdict(self), "mean": list(self.mean), "std": list(self.std)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Preprocessing:
        """The inverse of `to_dict`. Missing keys take defaults.

        Raises:
            ValueError: an unknown key, by name.
        """
        _refuse_unknown("preprocessing", values, cls)
        return cls(**values)


@dataclass(frozen=True)
class TrainAugmentation:
    """The random view of a picture that one training step sees.

    kind "resized_crop": a random box of `scale` of the picture's area and `ratio` of width to
    height is cut and resized to the square (Szegedy et al., 2014, "Going Deeper with
    Convolutions"), for photographs.
    kind "shift": the preprocessed square moved by up to `shift` pixels each way, its edge pixels
    repeated (He et al., 2015, section 4.2, which pads with the mean), for small pictures.
    kind "none": the preprocessed square itself.
    Each is then mirrored left to right with probability `hflip`; 0 for text and digits. At last
    colours are jittered, a policy is applied and a box erased, where these are asked for; see
    `zoo.data.policies`.

    >>> augmentation = TrainAugmentation(Preprocessing(size=32, resize=32), kind="shift", hflip=0)
    >>> augmentation.apply(image, sample_rng(seed=0, epoch=0, index=5)).shape   # doctest: +SKIP
    (32, 32, 3)
    """

    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    kind: str = "resized_crop"  # "resized_crop", "shift" or "none"
    scale: tuple[float, float] = (0.08, 1.0)  # smallest and largest box, fraction of the area
    ratio: tuple[float, float] = (3 / 4, 4 / 3)  # narrowest and widest box, width / height
    hflip: float = 0.5  # probability of mirroring
    shift: int = 4  # largest move of kind "shift", pixels
    policy: str = "none"  # "none", "trivial" or "rand"
    jitter: float = 0.0  # of brightness, contrast and saturation: largest change, as a fraction
    erasing: float = 0.0  # probability of filling a random box with noise

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ValueError(f"augmentation: kind={self.kind!r}; expected one of {_KINDS}")
        for key, low, high in (("scale", 0.0, 1.0), ("ratio", 0.0, math.inf)):
            pair = tuple(float(v) for v in getattr(self, key))
            if len(pair) != 2 or not low < pair[0] <= pair[1] <= high:
                raise ValueError(
                    f"augmentation: {key}={pair}; expected two numbers, the smaller first, "
                    f"above {low:g} and at most {high:g}"
                )
            object.__setattr__(self, key, pair)
        if not 0 <= self.hflip <= 1:
            raise ValueError(f"augmentation: hflip={self.hflip}; expected a probability, 0 to 1")
        if self.policy not in POLICIES:
            raise ValueError(f"augmentation: policy={self.policy!r}; expected one of {POLICIES}")
        for key in ("jitter", "erasing"):
            if not 0 <= getattr(self, key) <= 1:
                raise ValueError(f"augmentation: {key}={getattr(self, key)}; expected 0 to 1")
        if self.shift < 0:
            raise ValueError(f"augmentation: shift={self.shift}; expected pixels, 0 or more")

    def min_side(self, width: int, height: int, rng: np.random.Generator) -> int | None:
        """Random crops are rescaled anyway, so a picture may be halved as often as its crop then
        still has the square's side: decoding the rest would be in vain."""
        if self.kind != "resized_crop":
            return None
        rng.random()  # whether it is mirrored
        left, top, right, bottom = self._crop_box(width, height, rng)
        halvings = (min(right - left, bottom - top) // self.preprocessing.size).bit_length() - 1
        return min(width, height) >> halvings if halvings > 0 else None

    def prepare(self, image: Image.Image) -> Image.Image:
        """All that comes before the first random number."""
        return image if self.kind == "resized_crop" else self.preprocessing.prepare(image)

    def draw(
        self,
        prepared: Image.Image,
        rng: np.random.Generator,
        full_size: tuple[int, int] | None = None,
    ) -> NDArray[np.uint8]:
        """A random view of a prepared picture: (size, size, 3) uint8."""
        mirrored = rng.random() < self.hflip
        if self.kind == "resized_crop":
            size = self.preprocessing.size
            full_size = full_size or prepared.size
            box = _scaled(self._crop_box(*full_size, rng), full_size, prepared.size)
            how = _filter(self.preprocessing.interpolation)
            cut = prepared.resize((size, size), how, box=box)
            if mirrored:
                cut = cut.transpose(_left_to_right())  # quicker than NumPy's reversed copies
            view = np.asarray(cut)
        elif self.kind == "shift":
            view = self._shifted(np.asarray(prepared), rng)
        else:
            view = np.asarray(prepared)
        if mirrored and self.kind != "resized_crop":
            view = view[:, ::-1]
        if self.jitter or self.policy != "none":
            from PIL import Image

            picture = Image.fromarray(np.ascontiguousarray(view))
            picture = jitter_colours(picture, self.jitter, rng) if self.jitter else picture
            view = np.asarray(apply_policy(picture, self.policy, rng))
        return erase(view, self.erasing, rng) if self.erasing else view

    def apply(self, image: Image.Image, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Upright RGB picture to a random (size, size, 3) uint8 view."""
        return self.draw(self.prepare(image), rng)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for checkpoints."""
        return {
            **asdict(self),
            "preprocessing": self.preprocessing.to_dict(),
            "scale": list(self.scale),
            "ratio": list(self.ratio),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainAugmentation:
        """The inverse of `to_dict`. Missing keys take defaults.

        Raises:
            ValueError: an unknown key, by name.
        """
        _refuse_unknown("augmentation", values, cls)
        values = dict(values)
        if "preprocessing" in values:
            values["preprocessing"] = Preprocessing.from_dict(values["preprocessing"])
        return cls(**values)

    def _crop_box(
        self, width: int, height: int, rng: np.random.Generator
    ) -> tuple[int, int, int, int]:
        """(left, top, right, bottom) of a random box; the widest allowed central one if none fits
        after a few attempts, as happens in very long pictures."""
        low, high = math.log(self.ratio[0]), math.log(self.ratio[1])
        for _ in range(_CROP_ATTEMPTS):
            area = width * height * _between(*self.scale, rng)
            ratio = math.exp(_between(low, high, rng))
            w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < w <= width and 0 < h <= height:
                left = int(rng.random() * (width - w + 1))
                top = int(rng.random() * (height - h + 1))
                return left, top, left + w, top + h
        ratio = min(max(width / height, self.ratio[0]), self.ratio[1])
        w = max(1, min(width, round(height * ratio)))
        h = max(1, min(height, round(width / ratio)))
        left, top = (width - w) // 2, (height - h) // 2
        return left, top, left + w, top + h

    def _shifted(self, square: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
        n, size = self.shift, square.shape[0]
        top, left = (int(rng.random() * (2 * n + 1)) for _ in range(2))
        padded = np.pad(square, ((n, n), (n, n), (0, 0)), mode="edge")  # (size+2n, size+2n, 3)
        return padded[top : top + size, left : left + size]


def _between(low: float, high: float, rng: np.random.Generator) -> float:
    return low + (high - low) * rng.random()


def _scaled(
    box: tuple[int, int, int, int], size: tuple[int, int], new_size: tuple[int, int]
) -> tuple[float, float, float, float]:
    """A box in a picture of `size`, in the same picture at `new_size`."""
    if size == new_size:
        return box
    across, down = new_size[0] / size[0], new_size[1] / size[1]
    left, top, right, bottom = box
    # Rounding must not carry it over the edge.
    ends = min(right * across, new_size[0]), min(bottom * down, new_size[1])
    return left * across, top * down, *ends


def _left_to_right() -> Any:
    from PIL.Image import Transpose

    return Transpose.FLIP_LEFT_RIGHT


def _filter(interpolation: str) -> Any:
    from PIL.Image import Resampling

    return {"bilinear": Resampling.BILINEAR, "bicubic": Resampling.BICUBIC}[interpolation]


def _refuse_unknown(what: str, values: Mapping[str, Any], cls: type) -> None:
    known = [f.name for f in fields(cls)]
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ValueError(f"{what}: unknown {', '.join(unknown)}; expected {', '.join(known)}")
