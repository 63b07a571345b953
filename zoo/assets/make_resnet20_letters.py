"""Remakes resnet20.letters.safetensors: ResNet-20 trained by this engine, from random weights, to
tell rendered letters and digits apart.

    python zoo/assets/make_resnet20_letters.py WORK_FOLDER [--fonts FOLDER ...]

Pictures are drawn from open fonts (Debian: fonts-dejavu-core, fonts-liberation, fonts-open-sans,
fonts-lato, fonts-roboto-unhinted, fonts-texgyre; other faces give other weights), bent, blurred
and coarsened so that a few strokes of a pen are not far away, then `zoo.train.finetune` does what
`zoo finetune` does. Classes are those of EMNIST "balanced" (Cohen et al., arXiv:1702.05373):
digits and letters, where a letter whose two cases look alike is one class.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

import hub
from zoo.train import finetune

HERE = Path(__file__).resolve().parent
TARGET = HERE / "resnet20.letters.safetensors"

ALIKE = "CIJKLMOPSUVWXYZ"
CLASSES = {c: c for c in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"} | {
    f"{c}_lower": c for c in "abcdefghijklmnopqrstuvwxyz" if c.upper() not in ALIKE
}

FONT_FOLDERS = [
    Path("/usr/share/fonts/truetype") / name
    for name in ("dejavu", "liberation", "open-sans", "lato", "roboto/unhinted/RobotoTTF")
] + [Path("/usr/share/texmf/fonts/opentype/public/tex-gyre")]

SIDE = 32
CANVAS = 96  # glyphs are drawn large and made small, as a scanner does
PER_CLASS = {"train": 400, "val": 50}


def open_fonts(folders: list[Path]) -> list[ImageFont.FreeTypeFont]:
    paths = sorted(p for folder in folders for p in folder.glob("*.[to]tf"))
    if not paths:
        raise SystemExit(f"no fonts in {', '.join(map(str, folders))}; name folders with --fonts")
    print(f"{len(paths)} fonts")
    return [ImageFont.truetype(str(p), 60) for p in paths]


def draw(text: str, font: ImageFont.FreeTypeFont, rng: np.random.Generator) -> Image.Image:
    """One glyph, white on black, about the middle of SIDE x SIDE pixels."""
    canvas = Image.new("L", (CANVAS, CANVAS))
    draw = ImageDraw.Draw(canvas)
    left, top, right, bottom = draw.textbbox((0, 0), text, font=font)
    at = ((CANVAS - right - left) / 2, (CANVAS - bottom - top) / 2)
    draw.text(at, text, fill=255, font=font, stroke_width=int(rng.integers(0, 4)))
    # A random affine map about the centre: turned, slanted, stretched, moved.
    turn, slant = rng.uniform(-0.25, 0.25), rng.uniform(-0.3, 0.3)
    box = max(right - left, bottom - top) / CANVAS
    zoom = rng.uniform(0.75, 1.05) / box
    sx, sy = zoom * rng.uniform(0.8, 1.1), zoom * rng.uniform(0.9, 1.1)
    forward = (
        np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        @ np.array([[1, slant], [0, 1]]) @ np.diag([sx, sy])
    )  # fmt: skip
    inverse = np.linalg.inv(forward)
    centre = np.array([CANVAS / 2, CANVAS / 2])
    shift = centre - inverse @ (centre + rng.uniform(-4, 4, 2))
    matrix = (*inverse[0], shift[0], *inverse[1], shift[1])
    canvas = canvas.transform((CANVAS, CANVAS), Image.Transform.AFFINE, matrix,
                              Image.Resampling.BILINEAR)  # fmt: skip
    canvas = canvas.filter(ImageFilter.GaussianBlur(rng.uniform(0, 3)))
    coarse = int(rng.choice([8, 8, 10, 12, 16, 32]))
    small = canvas.resize((coarse, coarse), Image.Resampling.BOX)
    pixels = np.asarray(small.resize((SIDE, SIDE), Image.Resampling.BILINEAR), np.float64)
    pixels = pixels * rng.uniform(0.7, 1.3) + rng.normal(0, 6, pixels.shape)
    if rng.random() < 0.2:
        pixels = 255 - pixels  # dark ink on paper
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def draw_all(root: Path, fonts: list[ImageFont.FreeTypeFont]) -> None:
    for part, count in PER_CLASS.items():
        for label, (name, text) in enumerate(CLASSES.items()):
            folder = root / part / name
            folder.mkdir(parents=True)
            rng = np.random.default_rng([label, count])
            for i in range(count):
                draw(text, fonts[int(rng.integers(len(fonts)))], rng).save(folder / f"{i:03}.png")


def pack(run: Path) -> None:
    """Writes the weights that a finished run kept to TARGET, without what is this machine's own."""
    weights = hub.SafetensorsFile(run / "model.safetensors")
    kept = {key: weights.metadata[key] for key in ("arch", "classes", "preprocessing")}
    kept |= {"format": "pt", "made_by": json.dumps("zoo/assets/make_resnet20_letters.py")}
    hub.write_safetensors(TARGET, dict(weights), kept)
    data = TARGET.read_bytes()
    accuracy = json.loads((run / "summary.json").read_text())["val_accuracy"]
    print(f"{TARGET.name}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}, "
          f"validation accuracy {accuracy:.4f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path, help="folder for pictures and the run; kept")
    parser.add_argument("--fonts", type=Path, nargs="+", default=FONT_FOLDERS)
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args()
    pictures, run = args.work / "letters", args.work / "run"
    if not pictures.exists():
        draw_all(pictures, open_fonts(args.fonts))
    shutil.rmtree(run, ignore_errors=True)
    finetune(
        "resnet20", pictures, weights="none", out=run, show_progress=True, epochs=args.epochs,
        batch_size=64, lr=0.1, flip=0.0, augment="shift", weight_decay=5e-4,
    )  # fmt: skip
    pack(run)


if __name__ == "__main__":
    main()
