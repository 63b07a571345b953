"""A folder as transformers publishes GPT-2: config.json, model.safetensors and the tokenizer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hub
from zoo.models.gpt import GPT
from zoo.text.tokenizer_files import save_tokenizer


def write_files(model: GPT, path: Path) -> list[str]:
    """Write the files into the folder `path`, which exists."""
    state = {f"transformer.{key}": value.numpy() for key, value in model.state_dict().items()}
    hub.write_safetensors(path / "model.safetensors", state, {"format": "pt"})
    save_tokenizer(model.tokenizer, path)
    for name, table in {
        "config.json": _config(model),
        "tokenizer_config.json": {
            "tokenizer_class": "GPT2Tokenizer",
            "model_max_length": model.context,
        },
    }.items():
        with hub.atomic_file(path / name) as file:
            file.write(json.dumps(table, indent=2).encode() + b"\n")
    return [f'Load it: transformers.AutoModelForCausalLM.from_pretrained("{path}")']


def _config(model: GPT) -> dict[str, Any]:
    config, end = model.config, model.tokenizer.end
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": config.vocab,
        "n_positions": config.context,
        "n_embd": config.width,
        "n_layer": config.layers,
        "n_head": config.heads,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": model.ln_f.eps,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.dropout,
        "tie_word_embeddings": True,
        "bos_token_id": end,
        "eos_token_id": end,
    }
