"""What a run on text is going to do, said before it does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zoo.placement import device_of
from zoo.text.audit import TextAudit
from zoo.train.planning import Forecast, to_fit
from zoo.train.text_config import TextConfig
from zoo.train.text_estimate import TextEstimate, estimate_text

if TYPE_CHECKING:
    from zoo.models.text_model import TextModel


@dataclass(frozen=True)
class TextPlan(Forecast):
    """What a run on text is going to do.

    Attributes:
        audit: of the text.
        config: the settings; batches are smaller than asked for where they would not fit.
        estimate: what was measured.
    """

    audit: TextAudit
    config: TextConfig
    estimate: TextEstimate


def make_text_plan(network: TextModel, audit: TextAudit, config: TextConfig) -> TextPlan:
    """Measure a few steps and say what a run comes to; the network is left as it was.

    Args:
        network: with the adapters and frozen layers that the configuration asks for.
        audit: of the text.
        config: as `TextConfig.fitted` gives it.

    >>> print(*make_text_plan(model, audit, config).lines(), sep="\\n")     # doctest: +SKIP
    """
    found = estimate_text(network, audit.train, config)
    config, notes = to_fit(
        found,
        config,
        audit.train,
        device_of(network),
        least=1,
        too_large="Even batches of one block may not fit into the {free} of memory that are free. "
        "Take a smaller model, adapters (--recipe lora), shorter blocks (--block-size) or "
        "--checkpointing on.",
        cost="as many tokens a step as before",
    )
    return TextPlan(
        seconds=found.seconds(config, audit.train, audit.val),
        memory=found.memory(config.batch_size, audit.train),
        description=described_text(network, config, audit.train),
        notes=tuple(notes),
        audit=audit,
        config=config,
        estimate=found,
    )


def described_text(network: TextModel, config: TextConfig, tokens: int) -> tuple[str, ...]:
    """What is going to be trained and how, one string a line.

    >>> described_text(model, TextConfig(), 10_000)[-1]      # doctest: +SKIP
    '3 epochs, blocks of 256 tokens, 4 a step, AdamW with learning rate 5e-05'
    """
    block = min(config.block_size, tokens - 1)
    shorter = (
        "" if block == config.block_size else f" (the text is shorter than {block + 1} tokens)"
    )
    trained = sum(p.size for p in network.parameters() if p.requires_grad)
    lines = [
        f"{network.arch}, {network.num_parameters:,} parameters, starting from "
        f"{network.source['name']}",
        *network.notices,
        f"{config.epochs} epoch{'s' if config.epochs > 1 else ''}, blocks of {block} tokens"
        f"{shorter}, {config.batch_size * config.accumulation} a step, AdamW with learning rate "
        f"{config.lr:g}",
    ]
    if config.lora_rank:
        lines.append(
            f"LoRA of rank {config.lora_rank} beside {config.lora_targets}: {trained:,} parameters "
            "are trained"
        )
    elif config.freeze_layers:
        lines.append(
            f"The embeddings and the first {config.freeze_layers} blocks stand still: {trained:,} "
            "parameters are trained"
        )
    return tuple(lines)
