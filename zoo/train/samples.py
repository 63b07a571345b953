"""What a language model writes while it is trained."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from zoo.models.text_model import TextModel, expect_text
from zoo.train.callbacks import Callback
from zoo.train.log import MetricsLog

if TYPE_CHECKING:
    from zoo.text.blocks import Tokens
    from zoo.train.trainer import Trainer

SAMPLE_TOKENS = 60  # of each sample
_PROMPT_TOKENS = 12  # of validation text that samples go on from


def prompt_of(val: Tokens, network: TextModel) -> str:
    """The beginning of the validation text, cut to whole characters."""
    tokens = val.tokens[: min(_PROMPT_TOKENS, len(val) - 1, network.context // 2)]
    text = network.tokenizer.decode(t for t in tokens if t != network.tokenizer.end)
    return text.replace("\ufffd", "") or " "


def sample_of(network: TextModel, prompt: str, seed: int) -> str:
    """A prompt and how the model goes on from it; the same for the same seed."""
    tokens = network.tokenizer.encode(prompt)
    most = min(SAMPLE_TOKENS, network.context - len(tokens))
    if most < 1:
        return prompt
    return prompt + network.complete([prompt], max_tokens=most, seed=seed)[0].text


def shown(sample: str) -> str:
    """A sample for a terminal, set off from what else is said."""
    sample = re.sub(r"\n\s*\n", "\n\n", sample)  # some models say little else than line feeds
    return "\n".join(f"    | {line}" for line in sample.split("\n"))


class Samples(Callback):
    """After each epoch, how the model goes on from the run's prompt; kept in `samples.jsonl`."""

    def on_start(self, trainer: Trainer) -> None:
        self._log = MetricsLog(trainer.out / "samples.jsonl")
        self._log.keep(lambda row: row["epoch"] <= trainer.progress.epoch)

    def on_epoch(self, trainer: Trainer, row: dict[str, Any]) -> None:
        seed = getattr(trainer.config, "seed", 0)
        network = expect_text(trainer.model)  # type: ignore[arg-type]
        sample = sample_of(network, trainer.origin["prompt"], seed)
        self._log.append(
            {"kind": "sample", "step": row["step"], "epoch": row["epoch"], "text": sample}
        )
        trainer.say(shown(sample))

    def on_save(self, trainer: Trainer) -> None:
        self._log.sync()

    def on_end(self, trainer: Trainer) -> None:
        self._log.close()
