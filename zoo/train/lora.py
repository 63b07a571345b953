"""Low-rank adaptation (Hu et al., arXiv:2106.09685): the weights stand still, and beside chosen
projections a product of two thin matrices is trained.

y = x W + b + (alpha / rank) (x A^T) B^T, with A (rank, in) and B (out, rank). B starts at 0, so an
adapted model starts as it was. Adapters are read and written in the layout of the PEFT library.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import engine
import hub
from engine import Tensor, nn
from engine.nn import functional as F
from hub.strict_json import strict_json
from zoo.models.gpt import Conv1D
from zoo.placement import host_array
from zoo.train.errors import ConfigError

if TYPE_CHECKING:
    from engine.nn import Module

_PEFT = "base_model.model.transformer."  # what its names start with
WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


@dataclass(frozen=True)
class LoRAConfig:
    """What is adapted, and how.

    >>> LoRAConfig(rank=8).scale
    2.0
    """

    rank: int  # rows of A
    alpha: float = 16.0  # the product counts alpha / rank times
    targets: tuple[str, ...] = ("c_attn",)  # last part of the names of projections
    dropout: float = 0.0  # share of what A reads that is dropped in training

    @property
    def scale(self) -> float:
        """alpha / rank."""
        return self.alpha / self.rank


class LoRAConv1D(Conv1D):
    """A projection with an adapter; see the module's text. It shares weight and bias, frozen, with
    the one it is made from.

    Parameters: weight, bias, lora_A (rank, in), lora_B (out, rank).
    """

    def __init__(self, base: Conv1D, config: LoRAConfig) -> None:
        nn.Module.__init__(self)
        self.in_features = base.in_features
        self.out_features = base.out_features
        self.weight = base.weight
        self.bias = base.bias
        self.config = config
        like: dict[str, Any] = {"dtype": base.weight.dtype, "device": base.weight.device}
        bound = 1 / math.sqrt(base.in_features)
        self.lora_A = nn.Parameter(engine.empty((config.rank, base.in_features), **like))
        nn.init.uniform_(self.lora_A, -bound, bound)
        self.lora_B = nn.Parameter(engine.zeros((base.out_features, config.rank), **like))

    def forward(self, x: Tensor) -> Tensor:
        thin = F.linear(F.dropout(x, self.config.dropout, self.training), self.lora_A)
        return super().forward(x) + F.linear(thin, self.lora_B) * self.config.scale

    def merged(self) -> Tensor:
        """The weight (in, out) that does the same without an adapter."""
        with engine.no_grad():
            product = engine.matmul(self.lora_B.detach(), self.lora_A.detach())  # (out, in)
            return self.weight.detach() + engine.swapaxes(product, 0, 1) * self.config.scale


def add_lora(model: Module, config: LoRAConfig) -> list[str]:
    """Put adapters beside the projections that `config` names, and freeze all else.

    Returns:
        The names of the adapted projections.

    Raises:
        ConfigError: no projection has such a name.

    >>> add_lora(zoo.load("gpt2"), LoRAConfig(rank=8))[:1]      # doctest: +SKIP
    ['h.0.attn.c_attn']
    """
    projections = {name: m for name, m in model.named_modules() if isinstance(m, Conv1D)}
    kinds = sorted({name.rpartition(".")[2] for name in projections})
    for target in config.targets:
        if target not in kinds:
            raise ConfigError(
                f"lora_targets: no projection is named {target!r}; expected some of "
                f"{', '.join(kinds)}"
            )
    model.requires_grad_(False)
    adapted = [name for name in projections if name.rpartition(".")[2] in config.targets]
    for name in adapted:
        _replace(model, name, LoRAConv1D(projections[name], config))
    return adapted


def merge_lora(model: Module) -> None:
    """Make the adapters part of the weights: the model does the same, and is a plain one again."""
    for name, layer in list(_adapted(model)):
        plain = Conv1D(layer.in_features, layer.out_features)
        plain.weight = nn.Parameter(layer.merged())
        plain.bias = layer.bias
        _replace(model, name, plain)
    model.requires_grad_(True)


def merged_state(model: Module) -> dict[str, Tensor]:
    """The state dict of the plain model that does the same."""
    state = {k: v for k, v in model.state_dict().items() if not k.endswith((".lora_A", ".lora_B"))}
    return state | {f"{name}.weight": layer.merged() for name, layer in _adapted(model)}


def save_adapter(folder: Path, model: Module, base: str) -> None:
    """Write the adapters alone: adapter_model.safetensors and adapter_config.json, as PEFT does.

    Args:
        folder: made if it is not there.
        base: the name of the weights they go with.
    """
    layers = dict(_adapted(model))
    config = next(iter(layers.values())).config
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {}
    for name, layer in layers.items():
        for part in ("lora_A", "lora_B"):
            arrays[f"{_PEFT}{name}.{part}.weight"] = host_array(getattr(layer, part))
    hub.write_safetensors(folder / WEIGHTS, arrays, {"format": "pt"})
    facts = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": config.rank,
        "lora_alpha": config.alpha,
        "lora_dropout": config.dropout,
        "target_modules": list(config.targets),
        "fan_in_fan_out": True,  # weights are (in, out)
        "bias": "none",
        "inference_mode": True,
    }
    with hub.atomic_file(folder / CONFIG) as file:
        file.write(json.dumps(facts, indent=2).encode() + b"\n")


def load_adapter(model: Module, folder: Path) -> LoRAConfig:
    """Put the adapters of a folder, written by `save_adapter` or by PEFT, beside a model's
    projections.

    Raises:
        ConfigError: it is no LoRA adapter for such a model, or of a kind that is not supported.
        hub.HubError: a file is damaged.

    >>> load_adapter(zoo.load("gpt2"), Path("runs/gpt2-1/adapter")).rank      # doctest: +SKIP
    8
    """
    if not (folder / CONFIG).is_file() or not (folder / WEIGHTS).is_file():
        raise ConfigError(f"{folder}: no adapter here; expected {CONFIG} and {WEIGHTS}")
    try:
        facts = strict_json((folder / CONFIG).read_bytes())
        kind, targets = facts["peft_type"], facts["target_modules"]
        config = LoRAConfig(
            int(facts["r"]),
            float(facts["lora_alpha"]),
            tuple([targets] if isinstance(targets, str) else sorted(targets)),
            float(facts.get("lora_dropout", 0.0)),
        )
        possible = math.isfinite(config.alpha) and 0 <= config.dropout < 1
        if not possible or not all(isinstance(target, str) for target in config.targets):
            raise ValueError("lora_alpha, lora_dropout or target_modules are out of range")
    except (ValueError, KeyError, TypeError, OverflowError, AttributeError) as error:
        raise ConfigError(f"{folder / CONFIG}: cannot be read ({error})") from error
    unsupported = [k for k in ("use_dora", "use_rslora", "rank_pattern") if facts.get(k)]
    if kind != "LORA" or unsupported or facts.get("bias", "none") != "none":
        raise ConfigError(
            f"{folder / CONFIG}: a {kind} adapter with {', '.join(unsupported) or 'biases'}; "
            "expected plain LoRA without biases"
        )
    arrays, _ = hub.read_safetensors(folder / WEIGHTS)
    ranks = {array.shape[:1] for key, array in arrays.items() if ".lora_A" in key}
    if ranks != {(config.rank,)}:  # before adapters of that rank are made
        raise ConfigError(
            f"{folder / CONFIG}: rank {config.rank}, but the matrices in {WEIGHTS} have "
            f"{', '.join(str(*rank) for rank in sorted(ranks)) or 'none'}"
        )
    add_lora(model, config)
    own: dict[str, Any] = {}
    for name, layer in _adapted(model):
        for part in ("lora_A", "lora_B"):
            own[f"{name}.{part}"] = getattr(layer, part)
    given = {_plain(key): array for key, array in arrays.items()}
    wrong = sorted(set(own) ^ set(given)) or [
        key for key in own if own[key].shape != given[key].shape
    ]
    if wrong:
        raise ConfigError(
            f"{folder / WEIGHTS}: the adapters do not fit this model; {len(wrong)} differ, "
            f"{wrong[0]} is the first"
        )
    with engine.no_grad():
        for key, parameter in own.items():
            parameter.copy_(engine.asarray(given[key]))
    return config


def _plain(key: str) -> str:
    """PEFT's name of a matrix as ours."""
    return (
        key.removeprefix("base_model.model.").removeprefix("transformer.").removesuffix(".weight")
    )


def _adapted(model: Module) -> Iterator[tuple[str, LoRAConv1D]]:
    for name, module in model.named_modules():
        if isinstance(module, LoRAConv1D):
            yield name, module


def _replace(model: Module, name: str, layer: Module) -> None:
    *path, last = name.split(".")
    parent: Any = model
    for part in path:
        parent = parent[int(part)] if part.isdigit() else getattr(parent, part)
    setattr(parent, last, layer)


def has_lora(model: Module) -> bool:
    """Whether the model has adapters."""
    return next(_adapted(model), None) is not None


def lora_of(settings: Mapping[str, Any]) -> LoRAConfig | None:
    """The adapters that a run's settings ask for, or None.

    >>> lora_of({"lora_rank": 0}) is None
    True
    """
    if not settings["lora_rank"]:
        return None
    targets: Sequence[str] = [t.strip() for t in settings["lora_targets"].split(",") if t.strip()]
    return LoRAConfig(
        settings["lora_rank"], settings["lora_alpha"], tuple(targets), settings["lora_dropout"]
    )
