"""From text to a finished run: `finetune_text` starts one, `resume_text` goes on with one.

Everything that can be refused is refused before work starts, in this order: settings, model name,
text files, output folder, weights, text. Nothing is written until all of it is settled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import engine
import hub
import zoo
from zoo.models.text_model import TextModel, expect_text
from zoo.stored import RUN_WEIGHTS
from zoo.text.blocks import Tokens
from zoo.text.perplexity import perplexity_of, text_loss
from zoo.text.tokenizer import Tokenizer
from zoo.train.callbacks import Callback
from zoo.train.checkpoint import Checkpoint, Checkpoints
from zoo.train.distributed import Ranks, current_ranks
from zoo.train.errors import DataChanged, SettingsConflict
from zoo.train.loop_config import agreed
from zoo.train.metrics import peak_memory_bytes
from zoo.train.out_folder import alone_in
from zoo.train.recipe_book import AUTO
from zoo.train.samples import Samples, sample_of, shown
from zoo.train.text_config import TextConfig
from zoo.train.text_planning import TextPlan
from zoo.train.text_report import TextSummary
from zoo.train.text_result import TextResult
from zoo.train.text_start import Sources, load_network, read_text, settle_text
from zoo.train.text_task import TextTask
from zoo.train.trainer import Trainer

if TYPE_CHECKING:
    from zoo.train.run import Say


def finetune_text(
    model: str,
    data: Sources,
    *,
    weights: str | os.PathLike[str] = "default",
    recipe: str | os.PathLike[str] = AUTO,
    tokenizer: str | os.PathLike[str] | int | None = None,
    out: str | os.PathLike[str] | None = None,
    options: Mapping[str, Any] | None = None,
    lora: bool = False,
    report: bool = True,
    callbacks: Sequence[Callback] = (),
    say: Say = print,
    show_progress: bool = False,
    **settings: Any,
) -> TextResult:
    """Train a language model on text and keep the best weights in `out`.

    Args:
        model: name of an architecture; see `zoo.list_models`.
        data: files, folders or patterns; see zoo.text.read for what may be in them.
        weights: "default", a card's name or a file's path; "none" starts from random ones.
        recipe: "lora", "full", "scratch", the path of a TOML file, or "auto", which chooses from
            the size of the text; see `zoo.train.text_recipes`.
        tokenizer: for random weights: "gpt2", "bytes", a folder or tokenizer.json, or the size of
            a vocabulary to be found in the text; None for one of the model's size.
        out: folder to write to, absent or empty; None takes the first free `runs/MODEL-N`.
        options: fields of the model's configuration to change, for random weights.
        lora: the same as recipe="lora".
        report: write `report.html` at the end; see zoo.report.
        callbacks: told what happens meanwhile; see `zoo.train.callbacks`.
        say: called with each line for people.
        show_progress: draw progress bars on the error stream, where that is a terminal.
        settings: fields of `TextConfig` that shall differ from the recipe's.

    Raises:
        TrainError, zoo.text.errors.TextError, hub.HubError, zoo.LoadError: each says what to do.

    >>> finetune_text("gpt2", "book.txt", lora=True).val_perplexity      # doctest: +SKIP
    21.3
    """
    ranks = current_ranks()
    say, show_progress = ranks.voice(say, show_progress)
    weights, options = os.fspath(weights), dict(options or {})
    recipe = lora_recipe(recipe, lora)
    start = settle_text(
        model, data, weights, recipe, tokenizer, out, options, say, show_progress, settings
    )
    network, config, origin = start.network, start.plan.config, start.origin
    say("\n".join([*start.plan.lines(), *ranks.lines(), f"Results go to {start.folder.path}", ""]))
    ranks.set_timeout(config.rank_timeout)
    task = TextTask(network, start.train, start.val, config, ranks)
    if weights != "none":
        origin["before"] = _score(network, start.val, config, origin["prompt"], ranks)
        say(
            f"Before training: validation perplexity {origin['before']['perplexity']:.2f}\n"
            + shown(origin["before"]["sample"])
        )
    with ranks.folder(start.folder) as path:
        trainer = _trainer(task, config, path, origin, say, show_progress, callbacks)
        trainer.fit()
    return _finish(trainer, report)


def plan_text(
    model: str,
    data: Sources,
    *,
    weights: str | os.PathLike[str] = "default",
    recipe: str | os.PathLike[str] = AUTO,
    tokenizer: str | os.PathLike[str] | int | None = None,
    out: str | os.PathLike[str] | None = None,
    options: Mapping[str, Any] | None = None,
    lora: bool = False,
    say: Say = print,
    show_progress: bool = False,
    **settings: Any,
) -> TextPlan:
    """What `finetune_text` with the same arguments is going to do: all that is done before
    training, and no more. Writes nothing, but for the cache folder.

    Raises:
        TrainError, zoo.text.errors.TextError, hub.HubError, zoo.LoadError: as `finetune_text`.

    >>> plan_text("gpt2", "book.txt").seconds     # doctest: +SKIP
    412.0
    """
    recipe, options = lora_recipe(recipe, lora), dict(options or {})
    start = settle_text(
        model, data, os.fspath(weights), recipe, tokenizer, out, options, say, show_progress,
        settings,
    )  # fmt: skip
    say("\n".join([*start.plan.lines(), "Nothing was written, and nothing was trained."]))
    return start.plan


def lora_recipe(recipe: str | os.PathLike[str], lora: bool) -> str:
    """The name of the recipe that is meant, where `lora` asks for that of adapters.

    Raises:
        SettingsConflict: another recipe is named, too.

    >>> lora_recipe("auto", lora=True)
    'lora'
    """
    name = os.fspath(recipe)
    if lora and name not in (AUTO, "lora"):
        raise SettingsConflict(
            f"lora is a recipe of its own, and {name} is another; expected one of the two"
        )
    return "lora" if lora else name


def resume_text(
    run: str | os.PathLike[str],
    checkpoint: Checkpoint,
    *,
    data: Sources | None = None,
    expected: Mapping[str, Any] | None = None,
    report: bool = True,
    callbacks: Sequence[Callback] = (),
    say: Say = print,
    show_progress: bool = False,
) -> TextResult:
    """Go on with a run on text from a checkpoint of it, as if it had never stopped.

    Args:
        run: its folder.
        checkpoint: the newest whole one.
        data: where the text is now; None looks where it was. It must be the same text.
        expected: settings, "model" or "weights" that are meant to hold; see `zoo.train.resume`.
        report, callbacks, say, show_progress: as for `finetune_text`.

    Raises:
        SettingsConflict, DataChanged: as they say; and what `finetune_text` raises.

    >>> resume_text("run1", Checkpoints(Path("run1/last")).newest())      # doctest: +SKIP
    """
    ranks = current_ranks()
    say, show_progress = ranks.voice(say, show_progress)
    folder = Path(run)
    origin = checkpoint.origin("model", "weights", "data", "data_paths", "model_config", "source")
    config = agreed(checkpoint.settings(TextConfig), origin, expected or {})
    if config.threads:
        engine.set_num_threads(config.threads)
    with checkpoint.understood():
        network = load_network(origin["model"], "none", config, origin["model_config"])
        network.tokenizer = Tokenizer.from_dict(origin["tokenizer"], str(checkpoint.path))
        network.source = origin["source"]
    where: Sources = origin["data_paths"] if data is None else data
    corpus, train, val = read_text(where, network.tokenizer, config, show_progress)
    if corpus.fingerprint != origin["data"]["fingerprint"]:
        raise DataChanged(
            f"{where}: this is not the text that {folder} was started with ({len(corpus.tokens)} "
            f"tokens now, {origin['data']['tokens']} then). Restore it, say where it is with "
            f"--data, or start anew: zoo finetune {origin['model']} --data TEXT"
        )
    ranks.agree("the checkpoints", checkpoint.path.name)
    ranks.set_timeout(config.rank_timeout)
    task = TextTask(network, train, val, config, ranks)
    trainer = _trainer(task, config, folder, origin, say, show_progress, callbacks)
    with alone_in(folder) if ranks.rank == 0 else nullcontext():
        trainer.go_on(checkpoint)
    return _finish(trainer, report)


def _score(
    network: TextModel, val: Tokens, config: TextConfig, prompt: str, ranks: Ranks
) -> dict[str, Any]:
    block = config.block_size
    total, count = text_loss(
        network, val, length=block, stride=block, batch_size=config.batch_size, ranks=ranks
    )
    return {
        "loss": total / count,
        "perplexity": perplexity_of(total / count),
        "sample": sample_of(network, prompt, config.seed),
    }


def _trainer(
    task: TextTask,
    config: TextConfig,
    out: Path,
    origin: dict[str, Any],
    say: Say,
    show_progress: bool,
    callbacks: Sequence[Callback],
) -> Trainer:
    told = [Samples(), *callbacks]
    return Trainer(task, config, out, origin, say, show_progress, callbacks=told)


def newest_text_checkpoint(run: str | os.PathLike[str]) -> Checkpoint | None:
    """The newest whole checkpoint of a run, if that run is on text."""
    found = Checkpoints(Path(run) / "last").newest()
    return found if found and found.origin().get("task") == "text" else None


def _finish(trainer: Trainer, report: bool) -> TextResult:
    """Write `summary.json`, `curves.png` and `report.html`, and say how it went: rank 0 does, and
    tells the others."""
    ranks = trainer.ranks
    summary = _conclude(trainer, report) if ranks.rank == 0 else None
    if ranks.size > 1:
        summary = TextSummary(**ranks.same(summary and asdict(summary)))
    assert summary is not None
    return TextResult(trainer.out, summary)


def _conclude(trainer: Trainer, report: bool) -> TextSummary:
    done, out = trainer.progress, trainer.out
    best = done.best
    assert best is not None  # there is at least one epoch
    # Of the weights that were kept, if they are not at hand already: they may be large.
    last = best.epoch == done.epoch and trainer.config.average == "none"
    kept = expect_text(trainer.model if last else zoo.load(out))  # type: ignore[arg-type]
    before = trainer.origin.get("before")
    summary = TextSummary(
        val_loss=best.metrics["val_loss"],
        val_perplexity=best.metrics["val_perplexity"],
        perplexity_before=None if before is None else before["perplexity"],
        sample_before=None if before is None else before["sample"],
        sample_after=sample_of(kept, trainer.origin["prompt"], trainer.config.seed),
        epochs=done.epoch,
        best_epoch=best.epoch,
        seconds=done.seconds,
        tokens_per_second=done.seen / done.train_seconds,
        peak_memory_bytes=peak_memory_bytes(),
        skipped_steps=done.skipped,
        weights_sha256=hub.sha256_file(out / RUN_WEIGHTS),
    )
    summary.write(out, f"{out.name}: {trainer.origin['model']}")
    if report:
        from zoo.report.text_page import write_text_report

        write_text_report(out)
    trainer.say("\n".join(summary.lines(out)))
    return summary
