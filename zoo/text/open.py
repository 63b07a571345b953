"""Language models by name, for commands."""

from __future__ import annotations

from pathlib import Path

import engine
import hub
import zoo
from zoo.models.text_model import TextModel, expect_text
from zoo.registry import archs, get_arch
from zoo.stored import RUN_WEIGHTS, run_facts
from zoo.text.errors import GenerateError

DTYPES = ("float32", "bfloat16", "int8", "int4")


def open_text_model(
    run: str, *, threads: int | None = None, dtype: str = "float32", device: str = "cpu"
) -> TextModel:
    """The language model of a run (its folder or weights file), or of a name with its published
    weights.

    Args:
        dtype: one of DTYPES: what the matrices are kept in; fewer bits are faster and less exact.
        device: where it computes, see zoo.load.

    Raises:
        zoo.LoadError, hub.HubError: there is none, it does something else, or it cannot be read.

    >>> open_text_model("gpt_shakespeare").context      # doctest: +SKIP
    128
    """
    if threads is not None:
        engine.set_num_threads(threads)
    model = expect_text(zoo.load(run, device=device))
    if dtype != "float32":
        try:
            model.quantize(dtype)
        except ValueError as error:
            raise GenerateError(f"{run} cannot be kept in {dtype}: {error}") from error
    return model


def is_text_model(run: str) -> bool:
    """Whether a run, a weights file or a name is one of a language model, without loading it; what
    cannot be found out, is not.

    >>> is_text_model("gpt2"), is_text_model("resnet18")
    (True, False)
    """
    path = Path(run)
    name: object = run
    if run not in archs() and run not in hub.load_cards():
        file = path / RUN_WEIGHTS if path.is_dir() else path
        name = run_facts(file).get("arch") if file.is_file() else None
    known = name in archs() or name in hub.load_cards()
    return known and get_arch(str(name)).config.task == "text-generation"
