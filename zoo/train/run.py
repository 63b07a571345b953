"""From what a person asks for to a finished run: `finetune` starts one, `resume` goes on with one.

Everything that can be refused is refused before work starts, in this order: settings, model name,
data folder, output folder, weights, pictures. Nothing is written until all of it is settled.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import engine
import hub
import zoo
from zoo import demo
from zoo.data import PreparedFolder, Preprocessing, prepare_folder, scan
from zoo.models.image_model import expect_images
from zoo.stored import RUN_WEIGHTS
from zoo.train.checkpoint import Checkpoints
from zoo.train.config import TrainConfig, default_config
from zoo.train.curves import draw_curves
from zoo.train.errors import DataChanged, NothingToResume, SettingsConflict, quoted
from zoo.train.log import read_rows
from zoo.train.metrics import peak_memory_bytes
from zoo.train.out_folder import OutFolder
from zoo.train.picture_task import PictureTask
from zoo.train.report import Summary
from zoo.train.trainer import Trainer

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel

Say = Callable[[str], None]
PathLike = str | os.PathLike[str]


def finetune(
    model: str,
    data: PathLike,
    *,
    weights: PathLike = "default",
    out: PathLike | None = None,
    strict: bool = False,
    say: Say = print,
    show_progress: bool = False,
    **settings: Any,
) -> Summary:
    """Train `model` on the pictures under `data` and keep the best weights in `out`.

    Args:
        model: name of an architecture; see `zoo.list_models`.
        data: folder with a folder of pictures per class, or "demo" for the built-in digits.
        weights: "default", a card's name or a file's path; "none" starts from random ones.
        out: folder to write to, absent or empty; None takes the first free `runs/MODEL-N`.
        strict: refuse unreadable pictures instead of leaving them out.
        say: called with each line for people.
        show_progress: draw progress bars on the error stream, where that is a terminal.
        settings: fields of `TrainConfig` that shall differ from the defaults.

    Raises:
        TrainError, zoo.data.DataError, hub.HubError, zoo.LoadError: each says what to do.

    >>> finetune("resnet20", "demo", out="run1", epochs=3).val_accuracy     # doctest: +SKIP
    0.98
    """
    data = os.fspath(data)
    if data == demo.NAME:
        settings = {**demo.SETTINGS, **settings}
    config = default_config(pretrained=weights != "none", **settings)
    zoo.registry.check_name(model)
    expected_classes = 10 if data == demo.NAME else len(scan(data).classes)
    folder = OutFolder.choose(out, model, data)
    if config.threads:
        engine.set_num_threads(config.threads)
    network = _load(model, weights, expected_classes, config.seed)
    prepared = _prepare(data, config, strict, show_progress)
    say("\n".join(prepared.audit.lines()))
    classes = prepared.train.classes
    if len(classes) != expected_classes:  # none of a class's pictures could be read
        network = _load(model, weights, len(classes), config.seed)
    network.classes = classes
    network.preprocessing = _sized(network.preprocessing, config.size)
    origin = {
        "model": model,
        "weights": os.fspath(weights),
        "source": network.source,
        "data": {"fingerprint": prepared.audit.fingerprint, "pictures": _count(prepared)},
        "data_path": data if data == demo.NAME else os.path.abspath(data),
        "strict": strict,
        "classes": list(classes),
        "preprocessing": network.preprocessing.to_dict(),
    }
    say(_plan(network, config, folder.path))
    with folder:
        trainer = _trainer(network, prepared, config, folder.path, origin, say, show_progress)
        trainer.fit()
    return _finish(trainer)


def resume(
    run: PathLike,
    *,
    data: PathLike | None = None,
    expected: Mapping[str, Any] | None = None,
    say: Say = print,
    show_progress: bool = False,
) -> Summary:
    """Go on with a run from its newest whole checkpoint, as if it had never stopped.

    Args:
        run: its folder.
        data: where the pictures are now; None looks where they were. They must be the same ones.
        expected: settings, "model" or "weights" that are meant to hold. Those that have no
            influence on the weights (threads, save_every, ...) are taken over; others must agree.
        say, show_progress: as for `finetune`.

    Raises:
        NothingToResume, SettingsConflict, DataChanged: as they say; and what `finetune` raises.

    >>> resume("run1").val_accuracy     # doctest: +SKIP
    0.98
    """
    folder = Path(run)
    checkpoint = Checkpoints(folder / "last").newest()
    if checkpoint is None:
        raise NothingToResume(
            f"{folder}: no checkpoint to go on from. Expected the folder of a run that "
            "`zoo finetune` began.\nTo start a run, type: zoo finetune MODEL --data DIR"
        )
    origin = checkpoint.state["origin"]
    config = _agreed(TrainConfig.from_dict(checkpoint.state["config"]), origin, expected or {})
    if config.threads:
        engine.set_num_threads(config.threads)
    network = expect_images(zoo.load(origin["model"], None, len(origin["classes"])))
    network.classes = tuple(origin["classes"])
    network.preprocessing = Preprocessing.from_dict(origin["preprocessing"])
    where = origin["data_path"] if data is None else os.fspath(data)
    prepared = _prepare(where, config, origin["strict"], show_progress)
    if prepared.audit.fingerprint != origin["data"]["fingerprint"]:
        raise DataChanged(
            f"{where}: these are not the pictures that {folder} was started with "
            f"({_count(prepared)} now, {origin['data']['pictures']} then). Expected the same "
            "files in the same classes.\nRestore them, say where they are with --data DIR, or "
            f"start anew: zoo finetune {origin['model']} --data {quoted(where)}"
        )
    trainer = _trainer(network, prepared, config, folder, origin, say, show_progress)
    trainer.restore(checkpoint)
    done = trainer.progress
    say(
        f"Resuming {folder} after step {done.step} of {trainer.total_steps}, "
        f"{done.epoch} of {config.epochs} epochs complete"
    )
    trainer.fit()
    return _finish(trainer)


def _load(model: str, weights: PathLike, classes: int, seed: int) -> ImageModel:
    """The network with a last layer for `classes` classes."""
    engine.manual_seed(seed)  # of the values that no weights set
    return expect_images(zoo.load(model, weights, classes))


def _prepare(data: str, config: TrainConfig, strict: bool, show_progress: bool) -> PreparedFolder:
    if data == demo.NAME:
        return demo.prepare_digits(val_fraction=config.val_fraction, seed=config.seed)
    return prepare_folder(
        data,
        val_fraction=config.val_fraction,
        seed=config.seed,
        strict=strict,
        threads=config.threads or None,
        progress=show_progress,
    )


def _count(prepared: PreparedFolder) -> int:
    return len(prepared.train) + len(prepared.val)


def _sized(preprocessing: Preprocessing, size: int) -> Preprocessing:
    """`preprocessing` for a square of `size` pixels that shows as much of the picture; 0: as is."""
    if size == 0:
        return preprocessing
    margin = preprocessing.resize / preprocessing.size
    return replace(preprocessing, size=size, resize=round(size * margin))


def _agreed(
    config: TrainConfig, origin: Mapping[str, Any], expected: Mapping[str, Any]
) -> TrainConfig:
    """The run's settings, with those taken over that may change.

    Raises:
        SettingsConflict: another setting differs.
    """
    own = {"model": origin["model"], "weights": origin["weights"], **config.to_dict()}
    free = {f.name for f in fields(TrainConfig) if f.metadata["free"]}
    differing = {k: v for k, v in expected.items() if k not in free and own[k] != v}
    if differing:
        listed = ", ".join(f"{k} is {own[k]}, not {v}" for k, v in differing.items())
        raise SettingsConflict(
            f"a resumed run keeps its settings: {listed}. Leave these out, or start a new run "
            "without --resume."
        )
    return replace(config, **{k: v for k, v in expected.items() if k in free})


def _trainer(
    network: ImageModel,
    prepared: PreparedFolder,
    config: TrainConfig,
    out: Path,
    origin: dict[str, Any],
    say: Say,
    show_progress: bool,
) -> Trainer:
    task = PictureTask(network, prepared.train, prepared.val, config)
    return Trainer(task, config, out, origin, say, show_progress)


def _plan(network: ImageModel, config: TrainConfig, out: Path) -> str:
    side = network.preprocessing.size
    return "\n".join(
        [
            "",
            f"{network.arch}, {network.num_parameters / 1e6:.1f} million parameters, starting "
            f"from {network.source['name']}",
            *network.notices,
            f"{config.epochs} epoch{'s' if config.epochs > 1 else ''}, batches of "
            f"{config.batch_size}, {side}x{side} pixels, {config.optimizer} with learning rate "
            f"{config.lr:g}",
            f"Results go to {out}",
            "",
        ]
    )


def _finish(trainer: Trainer) -> Summary:
    """Write `summary.json` and `curves.png`, and say how it went."""
    done, out = trainer.progress, trainer.out
    best = done.best
    assert best is not None  # there is at least one epoch
    summary = Summary(
        val_accuracy=best.metrics["val_accuracy"],
        val_loss=best.metrics["val_loss"],
        epochs=done.epoch,
        best_epoch=best.epoch,
        seconds=done.seconds,
        images_per_second=done.seen / done.train_seconds,
        peak_memory_bytes=peak_memory_bytes(),
        skipped_steps=done.skipped,
        classes=tuple(trainer.origin["classes"]),
        class_accuracy=tuple((right, count) for right, count in best.details["per_class"]),
        weights_sha256=hub.sha256_file(out / RUN_WEIGHTS),
    )
    with hub.atomic_file(out / "summary.json") as file:
        file.write(summary.to_json().encode())
    title = f"{out.name}: {trainer.origin['model']} on {len(summary.classes)} classes"
    with hub.atomic_file(out / "curves.png") as file:
        draw_curves(read_rows(out / "metrics.jsonl"), file, title)
    trainer.say("\n".join(summary.lines(out, trainer.task.notes())))
    return summary
