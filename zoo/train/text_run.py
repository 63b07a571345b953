"""From text to a finished run: `finetune_text` starts one, `resume_text` goes on with one.

Everything that can be refused is refused before work starts, in this order: settings, model name,
text files, output folder, weights, text. Nothing is written until all of it is settled.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import engine
import hub
import zoo
from zoo.models.text_model import TextModel, expect_text
from zoo.registry import get_arch
from zoo.stored import RUN_WEIGHTS
from zoo.text.blocks import Tokens, split
from zoo.text.corpus import Corpus, load_corpus
from zoo.text.errors import TokenizerError
from zoo.text.perplexity import perplexity_of, text_loss
from zoo.text.read import find_files, read_documents
from zoo.text.tokenizer import Tokenizer, byte_tokenizer, gpt2_tokenizer, load_tokenizer
from zoo.train.callbacks import Callback
from zoo.train.checkpoint import Checkpoint, Checkpoints
from zoo.train.distributed import Ranks, current_ranks
from zoo.train.errors import DataChanged, SettingsConflict
from zoo.train.log import MetricsLog
from zoo.train.loop_config import agreed
from zoo.train.metrics import peak_memory_bytes
from zoo.train.out_folder import OutFolder, alone_in
from zoo.train.text_config import TextConfig, text_config
from zoo.train.text_report import TextSummary
from zoo.train.text_task import TextTask
from zoo.train.trainer import Trainer

if TYPE_CHECKING:
    from zoo.train.run import Say

Sources = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

SAMPLE_TOKENS = 60  # of each sample that is printed
_PROMPT_TOKENS = 12  # of validation text that samples go on from


def finetune_text(
    model: str,
    data: Sources,
    *,
    weights: str | os.PathLike[str] = "default",
    tokenizer: str | os.PathLike[str] | int | None = None,
    out: str | os.PathLike[str] | None = None,
    options: Mapping[str, Any] | None = None,
    lora: bool = False,
    say: Say = print,
    show_progress: bool = False,
    **settings: Any,
) -> TextSummary:
    """Train a language model on text and keep the best weights in `out`.

    Args:
        model: name of an architecture; see `zoo.list_models`.
        data: files, folders or patterns; see zoo.text.read for what may be in them.
        weights: "default", a card's name or a file's path; "none" starts from random ones.
        tokenizer: for random weights: "gpt2", "bytes", a folder or tokenizer.json, or the size of
            a vocabulary to be found in the text; None for one of the model's size.
        out: folder to write to, absent or empty; None takes the first free `runs/MODEL-N`.
        options: fields of the model's configuration to change, for random weights.
        lora: train adapters, with the settings that suit them.
        say: called with each line for people.
        show_progress: draw progress bars on the error stream, where that is a terminal.
        settings: fields of `TextConfig` that shall differ from the defaults.

    Raises:
        TrainError, zoo.text.errors.TextError, hub.HubError, zoo.LoadError: each says what to do.

    >>> finetune_text("gpt2", "book.txt", lora=True).val_perplexity      # doctest: +SKIP
    21.3
    """
    ranks = current_ranks()
    say, show_progress = ranks.voice(say, show_progress)
    weights = os.fspath(weights)
    config = text_config(pretrained=weights != "none", lora=lora, **settings)
    arch = get_arch(model)
    options = dict(options or {})
    if weights != "none" and (tokenizer is not None or options):
        raise SettingsConflict(
            "a tokenizer and the sizes of the model can only be chosen for random weights; leave "
            "them out, or start from none"
        )
    files = find_files(data)
    given = [data] if isinstance(data, str | os.PathLike) else data
    named = [os.fspath(source) for source in given]
    folder = OutFolder.choose(out, model, named[0])
    if config.threads:
        engine.set_num_threads(config.threads)
    if weights == "none":
        chosen = _tokenizer(tokenizer, arch.config, files, config.bad_bytes)
        # Room in steps of 8, which matrix products like.
        options = {"vocab": -(-chosen.size // 8) * 8, **options}
    network = _load(model, weights, config, options)
    if weights == "none":
        network.tokenizer = chosen
    config = config.fitted(network.context)
    corpus, train, val = _data(named, network.tokenizer, config, show_progress)
    say("\n".join(corpus.lines()))
    prompt = config.sample or _prompt(val, network)
    origin: dict[str, Any] = {
        "task": "text",
        "model": model,
        "weights": weights,
        "source": network.source,
        "model_config": asdict(network.config),
        "tokenizer": network.tokenizer.to_dict(),
        "data": {"fingerprint": corpus.fingerprint, "tokens": len(corpus.tokens)},
        "data_paths": [os.path.abspath(name) for name in named],
        "prompt": prompt,
    }
    ranks.agree("the text", corpus.fingerprint)
    say("\n".join([_plan(network, train, val, config, folder.path), *ranks.lines()]))
    ranks.set_timeout(config.rank_timeout)
    task = TextTask(network, train, val, config, ranks)
    if weights != "none":
        origin["before"] = _score(network, val, config, prompt, ranks)
        say(
            f"Before training: validation perplexity {origin['before']['perplexity']:.2f}\n"
            + _shown(origin["before"]["sample"])
        )
    with ranks.folder(folder):
        trainer = _trainer(task, config, folder.path, origin, say, show_progress)
        trainer.fit()
    return _finish(trainer)


def resume_text(
    run: str | os.PathLike[str],
    checkpoint: Checkpoint,
    *,
    data: Sources | None = None,
    expected: Mapping[str, Any] | None = None,
    say: Say = print,
    show_progress: bool = False,
) -> TextSummary:
    """Go on with a run on text from a checkpoint of it, as if it had never stopped.

    Args:
        run: its folder.
        checkpoint: the newest whole one.
        data: where the text is now; None looks where it was. It must be the same text.
        expected: settings, "model" or "weights" that are meant to hold; see `zoo.train.resume`.
        say, show_progress: as for `finetune_text`.

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
        network = _load(origin["model"], "none", config, origin["model_config"])
        network.tokenizer = Tokenizer.from_dict(origin["tokenizer"], str(checkpoint.path))
        network.source = origin["source"]
    where: Sources = origin["data_paths"] if data is None else data
    corpus, train, val = _data(where, network.tokenizer, config, show_progress)
    if corpus.fingerprint != origin["data"]["fingerprint"]:
        raise DataChanged(
            f"{where}: this is not the text that {folder} was started with ({len(corpus.tokens)} "
            f"tokens now, {origin['data']['tokens']} then). Restore it, say where it is with "
            f"--data, or start anew: zoo finetune {origin['model']} --data TEXT"
        )
    ranks.agree("the checkpoints", checkpoint.path.name)
    ranks.set_timeout(config.rank_timeout)
    task = TextTask(network, train, val, config, ranks)
    trainer = _trainer(task, config, folder, origin, say, show_progress)
    with alone_in(folder) if ranks.rank == 0 else nullcontext():
        trainer.go_on(checkpoint)
    return _finish(trainer)


def _load(model: str, weights: str, config: TextConfig, options: Mapping[str, Any]) -> TextModel:
    engine.manual_seed(config.seed)  # of the values that no weights set
    try:
        return expect_text(zoo.load(model, weights, **{**options, "dropout": config.dropout}))
    except ValueError as error:
        if isinstance(error, zoo.LoadError | TokenizerError):
            raise
        raise SettingsConflict(f"{model} cannot be built so: {error}") from error


def _tokenizer(
    wanted: str | os.PathLike[str] | int | None, arch: Any, files: Sequence[Path], bad_bytes: str
) -> Tokenizer:
    """The tokenizer for a model that starts from random weights."""
    if wanted is None:
        wanted = "gpt2" if arch.vocab >= gpt2_tokenizer().size else arch.vocab
    if isinstance(wanted, str) and wanted.isdigit():
        wanted = int(wanted)
    if wanted == "gpt2":
        return gpt2_tokenizer()
    if wanted == "bytes":
        return byte_tokenizer()
    if isinstance(wanted, int):
        from zoo.text.bpe import train_bpe

        texts = (
            document.prompt + document.text
            for path in files
            for document in read_documents(path, path.read_bytes(), bad_bytes)
        )
        return train_bpe(texts, wanted)
    return load_tokenizer(Path(wanted))


def _data(
    data: Sources, tokenizer: Tokenizer, config: TextConfig, show_progress: bool
) -> tuple[Corpus, Tokens, Tokens]:
    corpus = load_corpus(data, tokenizer, bad_bytes=config.bad_bytes, show_progress=show_progress)
    return corpus, *split(corpus, config.val_fraction, config.seed, config.block_size)


def _prompt(val: Tokens, network: TextModel) -> str:
    """The beginning of the validation text, cut to whole characters."""
    tokens = val.tokens[: min(_PROMPT_TOKENS, len(val) - 1, network.context // 2)]
    text = network.tokenizer.decode(t for t in tokens if t != network.tokenizer.end)
    return text.replace("\ufffd", "") or " "


def _plan(network: TextModel, train: Tokens, val: Tokens, config: TextConfig, out: Path) -> str:
    block = min(config.block_size, len(train) - 1)
    shorter = (
        "" if block == config.block_size else f" (the text is shorter than {block + 1} tokens)"
    )
    return "\n".join(
        [
            "",
            f"{network.arch}, {network.num_parameters:,} parameters, starting from "
            f"{network.source['name']}",
            *network.notices,
            f"{len(train):,} tokens to train on, {len(val):,} to validate on",
            f"{config.epochs} epoch{'s' if config.epochs > 1 else ''}, blocks of {block} tokens"
            f"{shorter}, {config.batch_size * config.accumulation} a step, AdamW with learning "
            f"rate {config.lr:g}",
            *(
                [f"LoRA of rank {config.lora_rank} beside {config.lora_targets}"]
                if config.lora_rank
                else []
            ),
            f"Results go to {out}",
            "",
        ]
    )


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


def sample_of(network: TextModel, prompt: str, seed: int) -> str:
    """A prompt and how the model goes on from it; the same for the same seed."""
    tokens = network.tokenizer.encode(prompt)
    most = min(SAMPLE_TOKENS, network.context - len(tokens))
    if most < 1:
        return prompt
    return prompt + network.complete([prompt], max_tokens=most, seed=seed)[0].text


class _Samples(Callback):
    """After each epoch, how the model goes on from the run's prompt; kept in `samples.jsonl`."""

    def on_start(self, trainer: Trainer) -> None:
        self._log = MetricsLog(trainer.out / "samples.jsonl")
        self._log.keep(lambda row: row["epoch"] <= trainer.progress.epoch)

    def on_epoch(self, trainer: Trainer, row: dict[str, Any]) -> None:
        seed = getattr(trainer.config, "seed", 0)
        network = expect_text(trainer.model)  # type: ignore[arg-type]
        sample = sample_of(network, trainer.origin["prompt"], seed)
        self._log.append({"epoch": row["epoch"], "text": sample})
        trainer.say(_shown(sample))

    def on_save(self, trainer: Trainer) -> None:
        self._log.sync()

    def on_end(self, trainer: Trainer) -> None:
        self._log.close()


def _shown(sample: str) -> str:
    sample = re.sub(r"\n\s*\n", "\n\n", sample)  # some models say little else than line feeds
    return "\n".join(f"    | {line}" for line in sample.split("\n"))


def _trainer(
    task: TextTask,
    config: TextConfig,
    out: Path,
    origin: dict[str, Any],
    say: Say,
    show_progress: bool,
) -> Trainer:
    return Trainer(task, config, out, origin, say, show_progress, callbacks=[_Samples()])


def newest_text_checkpoint(run: str | os.PathLike[str]) -> Checkpoint | None:
    """The newest whole checkpoint of a run, if that run is on text."""
    found = Checkpoints(Path(run) / "last").newest()
    return found if found and found.origin().get("task") == "text" else None


def _finish(trainer: Trainer) -> TextSummary:
    """Write `summary.json` and `curves.png`, and say how it went: rank 0 does, and tells the
    others."""
    ranks = trainer.ranks
    summary = _conclude(trainer) if ranks.rank == 0 else None
    if ranks.size > 1:
        summary = TextSummary(**ranks.same(summary and asdict(summary)))
    assert summary is not None
    return summary


def _conclude(trainer: Trainer) -> TextSummary:
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
    trainer.say("\n".join(summary.lines(out)))
    return summary
