"""From what a person asks for to a finished run: `finetune` starts one, `resume` goes on with one.

Everything that can be refused is refused before work starts, in this order: settings, model name,
data folder, output folder, weights, pictures. Nothing is written until all of it is settled.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import engine
import hub
import zoo
from zoo import demo
from zoo.data import Fold, ImageSet, PreparedFolder, Preprocessing, prepare_folder
from zoo.errors import WrongTask
from zoo.models.image_model import expect_images
from zoo.report.record import Record
from zoo.stored import RUN_WEIGHTS
from zoo.train.budget import within_budget
from zoo.train.checkpoint import Checkpoints
from zoo.train.config import TrainConfig
from zoo.train.curves import draw_curves
from zoo.train.distributed import Ranks, current_ranks
from zoo.train.errors import DataChanged, NothingToResume, SettingsConflict, quoted
from zoo.train.label_report import LabelSummary, summary_of
from zoo.train.log import read_rows
from zoo.train.loop_config import LoopConfig, agreed
from zoo.train.metrics import peak_memory_bytes
from zoo.train.out_folder import OutFolder, alone_in
from zoo.train.picture_task import PictureTask
from zoo.train.planning import Plan, make_plan
from zoo.train.recipes import AUTO, plan_config
from zoo.train.report import Summary, rates_of, write_summary
from zoo.train.result import Result
from zoo.train.trainer import Trainer

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel
    from zoo.train.callbacks import Callback

Say = Callable[[str], None]
PathLike = str | os.PathLike[str]


def finetune(
    model: str,
    data: PathLike,
    *,
    weights: PathLike = "default",
    recipe: PathLike = AUTO,
    out: PathLike | None = None,
    strict: bool = False,
    report: bool = True,
    callbacks: Sequence[Callback] = (),
    say: Say = print,
    show_progress: bool = False,
    **settings: Any,
) -> Result:
    """Train `model` on the pictures under `data` and keep the best weights in `out`.

    Args:
        model: name of an architecture; see `zoo.list_models`.
        data: folder with a folder of pictures per class, or "demo" for the built-in digits.
        weights: "default", a card's name or a file's path; "none" starts from random ones.
        recipe: "linear", "finetune", "full", "scratch", the path of a TOML file, or "auto", which
            chooses from the data; see `zoo.train.recipes`.
        out: folder to write to, absent or empty; None takes the first free `runs/MODEL-N`.
        strict: refuse unreadable pictures instead of leaving them out.
        report: write `report.html` at the end; see zoo.report.
        callbacks: told what happens meanwhile; see `zoo.train.callbacks`.
        say: called with each line for people.
        show_progress: draw progress bars on the error stream, where that is a terminal.
        settings: fields of `TrainConfig` that shall differ from the recipe's.

    Raises:
        TrainError, zoo.data.DataError, hub.HubError, zoo.LoadError: each says what to do.

    >>> finetune("resnet20", "demo", out="run1", epochs=3).val_accuracy     # doctest: +SKIP
    0.98
    """
    ranks = current_ranks()
    say, show_progress = ranks.voice(say, show_progress)
    start = settle(model, data, weights, recipe, out, strict, say, show_progress, settings)
    say("\n".join([*start.plan.lines(), *ranks.lines(), f"Results go to {start.folder.path}", ""]))
    with ranks.folder(start.folder) as path:
        trainer = _trainer(
            start.network,
            start.prepared,
            start.plan.config,
            path,
            start.origin,
            say,
            show_progress,
            callbacks,
            ranks,
        )
        trainer.fit()
    return _finish(trainer, start.prepared, report)


def plan(
    model: str,
    data: PathLike,
    *,
    weights: PathLike = "default",
    recipe: PathLike = AUTO,
    out: PathLike | None = None,
    strict: bool = False,
    say: Say = print,
    show_progress: bool = False,
    **settings: Any,
) -> Plan:
    """What `finetune` with the same arguments is going to do: all that is done before training, and
    no more. Writes nothing, but for the cache folder.

    Raises:
        TrainError, zoo.data.DataError, hub.HubError, zoo.LoadError: as `finetune`.

    >>> plan("resnet50", "pets").seconds     # doctest: +SKIP
    412.0
    """
    start = settle(model, data, weights, recipe, out, strict, say, show_progress, settings)
    say("\n".join([*start.plan.lines(), "Nothing was written, and nothing was trained."]))
    return start.plan


@dataclass
class Start:
    """All that is settled before a run begins."""

    network: ImageModel
    prepared: PreparedFolder
    plan: Plan
    folder: OutFolder
    origin: dict[str, Any]


def settle(
    model: str,
    data: PathLike,
    weights: PathLike,
    recipe: PathLike,
    out: PathLike | None,
    strict: bool,
    say: Say,
    show_progress: bool,
    settings: Mapping[str, Any],
) -> Start:
    """All that `finetune` does before it trains; arguments and errors are its own.

    >>> settle("resnet20", "demo", "default", "auto", None, False, print, False, {}).plan.config
    ... # doctest: +SKIP
    """
    data = os.fspath(data)
    ranks = current_ranks()
    TrainConfig.from_dict(settings)  # refused before anything is looked at
    if zoo.registry.get_arch(model).config.task == "text-generation":
        raise WrongTask(
            f"{model} is a language model, and this trains on pictures. For text, type: "
            f"zoo.finetune_text({model!r}, {os.fspath(data)!r})"
        )
    config, chosen, expected_classes = plan_config(data, weights, recipe, settings)
    folder = OutFolder.choose(out, model, data)
    if config.threads:
        engine.set_num_threads(config.threads)
    network = _load(model, weights, expected_classes, config)
    prepared = ranks.first(lambda: _prepare(data, config, strict, show_progress))
    ranks.agree("the pictures", prepared.audit.fingerprint)
    say("\n".join(prepared.audit.lines()))
    classes = prepared.train.classes
    if len(classes) != expected_classes:  # none of a class's pictures could be read
        network = _load(model, weights, len(classes), config)
    network.classes = classes
    network.thresholds = _thresholds(prepared)
    network.preprocessing = _sized(network.preprocessing, config.size)
    origin = {
        "model": model,
        "weights": os.fspath(weights),
        "source": network.source,
        "data": {"fingerprint": prepared.audit.fingerprint, "pictures": _count(prepared)},
        "data_path": data if data == demo.NAME else os.path.abspath(data),
        "strict": strict,
        "recipe": chosen.name,
        "reasons": list(chosen.reasons),
        "classes": list(classes),
        "preprocessing": network.preprocessing.to_dict(),
    }
    say("\n".join(["", *chosen.lines(), ""]))
    plan = within_budget(make_plan(network, prepared, config), network, prepared)
    # How many epochs fit into a time, and which batches into a memory, each rank has measured.
    plan = replace(plan, config=TrainConfig.from_dict(ranks.same(plan.config.to_dict())))
    return Start(network, prepared, plan, folder, origin)


def resume(
    run: PathLike,
    *,
    data: PathLike | None = None,
    expected: Mapping[str, Any] | None = None,
    report: bool = True,
    callbacks: Sequence[Callback] = (),
    say: Say = print,
    show_progress: bool = False,
) -> Result:
    """Go on with a run from its newest whole checkpoint, as if it had never stopped.

    Args:
        run: its folder.
        data: where the pictures are now; None looks where they were. They must be the same ones.
        expected: settings, "model" or "weights" that are meant to hold. Those that have no
            influence on the weights (threads, save_every, ...) are taken over; others must agree.
        report, callbacks, say, show_progress: as for `finetune`.

    Raises:
        NothingToResume, SettingsConflict, DataChanged, ForeignCheckpoint: as they say; and what
            `finetune` raises.

    >>> resume("run1").val_accuracy     # doctest: +SKIP
    0.98
    """
    ranks = current_ranks()
    say, show_progress = ranks.voice(say, show_progress)
    folder = Path(run)
    checkpoint = Checkpoints(folder / "last").newest()
    if checkpoint is None:
        raise NothingToResume(
            f"{folder}: no checkpoint to go on from. Expected the folder of a run that "
            "`zoo finetune` began.\nTo start a run, type: zoo finetune MODEL --data DIR"
        )
    origin = checkpoint.origin("model", "weights", "data", "data_path", "strict")
    config = agreed(checkpoint.settings(TrainConfig), origin, expected or {})
    if config.threads:
        engine.set_num_threads(config.threads)
    with checkpoint.understood():
        network = _load(origin["model"], None, len(origin["classes"]), config)
        network.classes = tuple(origin["classes"])
        network.preprocessing = Preprocessing.from_dict(origin["preprocessing"])
    where = origin["data_path"] if data is None else os.fspath(data)
    prepared = ranks.first(lambda: _prepare(where, config, origin["strict"], show_progress))
    _check_same(prepared, where, folder, origin)
    network.thresholds = _thresholds(prepared)
    ranks.agree("the checkpoints", checkpoint.path.name)
    trainer = _trainer(
        network, prepared, config, folder, origin, say, show_progress, callbacks, ranks
    )
    with alone_in(folder) if ranks.rank == 0 else nullcontext():
        trainer.go_on(checkpoint)
    return _finish(trainer, prepared, report)


def _load(model: str, weights: PathLike | None, classes: int, config: TrainConfig) -> ImageModel:
    """The network with a last layer for `classes` classes, where it is to be trained."""
    engine.manual_seed(config.seed)  # of the values that no weights set
    device = current_ranks().device(config.device)
    return expect_images(zoo.load(model, weights, classes, device=device))


def _thresholds(prepared: PreparedFolder) -> tuple[float, ...] | None:
    """What to start with; training finds better ones."""
    return (0.5,) * len(prepared.train.classes) if prepared.train.several else None


def _prepare(data: str, config: TrainConfig, strict: bool, show_progress: bool) -> PreparedFolder:
    fold = Fold(config.fold, config.folds) if config.folds else None
    if data == demo.NAME:
        return demo.prepare_digits(val_fraction=config.val_fraction, seed=config.seed, fold=fold)
    return prepare_folder(
        data,
        val_fraction=config.val_fraction,
        seed=config.seed,
        fold=fold,
        strict=strict,
        threads=config.threads or None,
        progress=show_progress,
    )


def _check_same(
    prepared: PreparedFolder, where: str, folder: Path, origin: Mapping[str, Any]
) -> None:
    """Raise DataChanged unless these are the pictures that the run in `folder` began with."""
    if prepared.audit.fingerprint != origin["data"]["fingerprint"]:
        raise DataChanged(
            f"{where}: these are not the pictures that {folder} was started with "
            f"({_count(prepared)} now, {origin['data']['pictures']} then). Expected the same "
            "files in the same classes.\nRestore them, say where they are with --data DIR, or "
            f"start anew: zoo finetune {origin['model']} --data {quoted(where)}"
        )


def _count(prepared: PreparedFolder) -> int:
    return len(prepared.train) + len(prepared.val)


def _sized(preprocessing: Preprocessing, size: int) -> Preprocessing:
    """`preprocessing` for a square of `size` pixels that shows as much of the picture; 0: as is."""
    if size == 0:
        return preprocessing
    margin = preprocessing.resize / preprocessing.size
    return replace(preprocessing, size=size, resize=round(size * margin))


def _trainer(
    network: ImageModel,
    prepared: PreparedFolder,
    config: TrainConfig,
    out: Path,
    origin: dict[str, Any],
    say: Say,
    show_progress: bool,
    callbacks: Sequence[Callback],
    ranks: Ranks,
) -> Trainer:
    ranks.set_timeout(config.rank_timeout)
    task = PictureTask(network, prepared.train, prepared.val, config, ranks)
    return Trainer(task, config, out, origin, say, show_progress, callbacks)


def _finish(trainer: Trainer, prepared: PreparedFolder, report: bool) -> Result:
    """Write `summary.json`, `curves.png` and `report.html`, and say how it went: rank 0 does, and
    tells the others."""
    ranks = trainer.ranks
    summary = _conclude(trainer, prepared, report) if ranks.rank == 0 else None
    if ranks.size > 1:
        summary = summary_of(ranks.same(summary and asdict(summary)))
    assert summary is not None
    return Result(trainer.out, summary)


def _conclude(trainer: Trainer, prepared: PreparedFolder, report: bool) -> Summary | LabelSummary:
    done, out = trainer.progress, trainer.out
    best = done.best
    assert best is not None  # there is at least one epoch
    common: dict[str, Any] = {
        "val_loss": best.metrics["val_loss"],
        "epochs": done.epoch,
        "best_epoch": best.epoch,
        "seconds": done.seconds,
        "peak_memory_bytes": peak_memory_bytes(),
        "skipped_steps": done.skipped,
        "classes": tuple(trainer.origin["classes"]),
        "weights_sha256": hub.sha256_file(out / RUN_WEIGHTS),
        **rates_of(read_rows(out / "metrics.jsonl")),
    }
    summary: Summary | LabelSummary
    if prepared.train.several:
        summary = LabelSummary.of(best, common)
    else:
        summary = Summary(
            val_accuracy=best.metrics["val_accuracy"],
            class_accuracy=tuple((right, count) for right, count in best.details["per_class"]),
            **common,
        )
    write_summary(out, summary)
    title = f"{out.name}: {trainer.origin['model']} on {len(summary.classes)} classes"
    with hub.atomic_file(out / "curves.png") as file:
        draw_curves(read_rows(out / "metrics.jsonl"), file, title)
    if report:
        _write_report(out, prepared, trainer.config, trainer.show_progress)
    trainer.say("\n".join(summary.lines(out, trainer.task.notes())))
    return summary


def write_page(
    run: PathLike,
    *,
    data: PathLike | None = None,
    threads: int | None = None,
    show_progress: bool = False,
) -> Path:
    """Write `report.html` into the folder of a finished run, anew.

    Args:
        run: its folder.
        data: where the pictures are now; None looks where they were. They must be the same ones.
        threads: CPU threads; None takes one per CPU.
        show_progress: as for `finetune`.

    Raises:
        NotARun, DataChanged: as they say; and what `finetune` raises of the pictures.

    >>> write_page("run1")     # doctest: +SKIP
    PosixPath('run1/report.html')
    """
    record = Record.read(run)
    if not isinstance(record.config, TrainConfig):
        from zoo.report.text_page import write_text_report

        if data is not None:
            raise SettingsConflict(
                f"data: the page of {record.folder}, a run on text, needs none; leave out --data"
            )
        return write_text_report(record.folder)
    config = replace(record.config, threads=threads or 0)
    if config.threads:
        engine.set_num_threads(config.threads)
    prepared = _pictures_of(record, config, data, show_progress)
    return _write_report(record.folder, prepared, config, show_progress)


def validation_of(run: PathLike) -> ImageSet:
    """The pictures that validated a finished run.

    Raises:
        NotARun, DataChanged: as they say; and what `finetune` raises of the pictures.
        WrongTask: it is a run on text.

    >>> len(validation_of("run1"))     # doctest: +SKIP
    359
    """
    record = Record.read(run)
    if not isinstance(record.config, TrainConfig):
        raise WrongTask(f"{record.folder}: a run on text; no pictures validated it")
    return _pictures_of(record, record.config, None, False).val


def _pictures_of(
    record: Record, config: TrainConfig, data: PathLike | None, show_progress: bool
) -> PreparedFolder:
    """The pictures of a finished run, which must be those that it began with."""
    origin = record.origin
    where = origin["data_path"] if data is None else os.fspath(data)
    prepared = _prepare(where, config, origin["strict"], show_progress)
    _check_same(prepared, where, record.folder, origin)
    return prepared


def _write_report(
    folder: Path, prepared: PreparedFolder, config: LoopConfig, show_progress: bool
) -> Path:
    from zoo.report.label_page import write_label_report
    from zoo.report.page import write_report

    write = write_label_report if prepared.val.several else write_report
    return write(
        folder,
        prepared.val,
        prepared.audit,
        threads=config.threads or None,
        show_progress=show_progress,
    )
