"""The one place where exceptions become advice and an exit code.

Messages of this project's own exceptions already say what to type next; what is added here is for
the rest of the world's.
"""

from __future__ import annotations

import os
import sys

EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


class UsageError(Exception):
    """The command line cannot mean anything; the message says what is wrong with it."""


class MissingExtra(Exception):
    """A command needs a package that is not installed."""

    def __init__(self, extra: str, package: str) -> None:
        super().__init__(
            f"this needs the package {package}, which is not installed; type: "
            f"pip install 'zoo[{extra}]'"
        )


def exit_code(error: BaseException) -> int:
    """The exit code for an error, which nobody is told of."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else EXIT_FAILURE
    return _advice(error)[1]


def report(error: BaseException, prefix: str = "") -> int:
    """Say on the error stream what went wrong, after `prefix`, and return the exit code for it.

    Raises:
        BaseException: `error` itself, where it is a request to exit.
    """
    if isinstance(error, (SystemExit, GeneratorExit)):
        raise error
    if isinstance(error, BrokenPipeError):
        # The reader of our output has left (`zoo list | head`). Python would complain again when
        # it flushes on exit: give it somewhere to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILURE
    text, code = _advice(error)
    sys.stdout.flush()
    print(f"zoo: {prefix}{text}", file=sys.stderr, flush=True)
    return code


def _advice(error: BaseException) -> tuple[str, int]:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", EXIT_INTERRUPTED
    if isinstance(error, UsageError):
        return str(error), EXIT_USAGE
    if isinstance(error, MissingExtra):
        return str(error), EXIT_FAILURE
    for module, name, code in _OWN:
        if isinstance(error, _loaded(module, name)):
            return str(error), code
    if isinstance(error, MemoryError):
        return (
            f"out of memory: {error}\nTake smaller batches and add their gradients up, for "
            "example: --batch-size 4 --accumulation 4; or smaller pictures: --size 128"
        ), EXIT_FAILURE
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror or error}", EXIT_FAILURE
    return (
        f"internal error, {type(error).__name__}: {error}\n"
        "This is a fault of zoo. Run it again with --debug and report what that prints."
    ), EXIT_FAILURE


# (module, exception, exit code), the more special first. Their messages are complete.
_OWN = (
    ("zoo.train.errors", "Interrupted", EXIT_INTERRUPTED),
    ("zoo.train.errors", "ConfigError", EXIT_USAGE),
    ("zoo.train.errors", "SettingsConflict", EXIT_USAGE),
    ("zoo.train.errors", "TrainError", EXIT_FAILURE),
    ("zoo.data.errors", "DataError", EXIT_FAILURE),
    ("zoo.text.errors", "GenerateError", EXIT_USAGE),
    ("zoo.text.errors", "TextError", EXIT_FAILURE),
    ("zoo.models.text_model", "ContextTooLong", EXIT_USAGE),
    ("zoo.errors", "UnknownModelError", EXIT_USAGE),
    ("zoo.errors", "LoadError", EXIT_FAILURE),
    ("zoo.errors", "ExportError", EXIT_FAILURE),
    ("engine.distributed.errors", "DistributedError", EXIT_FAILURE),
    ("hub.errors", "UnknownCard", EXIT_USAGE),
    ("hub.errors", "SourceError", EXIT_USAGE),
    ("hub.errors", "HubError", EXIT_FAILURE),
)


def _loaded(module: str, name: str) -> type | tuple[()]:
    """An exception class, or () when its module was never imported: nobody can have raised it."""
    return getattr(sys.modules[module], name) if module in sys.modules else ()
