"""Small pictures inside the page."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image

_SIDE = 160  # of a picture in the page, pixels
_QUALITY = 80
# From cold to hot, dark to light: the order is seen without colours too.
_HEAT = np.array(
    [(0, 0, 4), (87, 16, 110), (188, 55, 84), (249, 142, 9), (252, 255, 164)], dtype=np.float64
)


def thumbnail(square: NDArray[np.uint8]) -> str:
    """A picture (H, W, 3) uint8 as the address of an embedded JPEG."""
    return _jpeg(scaled(square))


def heated(square: NDArray[np.uint8], heat: NDArray[np.float32]) -> str:
    """A picture, greyed, under a map of heat (h, w) 0 to 1; as `thumbnail`."""
    return _jpeg(heat_image(square, heat))


def heat_image(square: NDArray[np.uint8], heat: NDArray[np.float32]) -> Image.Image:
    """A picture (H, W, 3) uint8, scaled and greyed, under a map of heat (h, w) 0 to 1."""
    from PIL import Image

    picture = scaled(square)
    gray = np.asarray(picture.convert("L"), dtype=np.float64)[..., None]
    spread = Image.fromarray(heat).resize(picture.size, Image.Resampling.BICUBIC)
    hot = np.clip(np.asarray(spread, dtype=np.float64), 0, 1)
    place = hot * (len(_HEAT) - 1)
    low = np.minimum(place.astype(int), len(_HEAT) - 2)
    share = (place - low)[..., None]
    colour = _HEAT[low] * (1 - share) + _HEAT[low + 1] * share
    strength = 0.25 + 0.45 * hot[..., None]
    return Image.fromarray((gray * (1 - strength) + colour * strength).astype(np.uint8))


def heat_map(counts: NDArray[np.int64]) -> str:
    """A matrix of counts as the address of an embedded PNG, a pixel an entry: right answers (the
    diagonal) and mistakes in two colours, zeros transparent. Rows count for themselves."""
    from PIL import Image

    rows = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    # The root shows single mistakes of large classes.
    alpha = np.sqrt(counts / rows)
    image = np.zeros((*counts.shape, 4), dtype=np.uint8)
    image[..., :3] = (214, 60, 84)
    diagonal = np.arange(len(counts))
    image[diagonal, diagonal, :3] = (70, 130, 230)
    image[..., 3] = np.where(counts > 0, 40 + 215 * alpha, 0).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG", optimize=True)
    return embedded_png(buffer.getvalue())


def embedded_png(content: bytes) -> str:
    """The content of a PNG file as an address that holds it."""
    return _address("png", content)


def scaled(square: NDArray[np.uint8]) -> Image.Image:
    """A picture (H, W, 3) uint8 in the size that pages show."""
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(square))
    small = max(image.size) < _SIDE // 2
    # Pixels of tiny pictures stay squares: blurring them would show what the model did not see.
    how = Image.Resampling.NEAREST if small else Image.Resampling.BICUBIC
    factor = _SIDE // max(image.size) if small else _SIDE / max(image.size)
    size = tuple(max(round(s * factor), 1) for s in image.size)
    return image.resize((size[0], size[1]), how)


def _jpeg(image: Image.Image) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=_QUALITY, optimize=True)
    return _address("jpeg", buffer.getvalue())


def _address(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
