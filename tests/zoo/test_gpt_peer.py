"""GPT-2 of 124 million parameters beside transformers' with the same seeded weights: logits,
gradients, and 200 tokens of greedy text, with a cache and without.

Runs where torch and transformers are installed beside the engine; with ZOO_REQUIRE_PEERS=1 it fails
where they are not.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import numpy as np
import pytest

import engine
from engine.nn import init
from tests.zoo.reference.seeded_gpt import seeded_gpt_state
from zoo.models import gpt

pytestmark = pytest.mark.peer
# Three times what training starts from: texts that do not only repeat themselves.
SCALE, TOKENS, GREEDY = 0.06, (2, 64), 200
PROMPT = "Far out in the uncharted backwaters of"


@pytest.fixture(autouse=True)
def peer() -> None:
    if any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")):
        if os.environ.get("ZOO_REQUIRE_PEERS") == "1":
            pytest.fail("torch or transformers is not installed, and ZOO_REQUIRE_PEERS=1 asks")
        pytest.skip("torch or transformers is not installed")


@pytest.fixture(scope="module")
def state() -> dict[str, np.ndarray]:
    with init.skip_random():
        model = gpt.build("gpt2")
    return seeded_gpt_state({k: v.shape for k, v in model.state_dict().items()}, SCALE)


@pytest.fixture(scope="module")
def ours(state: dict[str, np.ndarray]) -> gpt.GPT:
    with init.skip_random():
        model = gpt.build("gpt2")
    model.load_state_dict(state)
    model.arch = "gpt2"
    return model.eval()


@pytest.fixture(scope="module")
def theirs(state: dict[str, np.ndarray]) -> Any:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.set_num_threads(2)
    config = GPT2Config(attn_implementation="eager", bos_token_id=None, eos_token_id=None)
    model = GPT2LMHeadModel(config).eval()
    model.transformer.load_state_dict({k: torch.from_numpy(v) for k, v in state.items()})
    return model


def tokens() -> np.ndarray:
    return np.random.RandomState(1).randint(0, 50257, TOKENS)


def relative(actual: np.ndarray, wanted: np.ndarray) -> float:
    """Largest difference over the largest value."""
    return float(np.abs(actual - wanted).max() / np.abs(wanted).max())


def test_logits(ours: gpt.GPT, theirs: Any) -> None:
    import torch

    with torch.no_grad(), engine.no_grad():
        wanted = theirs(torch.from_numpy(tokens())).logits.numpy()
        found = ours(engine.asarray(tokens())).numpy()
    assert relative(found, wanted) < 1e-4


def test_loss_and_every_gradient(ours: gpt.GPT, theirs: Any) -> None:
    import torch

    theirs.zero_grad(), ours.zero_grad()
    ids = torch.from_numpy(tokens())
    logits = theirs(ids).logits[:, :-1].reshape(-1, 50257)
    wanted = torch.nn.functional.cross_entropy(logits, ids[:, 1:].reshape(-1), reduction="sum")
    wanted.backward()
    mine = engine.asarray(tokens())
    loss = ours.loss(mine[:, :-1], mine[:, 1:])
    loss.backward()
    assert loss.item() == pytest.approx(wanted.item(), rel=1e-5)
    grads = {key.removeprefix("transformer."): p.grad for key, p in theirs.named_parameters()}
    worst = {
        key: relative(p.grad.numpy(), grads[key].numpy()) for key, p in ours.named_parameters()
    }
    assert len(worst) == len(grads) and max(worst.values()) < 1e-3, max(worst, key=worst.get)


@pytest.mark.parametrize("cached", [True, False])
def test_greedy_text(ours: gpt.GPT, theirs: Any, cached: bool) -> None:
    import torch

    prompt = ours.tokenizer.encode(PROMPT)
    with torch.no_grad():
        wanted = theirs.generate(
            torch.tensor([prompt]), max_new_tokens=GREEDY, do_sample=False, pad_token_id=0
        )[0, len(prompt) :].tolist()
    made = ours.complete([PROMPT], max_tokens=GREEDY, temperature=0, cache=cached)[0]
    end = ours.tokenizer.end
    if end in wanted:  # the reference was told of no end
        wanted = wanted[: wanted.index(end) + 1]
    assert len(wanted) == GREEDY and len(set(wanted)) > 20
    assert list(made.tokens) == wanted
    assert made.text == ours.tokenizer.decode(wanted)
