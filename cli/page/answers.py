"""What the page asks: a picture, a text, how a run stands. Everything that comes in is limited."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from cli.page.shelf import Offer, Shelf

MOST_BYTES = 20_000_000  # of a picture's file
MOST_PICTURES = 50  # the page sends of one drop, one after the other
MOST_PROMPT = 20_000  # characters
MOST_TOKENS = 500
MOST_SECONDS = 120.0  # for one text
CLASSES = 5  # named for a picture
_LONGEST_NAME = 100


class Refused(Exception):
    """What was sent cannot be used; the message is for the person at the page."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def limits() -> dict[str, Any]:
    """The limits that the page tells people, and keeps itself where it can."""
    from zoo.data.decode import MAX_PIXELS

    return {
        "bytes": MOST_BYTES,
        "pictures": MOST_PICTURES,
        "pixels": MAX_PIXELS,
        "prompt": MOST_PROMPT,
        "tokens": MOST_TOKENS,
    }


def shown_name(name: str) -> str:
    """The last part of a file's name, without characters that a page cannot show. It is a label:
    no file of that name is opened or written.

    >>> shown_name("../../etc/cat.png"), shown_name("C:\\\\cat.png"), shown_name("..")
    ('cat.png', 'cat.png', 'picture')
    """
    from zoo.report.html import clean

    last = PureWindowsPath(PurePosixPath(name).name).name
    return clean(last)[:_LONGEST_NAME] if last not in ("", ".", "..") else "picture"


def check_size(name: str, size: int) -> None:
    """Raises Refused for a file that is too large, or empty."""
    if size > MOST_BYTES:
        raise Refused(
            f"{name}: {size / 1e6:.0f} MB; expected at most {MOST_BYTES / 1e6:.0f} MB. For larger "
            "pictures type: zoo predict RUN PICTURE",
            413,
        )
    if size == 0:
        raise Refused(f"{name}: the file is empty (0 bytes)")


def look_at(shelf: Shelf, offer: Offer, name: str, data: bytes, explain: int | None) -> Any:
    """What a model says of a picture, as JSON values.

    Raises:
        Refused: the model is not for pictures, or the file is no picture.
    """
    from zoo.data import UnreadableImage
    from zoo.report.look import look

    if offer.kind != "pictures":
        raise Refused(f"{offer.name} writes text; choose a model of pictures")
    check_size(name, len(data))
    with shelf.computing():
        model = shelf.model(offer)
        try:
            found = look(model, data, name=name, topk=CLASSES, explain=explain)
        except UnreadableImage as error:
            raise Refused(
                f"{name}: {error.reason}. Expected a JPEG, PNG, WebP, GIF, BMP or TIFF picture.",
                415,
            ) from None
        except IndexError as error:
            raise Refused(f"{offer.name}: {error}") from None
    return found.to_dict()


def write_on(shelf: Shelf, offer: Offer, wanted: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The text that follows a prompt, piece by piece: {"text"}, and {"reason", "seconds"} last.

    What cannot work is refused at once, not when the first piece is asked for.

    Raises:
        Refused: the model is not for text, or a setting is out of range.
    """
    from zoo.text.errors import TextError
    from zoo.text.settings import GenerateConfig

    if offer.kind != "text":
        raise Refused(f"{offer.name} looks at pictures; choose a language model")
    prompt, settings = _checked(wanted)
    try:
        GenerateConfig(**settings)
        with shelf.computing():
            pieces = shelf.model(offer).generate(prompt, window=True, **settings)
    except TextError as error:
        raise Refused(str(error)) from None
    return _pieces(shelf, pieces)


def _checked(wanted: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    prompt = wanted.get("prompt", "")
    if not isinstance(prompt, str) or len(prompt) > MOST_PROMPT:
        size = f"{len(prompt):,} characters" if isinstance(prompt, str) else "no text"
        raise Refused(f"the prompt is {size}; expected text of at most {MOST_PROMPT:,} characters")
    tokens = wanted.get("max_tokens", 200)
    if type(tokens) is not int or not 1 <= tokens <= MOST_TOKENS:
        raise Refused(f"{tokens!r} tokens; expected 1 to {MOST_TOKENS}")
    settings = {"max_tokens": tokens}
    for name in ("temperature", "top_p", "seed"):
        if name in wanted:
            settings[name] = wanted[name]
    unknown = wanted.keys() - {"prompt", "model", "max_tokens", "temperature", "top_p", "seed"}
    if unknown:
        raise Refused(f"unknown settings: {', '.join(sorted(map(str, unknown)))[:200]}")
    return prompt or "\n", settings


def _pieces(shelf: Shelf, pieces: Iterator[str]) -> Iterator[dict[str, Any]]:
    started = time.monotonic()
    reason = "end"
    while True:
        with shelf.computing():  # piece by piece, so that pictures need not wait for the last
            piece = next(pieces, None)
        if piece is None:
            break
        yield {"text": piece}
        if time.monotonic() - started > MOST_SECONDS:
            reason = f"stopped after {MOST_SECONDS:.0f} s"
            break
    yield {"reason": reason, "seconds": round(time.monotonic() - started, 2)}


def report_of(offer: Offer) -> bytes:
    """The page about a finished run: `report.html` in its folder, and no file that a link there
    leads to.

    Raises:
        Refused: there is none.
    """
    from zoo.train.report import REPORT

    file = None if offer.folder is None else offer.folder / REPORT
    if file is None or file.is_symlink() or not file.is_file():
        raise Refused(f"{offer.name} has no report; to write it, type: zoo report RUN", 404)
    return file.read_bytes()


def how_it_stands(offer: Offer) -> dict[str, Any]:
    """A run in progress or finished, as JSON values; `charts` is markup that this program made.

    Raises:
        Refused: it is no run.
    """
    from zoo.report.html import show
    from zoo.report.live import charts, watch
    from zoo.train.errors import quoted
    from zoo.train.report import REPORT

    if offer.folder is None:
        raise Refused(f"{offer.name} is a model, not a run")
    live = watch(offer.folder)
    result = {k.removeprefix("val_"): v for k, v in live.result.items() if math.isfinite(v)}
    return {
        "title": live.title,
        "state": live.state,
        "epoch": live.epoch,
        "epochs": live.epochs,
        "share": live.share,
        "secondsLeft": live.seconds_left,
        "silentSeconds": live.silent_seconds,
        "result": result,
        "samples": live.samples[-1:],
        "report": (offer.folder / REPORT).is_file(),
        "charts": show(charts(live.rows)) if live.rows else "",
        "resume": f"zoo finetune --resume {quoted(offer.name)}",
    }
