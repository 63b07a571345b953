"""`zoo generate RUN --prompt TEXT`: write on from a text; without a prompt, from what is typed."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import Field, fields
from typing import Any

from cli.errors import UsageError
from cli.flags import add_computing, positive
from cli.text_runs import add_dtype
from zoo.text.settings import GenerateConfig

_DESCRIPTION = """\
Write on from a text. RUN is a run's folder, a model.safetensors, or a name from `zoo list`, which
takes that model with its published weights. Without --prompt, each line of standard input is a
prompt: type one and press Enter; end with Ctrl-D."""

_METAVARS = {"top_k": "K", "top_p": "P", "min_p": "P"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.add_argument("run", metavar="RUN", help="run folder, weights file or model name")
    parser.add_argument("--prompt", metavar="TEXT", help="what to go on from; - reads all input")
    for setting in _settings():
        _add_setting(parser, setting)
    parser.add_argument(
        "--n", type=positive, default=1, metavar="N", help="texts to write (default 1)"
    )
    parser.add_argument(
        "--stream",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="show the text while it is made (default: on a terminal, for one text)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON array instead")
    parser.add_argument(
        "--draft",
        metavar="MODEL",
        help="a smaller model of the same vocabulary that guesses ahead, such as distilgpt2 for "
        "gpt2: the same distribution, faster where memory is the limit",
    )
    add_dtype(parser)
    add_computing(parser)


def _settings() -> list[Field[Any]]:
    return [setting for setting in fields(GenerateConfig) if "text" in setting.metadata]


def _add_setting(parser: argparse.ArgumentParser, setting: Field[Any]) -> None:
    """The flag of a field of GenerateConfig; absent from the result where not given."""
    flag, text = f"--{setting.name.replace('_', '-')}", setting.metadata["text"]
    absent = argparse.SUPPRESS
    if setting.default is False:
        parser.add_argument(flag, action="store_true", default=absent, help=text)
    elif setting.default == ():
        parser.add_argument(flag, action="append", metavar="TEXT", default=absent, help=text)
    else:
        kind = type(setting.default)
        metavar = _METAVARS.get(setting.name, {int: "N", float: "X"}[kind])
        text = f"{text} (default: {setting.default})"
        parser.add_argument(flag, type=kind, metavar=metavar, default=absent, help=text)


def run(args: argparse.Namespace) -> int:
    """Print what was written."""
    settings = {s.name: getattr(args, s.name) for s in _settings() if hasattr(args, s.name)}
    if args.stream and (args.json or args.n > 1):
        raise UsageError("--stream shows one text as it is made; leave out --n and --json")
    from zoo.text.open import open_text_model

    dtype = args.dtype or "float32"
    model = open_text_model(args.run, threads=args.threads, dtype=dtype, device=args.device)
    if args.draft is not None:
        settings["draft"] = open_text_model(args.draft, device=args.device)
    if args.prompt is None:
        return _converse(model, args, settings)
    prompt = sys.stdin.read() if args.prompt == "-" else args.prompt
    _write(model, prompt, args, settings)
    return 0


def _converse(model: Any, args: argparse.Namespace, settings: dict[str, Any]) -> int:
    """A prompt a line, until the input ends."""
    typed = sys.stdin.isatty()
    if typed:
        print(f"{model.arch}: type a beginning and press Enter; Ctrl-D ends.", file=sys.stderr)
    while True:
        if typed:
            print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            return 0
        if line.strip():
            _write(model, line.rstrip("\r\n"), args, settings)


def _write(model: Any, prompt: str, args: argparse.Namespace, settings: dict[str, Any]) -> None:
    streaming = args.stream
    if streaming is None:
        streaming = args.n == 1 and not args.json and sys.stdout.isatty()
    if streaming:
        pieces = model.generate(prompt, **settings)
        print(prompt, end="", flush=True)
        for piece in pieces:
            print(piece, end="", flush=True)
        print()
        return
    made = model.complete([prompt], args.n, **settings)
    if args.json:
        facts = [
            {"prompt": c.prompt, "text": c.text, "tokens": len(c.tokens), "reason": c.reason}
            for c in made
        ]
        print(json.dumps(facts, ensure_ascii=False))
        return
    for number, completion in enumerate(made, 1):
        if len(made) > 1:
            print(f"--- {number} of {len(made)}, ended by {completion.reason}")
        print(completion.prompt + completion.text, flush=True)
