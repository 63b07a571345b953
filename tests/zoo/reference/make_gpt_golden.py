"""Remakes golden_gpt.npz and golden_gpt_long.npz beside this file, with transformers' GPT-2 in
float64.

    python -m tests.zoo.reference.make_gpt_golden

It needs PyTorch and transformers (made with 2.13.0 and 4.57.6). test_models_gpt.py compares our
model with it, so that machines without either check logits, gradients, padding and greedy text.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from tests.zoo.reference import seeded_gpt as s

HERE = Path(__file__).parent


def network(name: str, context: int) -> GPT2LMHeadModel:
    """The reference with seeded weights."""
    layers, width, heads = s.CASES[name]
    config = GPT2Config(
        vocab_size=s.VOCAB, n_positions=context, n_embd=width, n_layer=layers, n_head=heads,
        attn_implementation="eager", bos_token_id=0, eos_token_id=None,
    )  # fmt: skip
    net = GPT2LMHeadModel(config).double().eval()
    own = net.transformer.state_dict()
    state = s.seeded_gpt_state({key: tuple(value.shape) for key, value in own.items()})
    net.transformer.load_state_dict({k: torch.from_numpy(v).double() for k, v in state.items()})
    return net


def long_text(name: str) -> np.ndarray:
    """The tokens of a long greedy text."""
    tokens = torch.from_numpy(s.seeded_tokens())[:1]
    made = network(name, s.LONG_CONTEXT).generate(
        tokens, max_new_tokens=s.LONG, do_sample=False, pad_token_id=0
    )
    return made[0, s.LENGTH :].numpy()


def results(name: str) -> dict[str, np.ndarray]:
    """What a seeded network says, plain and padded, its gradients and its greedy text."""
    net = network(name, s.CONTEXT)
    state = net.transformer.state_dict()
    tokens = torch.from_numpy(s.seeded_tokens())
    logits = net(tokens).logits
    loss = torch.nn.functional.cross_entropy(
        logits[:, :-1].reshape(-1, s.VOCAB), tokens[:, 1:].reshape(-1), reduction="sum"
    )
    loss.backward()
    grads = {key.removeprefix("transformer."): p.grad for key, p in net.named_parameters()}
    seen = torch.tensor([[i >= pad for i in range(s.LENGTH)] for pad in s.PADS])
    positions = (seen.long().cumsum(1) - 1).clamp(min=0)
    padded = net(tokens, attention_mask=seen.long(), position_ids=positions).logits
    greedy = net.generate(
        tokens[:1], max_new_tokens=s.GREEDY, do_sample=False, pad_token_id=0
    )[:, s.LENGTH :]  # fmt: skip
    beam = net.generate(
        tokens[:1], max_new_tokens=s.BEAM_TOKENS, num_beams=s.BEAMS, do_sample=False, pad_token_id=0
    )[:, s.LENGTH :]
    found = {
        "logits": logits,
        "loss": loss,
        "padded": padded[:, -1],
        "greedy": greedy,
        "beam": beam,
        "grad_norms": torch.stack([grads[key].norm() for key in state]),
        **{f"grad/{key}": grads[key].flatten()[:64].clone() for key in s.WHOLE_GRADIENTS},
    }
    return {f"{name}/{key}": value.detach().numpy() for key, value in found.items()}


if __name__ == "__main__":
    arrays: dict[str, np.ndarray] = {}
    for case in s.CASES:
        arrays |= results(case)
    np.savez_compressed(HERE / "golden_gpt.npz", **arrays)
    np.savez_compressed(HERE / "golden_gpt_long.npz", **{n: long_text(n) for n in s.CASES})
