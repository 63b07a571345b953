"""All that is settled before a run on text begins."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import engine
import zoo
from zoo.models.text_model import TextModel, expect_text
from zoo.registry import get_arch
from zoo.text.audit import audit_text
from zoo.text.blocks import Tokens, split
from zoo.text.corpus import Corpus, load_corpus
from zoo.text.errors import TokenizerError
from zoo.text.read import find_files, read_documents
from zoo.text.tokenizer import Tokenizer, byte_tokenizer, gpt2_tokenizer, load_tokenizer
from zoo.train.distributed import current_ranks
from zoo.train.errors import SettingsConflict
from zoo.train.out_folder import OutFolder
from zoo.train.samples import prompt_of
from zoo.train.text_config import TextConfig
from zoo.train.text_planning import TextPlan, make_text_plan
from zoo.train.text_recipes import plan_text_config
from zoo.train.text_task import make_ready

Sources = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
TokenizerLike = str | os.PathLike[str] | int | None


@dataclass
class TextStart:
    """What was settled; `network` has the adapters and frozen layers of the plan's settings."""

    network: TextModel
    train: Tokens
    val: Tokens
    plan: TextPlan
    folder: OutFolder
    origin: dict[str, Any]


def settle_text(
    model: str,
    data: Sources,
    weights: str,
    recipe: str | os.PathLike[str],
    tokenizer: TokenizerLike,
    out: str | os.PathLike[str] | None,
    options: Mapping[str, Any],
    say: Callable[[str], None],
    show_progress: bool,
    settings: Mapping[str, Any],
) -> TextStart:
    """All that `finetune_text` does before it trains; arguments and errors are its own.

    >>> settle_text("gpt2", "a.txt", "default", "auto", None, None, {}, print, False, {}).plan
    ... # doctest: +SKIP
    """
    TextConfig.from_dict(settings)  # refused before anything is looked at
    arch = get_arch(model)
    if weights != "none" and (tokenizer is not None or options):
        raise SettingsConflict(
            "a tokenizer and the sizes of the model can only be chosen for random weights; leave "
            "them out, or start from none"
        )
    files = find_files(data)
    config, chosen = plan_text_config(files, weights, recipe, settings, arch.config)
    named = [os.fspath(name) for name in ([data] if isinstance(data, str | os.PathLike) else data)]
    folder = OutFolder.choose(out, model, named[0])
    if config.threads:
        engine.set_num_threads(config.threads)
    sizes = dict(options)
    if weights == "none":
        own = _tokenizer(tokenizer, arch.config, files, config.bad_bytes)
        # Room in steps of 8, which matrix products like.
        sizes = {"vocab": -(-own.size // 8) * 8, **sizes}
    network = load_network(model, weights, config, sizes)
    if weights == "none":
        network.tokenizer = own
    if "block_size" not in {**chosen.settings, **settings}:  # nobody asked for more than fits
        config = replace(config, block_size=min(config.block_size, network.context))
    config = config.fitted(network.context)
    corpus, train, val = read_text(named, network.tokenizer, config, show_progress)
    ranks = current_ranks()
    ranks.agree("the text", corpus.fingerprint)
    audit = audit_text(corpus, train, val)
    say("\n".join(audit.lines()))
    origin = {
        "task": "text",
        "model": model,
        "weights": weights,
        "source": network.source,
        "model_config": asdict(network.config),
        "started_with": {"tokenizer": _plain(tokenizer), "options": dict(options)},
        "tokenizer": network.tokenizer.to_dict(),
        "data": {"fingerprint": corpus.fingerprint, "tokens": len(corpus.tokens)},
        "data_paths": [os.path.abspath(name) for name in named],
        "audit": audit.lines(),
        "recipe": chosen.name,
        "reasons": list(chosen.reasons),
        "prompt": config.sample or prompt_of(val, network),
    }
    say("\n".join(["", *chosen.lines(), ""]))
    make_ready(network, config)
    plan = make_text_plan(network, audit, config)
    # Which batches fit into a memory, each rank has measured.
    plan = replace(plan, config=TextConfig.from_dict(ranks.same(plan.config.to_dict())))
    return TextStart(network, train, val, plan, folder, origin)


def load_network(
    model: str, weights: str, config: TextConfig, options: Mapping[str, Any]
) -> TextModel:
    """The network of a run, with the run's dropout.

    Raises:
        SettingsConflict: it cannot be built with these sizes.
    """
    engine.manual_seed(config.seed)  # of the values that no weights set
    device = current_ranks().device(config.device)
    try:
        options = {**options, "dropout": config.dropout}
        return expect_text(zoo.load(model, weights, device=device, **options))
    except ValueError as error:
        if isinstance(error, zoo.LoadError | TokenizerError):
            raise
        raise SettingsConflict(f"{model} cannot be built so: {error}") from error


def read_text(
    data: Sources, tokenizer: Tokenizer, config: TextConfig, show_progress: bool
) -> tuple[Corpus, Tokens, Tokens]:
    """All tokens, those to train on and those to validate on."""
    corpus = load_corpus(data, tokenizer, bad_bytes=config.bad_bytes, show_progress=show_progress)
    return corpus, *split(corpus, config.val_fraction, config.seed, config.block_size)


def _tokenizer(
    wanted: TokenizerLike, arch: Any, files: Sequence[Path], bad_bytes: str
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


def _plain(tokenizer: TokenizerLike) -> str | None:
    return None if tokenizer is None else str(tokenizer)
