"""The settings of a run on text. This dataclass is the only schema: flags, their help and the
recipe stored in checkpoints all derive from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from zoo.train.errors import ConfigError
from zoo.train.loop_config import LoopConfig, setting


@dataclass(frozen=True)
class TextConfig(LoopConfig):
    """How to train a language model. The defaults are for fine-tuning pretrained weights.

    Raises:
        ConfigError: on construction, for a value out of range, naming the setting.

    >>> TextConfig(block_size=128).block_size
    128
    """

    epochs: int = setting(3, "passes over the training text", least=1)
    lr: float = setting(5e-5, "peak learning rate", least=0)
    warmup: float = setting(
        0.05, "part of all steps over which the learning rate rises to lr", least=0, most=0.9
    )
    clip_norm: float = setting(
        1.0, "longest gradient, as the norm over all parameters; 0: no limit", least=0
    )
    batch_size: int = setting(4, "blocks a batch", least=1)
    block_size: int = setting(
        256, "tokens of a block, at most the model's context; 0: as many as the context", least=0
    )
    tokens_per_step: int = setting(
        0, "tokens a step, from as many batches as that takes; 0: accumulation decides", least=0
    )
    beta2: float = setting(0.95, "second beta of AdamW; the first is 0.9", least=0, most=0.9999)
    weight_decay: float = setting(0.1, "decay of matrices; norms and biases have none", least=0)
    dropout: float = setting(
        0.1, "share of embeddings, attention weights and what blocks add that is dropped",
        least=0, most=0.9,
    )  # fmt: skip
    freeze_layers: int = setting(
        0, "first blocks that stand still, and with them the embeddings", least=0
    )
    lora_rank: int = setting(
        0, "rank of the adapters that are trained in place of the weights; 0: none", least=0
    )
    lora_alpha: float = setting(16.0, "adapters count lora_alpha / lora_rank times", least=0.001)
    lora_targets: str = setting(
        "c_attn", "projections that get adapters: c_attn, c_proj, c_fc, with commas between"
    )
    lora_dropout: float = setting(
        0.05, "share of what adapters read that is dropped", least=0, most=0.9
    )
    checkpointing: str = setting(
        "off",
        "on: compute the inside of blocks again for the gradients, for less memory",
        choices=("off", "on"),
        free=True,
    )
    val_fraction: float = setting(0.1, "part of the text that validates", least=0.001, most=0.9)
    bad_bytes: str = setting(
        "refuse", "bytes that are not UTF-8; replace: they become U+FFFD",
        choices=("refuse", "replace"),
    )  # fmt: skip
    sample: str = setting(
        "", "what the samples go on from that are printed after each epoch; empty: validation text",
        free=True,
    )  # fmt: skip

    def fitted(self, context: int) -> TextConfig:
        """The settings with block_size and accumulation as they will be used, for a model that
        reads `context` tokens.

        Raises:
            ConfigError: blocks that the model cannot read.
        """
        block = self.block_size or context
        if block > context:
            raise ConfigError(
                f"block_size={block}; the model reads at most {context} tokens. Expected "
                f"block_size={context} or less"
            )
        accumulation = self.accumulation
        if self.tokens_per_step:
            accumulation = max(round(self.tokens_per_step / (block * self.batch_size)), 1)
        return replace(self, block_size=block, accumulation=accumulation)


TEXT_FINE_TUNING = TextConfig()
"""For pretrained weights."""

LORA = {"lora_rank": 8, "lr": 3e-4}
"""In what training adapters differs from training all weights."""

TEXT_FROM_SCRATCH = replace(
    TEXT_FINE_TUNING, epochs=10, lr=3e-3, batch_size=8, block_size=0, dropout=0.0
)
"""For `weights="none"`."""


def check_text_start(config: TextConfig, pretrained: bool) -> TextConfig:
    """`config`, if it can work from pretrained weights or from none.

    Raises:
        ConfigError: it would keep random values.
    """
    kept = "lora_rank" if config.lora_rank else "freeze_layers" if config.freeze_layers else ""
    if kept and not pretrained:
        raise ConfigError(
            f"{kept}={getattr(config, kept)} with weights='none' would keep random values; "
            f"expected pretrained weights, or {kept}=0"
        )
    return config
