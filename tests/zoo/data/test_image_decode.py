"""Decoding: every kind of file to the upright RGB pixels that a person sees."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageCms, features

from zoo.data import UnreadableImage, decode
from zoo.data.decode import MAX_PIXELS, decode_with_facts

WHITE, RED, BLUE = (255, 255, 255), (255, 0, 0), (0, 0, 255)


def encoded(image: Image.Image, format: str, **save: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format, **save)
    return buffer.getvalue()


def pixels(data: bytes) -> np.ndarray:
    """(H, W, 3) int64, so that differences do not wrap."""
    image = decode(data)
    assert image.mode == "RGB"
    return np.asarray(image).astype(np.int64)


def png(width: int, height: int, bits: int, colour: int, rows: bytes, key: bytes = b"") -> bytes:
    """A PNG chunk by chunk, for the sample depths that Pillow does not write."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + check

    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    transparency = chunk(b"tRNS", key) if key else b""
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + transparency
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def sideways() -> Image.Image:
    """64 wide, 32 high, the left quarter red and the rest blue."""
    image = Image.new("RGB", (64, 32), BLUE)
    image.paste(RED, (0, 0, 16, 32))
    return image


def tagged(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def test_a01_phone_photo_is_turned_upright() -> None:
    data = encoded(sideways(), "JPEG", exif=tagged(6), quality=95)
    found = pixels(data)
    assert found.shape == (64, 32, 3)
    assert np.abs(found[:12] - RED).max() < 16
    assert np.abs(found[20:] - BLUE).max() < 16


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format", ["PNG", "TIFF", "WEBP"])
def test_a01_every_orientation_undoes_the_cameras_turn(format: str, orientation: int) -> None:
    upright = np.arange(6 * 4 * 3, dtype=np.uint8).reshape(6, 4, 3) * 3
    # How each orientation stores an upright picture (EXIF 2.32, tag 274).
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: upright.transpose(1, 0, 2)[::-1],
        7: upright.transpose(1, 0, 2)[::-1, ::-1],
        8: upright.transpose(1, 0, 2)[:, ::-1],
    }[orientation]
    options = {"lossless": True, "exact": True} if format == "WEBP" else {}
    image = Image.fromarray(np.ascontiguousarray(stored))
    data = encoded(image, format, exif=tagged(orientation), **options)
    found = decode_with_facts(data)
    np.testing.assert_array_equal(np.asarray(found.image), upright)
    assert (found.width, found.height, found.orientation) == (4, 6, orientation)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_damaged_exif_does_not_cost_the_picture() -> None:
    data = encoded(sideways(), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    assert pixels(data).shape == (32, 64, 3)


@pytest.mark.parametrize("marker", [True, False], ids=["adobe", "unmarked"])
@pytest.mark.parametrize(
    ("ink", "rgb"), [((0, 0, 0, 0), WHITE), ((255, 0, 0, 0), (0, 255, 255))], ids=str
)
def test_a02_cmyk_jpeg_is_no_negative(
    ink: tuple[int, ...], rgb: tuple[int, ...], marker: bool
) -> None:
    stored = ink if marker else tuple(255 - v for v in ink)  # Pillow inverts whatever it writes
    data = encoded(Image.new("CMYK", (16, 16), stored), "JPEG", quality=95)
    start = data.index(b"\xff\xee")
    if not marker:
        length = int.from_bytes(data[start + 2 : start + 4], "big")
        data = data[:start] + data[start + 2 + length :]
    assert (b"Adobe" in data) == marker
    assert np.abs(pixels(data) - rgb).max() <= 2


def test_a02_ycck_jpeg_gives_its_colour() -> None:
    # Full cyan ink is red as Adobe stores it, which is (76, 85, 255) in YCbCr; no black is 255.
    stored = tuple(255 - v for v in (76, 85, 255, 255))
    data = bytearray(encoded(Image.new("CMYK", (16, 16), stored), "JPEG", quality=95))
    data[data.index(b"Adobe") + 11] = 2  # the marker's transform: 2 is YCCK
    assert np.abs(pixels(bytes(data)) - (0, 255, 255)).max() <= 3


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA"])
def test_alpha_is_composited_on_white(mode: str) -> None:
    image = Image.new("RGBA", (3, 1), (0, 0, 0, 255))
    image.putpixel((1, 0), (0, 0, 0, 0))
    image.putpixel((2, 0), (0, 0, 0, 128))
    if mode == "PA":  # a palette with alpha values
        image = image.quantize(8)
    else:
        image = image.convert(mode)
    row = pixels(encoded(image, "PNG"))[0]
    np.testing.assert_array_equal(row, [(0, 0, 0), WHITE, (127, 127, 127)])


def test_one_transparent_palette_entry_becomes_white() -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.putpixel((1, 0), 1)
    for format in ("PNG", "GIF"):
        row = pixels(encoded(image, format, transparency=0))[0]
        np.testing.assert_array_equal(row, [WHITE, BLUE])


def test_opaque_palette_keeps_its_colours() -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.putpixel((1, 0), 1)
    np.testing.assert_array_equal(pixels(encoded(image, "PNG"))[0], [RED, BLUE])


def gray(*values: int) -> list[tuple[int, int, int]]:
    return [(v, v, v) for v in values]


@pytest.mark.parametrize(
    ("data", "row"),
    [
        (png(8, 1, 1, 0, b"\0\x0f", b"\0\0"), gray(*[255] * 8)),
        (png(4, 1, 2, 0, b"\0\x1b", b"\0\1"), gray(0, 255, 170, 255)),
        (png(2, 1, 4, 0, b"\0\x12", b"\0\1"), gray(255, 34)),
        (png(2, 1, 8, 0, b"\0\7\x09", b"\0\7"), gray(255, 9)),
        (png(2, 1, 16, 0, b"\0\x05\x05\x09\x09", b"\5\5"), gray(255, 9)),
        (png(2, 1, 8, 2, b"\0\1\2\3\4\5\6", b"\0\1\0\2\0\3"), [WHITE, (4, 5, 6)]),
        (
            png(2, 1, 16, 2, b"\0\1\x10\2\x20\3\x30\4\4\5\5\6\6", b"\1\x10\2\x20\3\x30"),
            [WHITE, (4, 5, 6)],
        ),
    ],
    ids=["gray1", "gray2", "gray4", "gray8", "gray16", "rgb8", "rgb16"],
)
def test_transparent_colour_key_becomes_white(data: bytes, row: list[tuple[int, ...]]) -> None:
    np.testing.assert_array_equal(pixels(data)[0], row)


def test_16_bit_gray_is_scaled_by_257_not_clipped() -> None:
    samples = (np.arange(256, dtype=np.uint16) * 257).reshape(16, 16)
    for format in ("PNG", "TIFF"):
        found = pixels(encoded(Image.fromarray(samples), format))
        np.testing.assert_array_equal(found, np.repeat(samples[..., None] // 257, 3, axis=2))


def test_16_bit_rounds_to_the_nearest() -> None:
    samples = np.array([[128, 129, 65535 - 128, 65535 - 129]], np.uint16)
    found = pixels(encoded(Image.fromarray(samples), "PNG"))
    np.testing.assert_array_equal(found[0], gray(0, 1, 255, 254))


def test_32_bit_integers_are_taken_for_16_bit_samples() -> None:
    data = encoded(Image.fromarray(np.array([[0, 257, 65535]], np.int32)), "TIFF")
    np.testing.assert_array_equal(pixels(data)[0], gray(0, 1, 255))


def test_32_bit_integers_beyond_16_bits_are_refused() -> None:
    data = encoded(Image.fromarray(np.array([[0, 70000]], np.int32)), "TIFF")
    with pytest.raises(UnreadableImage, match="0 to 70000.*rescale"):
        decode(data)


@pytest.mark.parametrize("full_scale", [1.0, 255.0, 65535.0])
def test_float_samples_are_scaled_by_their_range(full_scale: float) -> None:
    samples = np.array([[0, 0.5, 1]], np.float32) * full_scale
    row = pixels(encoded(Image.fromarray(samples), "TIFF"))[0]
    np.testing.assert_array_equal(row, gray(0, 128, 255))


def test_float_nan_is_refused() -> None:
    samples = np.array([[0, np.nan]], np.float32)
    with pytest.raises(UnreadableImage, match="samples"):
        decode(encoded(Image.fromarray(samples), "TIFF"))


def test_one_bit_and_gray_become_rgb() -> None:
    black_and_white = Image.fromarray(np.array([[0, 255]], np.uint8)).convert("1")
    np.testing.assert_array_equal(pixels(encoded(black_and_white, "PNG"))[0], gray(0, 255))
    shades = Image.fromarray(np.array([[3, 250]], np.uint8))
    np.testing.assert_array_equal(pixels(encoded(shades, "BMP"))[0], gray(3, 250))


@pytest.mark.skipif(not features.check("littlecms2"), reason="Pillow built without littlecms2")
def test_lab_tiff_gives_its_colour() -> None:
    srgb, lab = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
    colour = Image.new("RGB", (4, 4), (200, 60, 30))
    stored = ImageCms.profileToProfile(colour, srgb, lab, outputMode="LAB")
    assert stored is not None
    assert np.abs(pixels(encoded(stored, "TIFF")) - (200, 60, 30)).max() <= 3


@pytest.mark.parametrize("format", ["GIF", "WEBP", "PNG", "TIFF"])
def test_animation_gives_its_first_frame(format: str) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in (RED, BLUE, WHITE)]
    options = {"lossless": True} if format == "WEBP" else {}
    data = encoded(frames[0], format, save_all=True, append_images=frames[1:], **options)
    assert np.abs(pixels(data) - RED).max() == 0


def test_decompression_bomb_is_refused_by_its_size() -> None:
    data = png(20000, 20000, 1, 0, b"\0" * 1000)
    with pytest.raises(UnreadableImage, match="over the limit of 89 megapixels.*shrink"):
        decode(data)


@pytest.mark.parametrize("action", ["ignore", "error"])
def test_slightly_too_many_pixels_are_refused_whatever_the_warning_filter(action: Any) -> None:
    side = int(MAX_PIXELS**0.5) + 2
    with warnings.catch_warnings(), pytest.raises(UnreadableImage, match="over the limit"):
        warnings.simplefilter(action, Image.DecompressionBombWarning)
        decode(png(side, side, 1, 0, b"\0" * 1000))


def test_a05_bmp_named_jpg_decodes(tmp_path: Path) -> None:
    path = tmp_path / "really_bmp.jpg"
    path.write_bytes(encoded(sideways(), "BMP"))
    np.testing.assert_array_equal(np.asarray(decode(path)), np.asarray(sideways()))


@pytest.mark.parametrize("kept", [0.5, 0.95])
@pytest.mark.parametrize("format", ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM"])
def test_a05_truncated_file_is_an_error_never_half_grey(format: str, kept: float) -> None:
    rng = np.random.default_rng(0)
    data = encoded(Image.fromarray(rng.integers(0, 256, (64, 64, 3), np.uint8)), format)
    with pytest.raises(UnreadableImage, match="damaged or truncated|not a picture"):
        decode(data[: int(len(data) * kept)])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"these are words", "not a picture"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture"),
        (b"\0\0\0\x18ftypheic" + bytes(40), "HEIC.*convert"),
    ],
    ids=["empty", "text", "postscript", "heic"],
)
def test_a05_no_picture_is_named_with_the_reason(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "broken.png"
    path.write_bytes(content)
    with pytest.raises(UnreadableImage, match=reason) as caught:
        decode(path)
    assert caught.value.path == str(path)
    assert str(path) in str(caught.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableImage, match="absent.jpg: No such file"):
        decode(tmp_path / "absent.jpg")


@pytest.mark.parametrize("format", ["JPEG", "PNG"])
def test_min_side_reduces_by_a_power_of_two(format: str) -> None:
    ramp = np.add.outer(np.arange(400), np.arange(640)).astype(np.float64)
    image = Image.fromarray((ramp / ramp.max() * 255).astype(np.uint8))
    data = encoded(image, format)
    reduced = decode(data, min_side=90)
    assert reduced.size == (160, 100)
    averaged = image.convert("RGB").resize((160, 100), Image.Resampling.BOX)
    difference = np.asarray(reduced).astype(int) - np.asarray(averaged)
    assert np.abs(difference).max() <= 3


@pytest.mark.parametrize("format", ["JPEG", "PNG"])
def test_min_side_never_enlarges_or_undershoots(format: str) -> None:
    data = encoded(sideways(), format)
    assert decode(data, min_side=17).size == (64, 32)
    assert decode(data, min_side=16).size == (32, 16)
    assert decode(data, min_side=1000).size == (64, 32)


def test_facts_hold_the_full_size_of_a_reduced_picture() -> None:
    data = encoded(sideways(), "JPEG", exif=tagged(6))
    found = decode_with_facts(data, min_side=8)
    assert found.image.size == (8, 16)
    assert (found.width, found.height, found.format) == (32, 64, "JPEG")
