"""Language modelling, as a task for the training loop."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import hub
from engine.optim import AdamW
from engine.optim.schedule import ConstantLR, CosineLR, LinearWarmup, Schedule
from zoo.models.gpt import IGNORED
from zoo.placement import beside
from zoo.text.blocks import EpochBlocks, Tokens
from zoo.text.perplexity import perplexity_of, text_loss
from zoo.train.checkpoint import as_arrays, cannot_save
from zoo.train.distributed import ALONE, Ranks
from zoo.train.lora import add_lora, has_lora, lora_of, merged_state, save_adapter
from zoo.train.precision import mixed
from zoo.train.progress import Best
from zoo.train.provenance import versions
from zoo.train.task import Column, Evaluation, Sums, Task
from zoo.train.text_config import TextConfig

if TYPE_CHECKING:
    from engine import Tensor
    from engine.optim import Optimizer
    from zoo.models.text_model import TextModel

Batch = tuple[NDArray[Any], NDArray[Any]]  # tokens and targets, (B, T) each

ADAPTER = "adapter"  # folder of a run with LoRA that holds the adapters alone


def make_ready(model: TextModel, config: TextConfig) -> None:
    """Give a model the adapters and frozen layers that a configuration asks for, once."""
    adapters = lora_of(config.to_dict())
    if adapters is not None and not has_lora(model):
        add_lora(model, adapters)
    elif adapters is None and config.freeze_layers:
        model.freeze_layers(config.freeze_layers)
    model.checkpointing = config.checkpointing == "on"


class TextTask(Task):
    """Predict the next token; the epoch of the lowest validation loss is kept.

    Args:
        model: with a tokenizer; gets adapters if the settings ask for them.
        train, val: two tokens or more of each.
        config: as `TextConfig.fitted` gives it.
        ranks: among which to share batches out.

    >>> Trainer(TextTask(model, train, val, config), config, out, origin={}).fit()
    ... # doctest: +SKIP
    """

    unit = "tokens"
    columns = (
        Column("train loss", "train_loss", ">10.4f"),
        Column("val loss", "val_loss", ">8.4f"),
        Column("perplexity", "val_perplexity", ">10.2f"),
    )

    def __init__(
        self,
        model: TextModel,
        train: Tokens,
        val: Tokens,
        config: TextConfig,
        ranks: Ranks = ALONE,
    ) -> None:
        self.model: TextModel = model
        self.train = train
        self.val = val
        self.config = config
        self.ranks = ranks
        self._blocks = EpochBlocks(train, config.block_size, config.batch_size, config.seed)
        self.batch_weights = self._blocks.batch_weights
        make_ready(model, config)

    def make_optimizer(self) -> Optimizer:
        """AdamW; matrices are decayed, norms and biases are not."""
        trained = [(n, p) for n, p in self.model.named_parameters() if p.requires_grad]
        groups: dict[bool, list[tuple[str, Tensor]]] = {}
        for name, parameter in trained:
            groups.setdefault(parameter.ndim > 1, []).append((name, parameter))
        config = self.config
        return AdamW(
            [
                {"params": members, "weight_decay": config.weight_decay if decayed else 0.0}
                for decayed, members in groups.items()
            ],
            lr=config.lr,
            betas=(0.9, config.beta2),
        )

    def make_schedule(self, steps_per_epoch: int) -> Schedule:
        config, total = self.config, steps_per_epoch * self.config.epochs
        warm = min(round(config.warmup * total), total - 1)
        if config.schedule == "constant":
            return LinearWarmup(ConstantLR(config.lr), warm)
        return LinearWarmup(CosineLR(config.lr, total - warm), warm)

    def start_epoch(self, epoch: int) -> None:
        self.model.train()

    def batches(self, epoch: int, start: int) -> Generator[Batch, None, None]:
        yield from self._blocks.epoch(epoch, start, self.ranks.part)

    def backward(self, group: Sequence[Batch], weight: int) -> Sums:
        """The mean over all targets of the group, however they are spread over its batches.

        Where not all tokens are learned there are fewer targets than `weight`, and the loss is
        reported as if there were that many with the same mean.
        """
        here = sum(int((targets != IGNORED).sum()) for _, targets in group)
        counted = int(self.ranks.sum(np.array([here]))[0])
        if not counted:
            return Sums()
        (share,) = beside(self.model, np.asarray(self.loss_scale / counted, np.float32))
        total = 0.0
        for number, (ids, targets) in enumerate(group, 1):
            if (targets == IGNORED).all():
                continue
            with mixed(self.config, self.model):
                loss = self.model.loss(*beside(self.model, ids, targets))
            total += loss.item()
            if not math.isfinite(total):
                return Sums(finite=False)
            if number == len(group) and not self.model.checkpointing:
                self.ranks.arm()
            loss.backward(share.astype(loss.dtype))
        return Sums(total / counted * weight)

    def train_metrics(self, sums: Sums, weight: int) -> dict[str, float]:
        return {"train_perplexity": perplexity_of(sums.loss / weight)}

    def evaluate(self, on_batch: Callable[[int], None]) -> Evaluation:
        block = self.config.block_size
        total, count = text_loss(
            self.model,
            self.val,
            length=block,
            stride=block,
            batch_size=self.config.batch_size,
            on_batch=on_batch,
            ranks=self.ranks,
        )
        loss = total / count
        return Evaluation({"val_loss": loss, "val_perplexity": perplexity_of(loss)}, order=(loss,))

    def save_weights(self, path: Path, origin: Mapping[str, Any], best: Best) -> None:
        """The model, adapters merged; those alone go to a folder beside it, as PEFT has them."""
        facts = {
            **self.model.facts(),
            "step": best.step,
            "recipe": self.config.recipe(),
            "source": origin["source"],
            "data": origin["data"],
            "result": {"epoch": best.epoch, "step": best.step, **best.metrics},
            "versions": versions(),
        }
        metadata = {key: json.dumps(value, ensure_ascii=False) for key, value in facts.items()}
        metadata["format"] = "pt"  # some readers refuse files that do not name a layout
        try:
            if has_lora(self.model):
                save_adapter(path.parent / ADAPTER, self.model, self.model.arch)
            hub.write_safetensors(path, as_arrays(merged_state(self.model)), metadata)
        except OSError as error:
            raise cannot_save(path, error) from error
