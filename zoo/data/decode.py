"""Any picture file to upright 8-bit RGB, by its content and never by its name.

One policy for training, validation and prediction:

- The content decides the format, so a BMP named `.jpg` decodes. Only formats that Pillow decodes in
  process are tried: EPS, which would start an interpreter, is not among them.
- EXIF orientation is applied: the pixels are those a person saw when labelling.
- Transparency (alpha channel, palette or colour key) is composited on white.
- Animations give their first frame.
- 16-bit samples are divided by 257, so full scale maps to full scale.
- CMYK JPEGs hold inverted ink where the Adobe marker says so, and plain ink where it is absent.
- ICC profiles are ignored: published weights were trained that way.
- A truncated or oversized file is an `UnreadableImage`, never a half-grey picture.
"""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from zoo.data.errors import UnreadableImage

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 89_478_485
"""Pictures of more pixels are refused: 256 MiB as RGB, the limit at which Pillow warns."""

MinSide = int | Callable[[int, int], int | None] | None
"""How far a picture may be reduced as it is decoded; see `decode`."""

SUFFIXES = frozenset(
    ".jpg .jpeg .jpe .jfif .png .gif .bmp .dib .webp .tif .tiff .ppm .pgm .pbm .pnm .pfm "
    ".jp2 .j2k .avif .heic .heif".split()
)
"""Lower-case suffixes of files that claim to be pictures; others are skipped by a folder scan."""

_FORMATS = (
    "JPEG MPO PNG GIF BMP DIB WEBP TIFF PPM JPEG2000 AVIF".split()  # MPO: JPEG of some phones
)
_ORIENTATION_TAG = 0x0112
_GRAY_KEY_SCALE = {"L;2": 85, "L;4": 17}  # 2- and 4-bit gray is widened to 8 bits, its key is not
_HEIC_BRANDS = (b"heic", b"heix", b"hevc", b"mif1", b"msf1")


@dataclass(frozen=True)
class Decoded:
    """A decoded picture and what its file said.

    Attributes:
        image: upright RGB picture, possibly reduced (see `decode`).
        format: Pillow's name of the file format, "JPEG" for example.
        width, height: pixels of the upright picture before any reduction.
        orientation: EXIF orientation of the file, 1 (upright) to 8.
    """

    image: Image.Image
    format: str
    width: int
    height: int
    orientation: int


def decode(
    source: bytes | str | os.PathLike[str],
    *,
    min_side: MinSide = None,
    name: str | None = None,
) -> Image.Image:
    """Decode a picture file to an upright RGB `PIL.Image`.

    Args:
        source: path of the file, or its bytes.
        min_side: None decodes every pixel, as validation and prediction must. A number (pixels)
            allows the picture to be reduced by the largest power of two that leaves its shorter
            side at least that long: JPEGs inside the decoder, which is several times faster for
            camera pictures, other formats by averaging. The result depends on the file and on this
            number only. Training uses it, since its random crops are rescaled anyway. A function
            is called with the upright picture's full width and height, and gives the number.
        name: what errors call the picture; by default the path.

    Raises:
        UnreadableImage: the file is missing, empty, truncated, too large or not a picture.

    >>> image = decode("cat.jpg")                   # doctest: +SKIP
    >>> np.asarray(image).shape, image.mode         # doctest: +SKIP
    ((375, 500, 3), 'RGB')
    """
    return decode_with_facts(source, min_side=min_side, name=name).image


def decode_with_facts(
    source: bytes | str | os.PathLike[str],
    *,
    min_side: MinSide = None,
    name: str | None = None,
) -> Decoded:
    """As `decode`, with the file's format, full size and orientation beside the picture."""
    if isinstance(source, bytes):
        data, name = source, name or "<bytes>"
    else:
        name = name or os.fspath(source)
        data = read_bytes(source, name=name)
    if not data:
        raise UnreadableImage(name, "the file is empty (0 bytes)")
    try:
        return _decode(data, min_side, name)
    except (UnreadableImage, MemoryError):
        raise
    # A damaged file makes the decoders raise nearly anything (OSError, SyntaxError, struct.error,
    # IndexError, zlib.error, ...). All of it means the same to the caller.
    except Exception as error:
        raise UnreadableImage(name, f"damaged or truncated: {error}") from error


def read_bytes(path: str | os.PathLike[str], *, name: str | None = None) -> bytes:
    """The bytes of a file; `UnreadableImage` with the system's reason where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UnreadableImage(name or os.fspath(path), error.strerror or str(error)) from error


@functools.lru_cache(maxsize=1)
def _available_formats() -> tuple[str, ...]:
    from PIL import Image

    Image.init()
    return tuple(f for f in _FORMATS if f in Image.OPEN)  # AVIF is missing from older Pillows


def _decode(data: bytes, min_side: MinSide, name: str) -> Decoded:
    from PIL import Image, UnidentifiedImageError

    try:
        image: Any = Image.open(io.BytesIO(data), formats=_available_formats())
    except UnidentifiedImageError:
        raise UnreadableImage(name, _why_unidentified(data)) from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise UnreadableImage(name, _too_large("")) from None
    return _finish(image, min_side, name)


def upright_rgb(image: Image.Image, name: str) -> Image.Image:
    """A picture that PIL opened or made, as `decode` gives that of a file; it stays as it is.

    Raises:
        UnreadableImage: its file turns out to be damaged, or its samples have no known range.

    >>> from PIL import Image
    >>> upright_rgb(Image.new("L", (4, 2), 255), "white").getpixel((0, 0))
    (255, 255, 255)
    """
    info = dict(image.info)
    try:
        return _finish(image, None, name).image
    except (UnreadableImage, MemoryError):
        raise
    except Exception as error:  # as in `decode_with_facts`
        raise UnreadableImage(name, f"damaged or truncated: {error}") from error
    finally:
        image.info = info


def _finish(image: Any, min_side: MinSide, name: str) -> Decoded:
    """From an opened picture to an upright one."""
    if image.width * image.height > MAX_PIXELS:
        raise UnreadableImage(name, _too_large(f"{image.width}x{image.height} pixels is "))
    opened_as = image.size
    key_scale = _GRAY_KEY_SCALE.get(_raw_mode(image), 1)
    key_shift = 8 if _raw_mode(image) == "RGB;16B" else 0
    stored_orientation = _orientation(image)  # loads a PNG, which then knows no raw mode
    if callable(min_side):  # orientations 5 to 8 swap the axes
        min_side = min_side(*(opened_as if stored_orientation < 5 else opened_as[::-1]))
    if min_side is not None and image.format in ("JPEG", "MPO"):
        image.draft(None, (min_side, min_side))
    drafted = image.size != opened_as
    image.load()
    # TIFFs are turned by Pillow as they load, which clears their tag: hence the second look.
    remaining = _orientation(image)
    rgb = _upright(_to_rgb(image, name, key_scale, key_shift), remaining)
    width, height = rgb.size
    if drafted:
        width, height = opened_as if remaining < 5 else opened_as[::-1]  # 5 to 8 swap the axes
    if min_side is not None:
        factor = _power_of_two(min(rgb.size) // min_side)
        rgb = rgb.reduce(factor) if factor > 1 else rgb
    return Decoded(rgb, image.format, width, height, stored_orientation)


def _too_large(size: str) -> str:
    return (
        f"{size}over the limit of {MAX_PIXELS / 1e6:.0f} megapixels (a small file can unpack to "
        "gigabytes); shrink the picture first"
    )


def _why_unidentified(data: bytes) -> str:
    if data[4:8] == b"ftyp" and data[8:12] in _HEIC_BRANDS:
        return "HEIC pictures cannot be decoded here; convert them to JPEG first"
    return "not a picture, or its header is damaged"


def _raw_mode(image: Any) -> str:
    """How the file stores samples, such as "L;2"; "" where the format does not say."""
    args = image.tile[0][3] if getattr(image, "tile", None) else ""
    first = args[0] if isinstance(args, tuple) and args else args
    return first if isinstance(first, str) else ""


def _orientation(image: Any) -> int:
    try:
        value = image.getexif().get(_ORIENTATION_TAG, 1)
    except Exception:  # damaged EXIF must not cost the picture
        return 1
    return value if value in range(1, 9) else 1


def _upright(image: Image.Image, orientation: int) -> Image.Image:
    from PIL.Image import Transpose

    turn = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }.get(orientation)
    return image if turn is None else image.transpose(turn)


def _to_rgb(image: Any, name: str, key_scale: int, key_shift: int) -> Image.Image:
    from PIL import Image, ImageChops

    if image.mode[0] in "IF":
        return _deep_to_rgb(image, name)
    if image.mode == "CMYK":
        if image.format in ("JPEG", "MPO") and "adobe" not in image.info:
            image = ImageChops.invert(image)  # Pillow takes every CMYK JPEG for an Adobe one
        return image.convert("RGB")
    if image.mode == "LAB":
        return _lab_to_rgb(image)
    key = image.info.get("transparency")
    if image.mode in ("L", "RGB") and key is not None:
        image.info["transparency"] = (
            key * key_scale if isinstance(key, int) else tuple(v >> key_shift for v in key)
        )
    if image.mode == "P":
        translucent = key is not None or image.palette.mode.endswith("A")
    else:
        translucent = key is not None or image.mode in ("LA", "La", "PA", "RGBA", "RGBa")
    if translucent:
        white = Image.new("RGBA", image.size, (255, 255, 255, 255))
        return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")
    if image.mode == "RGB" and image.format == "JPEG":
        return image  # the common case holds no file once loaded, and is spared the copy
    return image.convert("RGB")  # where it is RGB already, a copy that lets go of the file


def _deep_to_rgb(image: Any, name: str) -> Image.Image:
    """Modes I;16*, I and F. Integers are 16-bit samples. Floats are fractions of full scale where
    none exceeds 1, else 8-bit samples where none exceeds 255, else 16-bit samples."""
    from PIL import Image

    values = np.asarray(image).astype(np.float64)  # (H, W)
    low, high = float(values.min()), float(values.max())
    if not (low >= 0 and high <= 65535):  # also true of NaN
        raise UnreadableImage(
            name,
            f"{image.mode} samples range from {low:g} to {high:g}; expected 0 to 65535: "
            "rescale the picture to 8 or 16 bits first",
        )
    full_scale = 65535.0
    if image.mode == "F":
        full_scale = 1.0 if high <= 1 else 255.0 if high <= 255 else 65535.0
    gray = np.rint(values * (255.0 / full_scale)).astype(np.uint8)
    key = image.info.get("transparency")
    if isinstance(key, int):
        gray[values == key] = 255  # transparent samples show the white behind them
    return Image.fromarray(gray).convert("RGB")


def _lab_to_rgb(image: Image.Image) -> Image.Image:
    from PIL import ImageCms

    lab, srgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    converted = ImageCms.profileToProfile(image, lab, srgb, outputMode="RGB")
    assert converted is not None  # None only when converting in place
    return converted


def _power_of_two(ratio: int) -> int:
    """The largest power of two that is at most `ratio`, and at least 1."""
    return 1 << max(ratio.bit_length() - 1, 0)
