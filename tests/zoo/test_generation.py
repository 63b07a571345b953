"""Generation: what is chosen, when it ends, and that batches, caches and seeds keep their word."""

from __future__ import annotations

import doctest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import engine
from tests.zoo.reference import seeded_gpt as s
from zoo.models import gpt
from zoo.models.text_model import ContextTooLong
from zoo.text import generation, sampling, speculative, stops
from zoo.text import settings as settings_module
from zoo.text.beam import beam_search
from zoo.text.errors import GenerateError
from zoo.text.sampling import Draws, choose, draw_from, probabilities
from zoo.text.settings import GenerateConfig
from zoo.text.stops import StopFilter
from zoo.text.tokenizer import byte_tokenizer, gpt2_tokenizer

GREEDY = GenerateConfig(temperature=0)
GOLDEN = np.load(Path(__file__).parent / "reference" / "golden_gpt.npz", allow_pickle=False)


def seeded(model: gpt.GPT) -> gpt.GPT:
    shapes = {key: value.shape for key, value in model.state_dict().items()}
    model.load_state_dict(s.seeded_gpt_state(shapes))
    return model.eval()


@pytest.fixture(scope="module")
def model() -> gpt.GPT:
    """Writes bytes, by a model of 64 tokens."""
    network = seeded(gpt.build("gpt_nano", vocab=257))
    network.tokenizer = byte_tokenizer()
    return network


def text_of(model: gpt.GPT, prompt: str = "Hello", **settings: Any) -> str:
    settings = {"max_tokens": 20, **settings}
    return "".join(model.generate(prompt, **settings))


@pytest.mark.parametrize("temperature", [0, 0.9])
@pytest.mark.parametrize("window", [False, True])
def test_with_and_without_cache_the_text_is_the_same(
    model: gpt.GPT, temperature: float, window: bool
) -> None:
    """Field case D-02: up to the limit of the context, and past it with a window."""
    settings = {
        "temperature": temperature,
        "window": window,
        "max_tokens": 150 if window else 64 - len("Hello"),
    }
    tokens = [
        model.complete(["Hello"], cache=cache, **settings)[0].tokens for cache in (True, False)
    ]
    assert tokens[0] == tokens[1]
    assert len(tokens[0]) == settings["max_tokens"] or tokens[0][-1] == 256


def test_greedy_text_is_the_reference_s() -> None:
    layers, width, heads = s.CASES["distilgpt2"]
    network = seeded(
        gpt.build(
            "distilgpt2", layers=layers, width=width, heads=heads, vocab=s.VOCAB, context=s.CONTEXT
        )
    )
    network.tokenizer = SimpleNamespace(size=s.VOCAB, end=None)  # type: ignore[assignment]
    ids = s.seeded_tokens()[0].tolist()
    rows = [list(ids)]
    reader = generation.Reader(network, rows, s.CONTEXT)
    for _ in range(s.GREEDY):
        rows[0].append(choose(reader.next_logits()[0], rows[0], GREEDY, Draws(0, 0)))
    assert rows[0][len(ids) :] == GOLDEN["distilgpt2/greedy"][0].tolist()
    found = beam_search(network, ids, GenerateConfig(beams=s.BEAMS), s.BEAM_TOKENS)
    assert found == GOLDEN["distilgpt2/beam"][0].tolist()


def test_a_text_is_the_same_in_a_batch_and_alone(model: gpt.GPT) -> None:
    """Field case D-03."""
    prompts = ["Hi", "A longer prompt", "é"]
    together = model.complete(prompts, temperature=0, max_tokens=15)
    for prompt, found in zip(prompts, together, strict=True):
        assert found.tokens == model.complete([prompt], temperature=0, max_tokens=15)[0].tokens


def test_a_text_that_ended_early_leaves_the_others_alone(model: gpt.GPT) -> None:
    def end_first(tokens: Any, logits: np.ndarray) -> np.ndarray:
        if bytes(tokens[:2]) == b"Hi" and len(tokens) >= 4:
            logits[256] = 1e9
        return logits

    prompts = ["Hi", "A longer prompt"]
    found = model.complete(prompts, temperature=0, max_tokens=15, processors=[end_first])
    assert (found[0].reason, len(found[0].tokens)) == ("end", 3)
    alone = model.complete(prompts[1:], temperature=0, max_tokens=15)[0]
    assert found[1].tokens == alone.tokens


def test_the_seed_decides(model: gpt.GPT) -> None:
    assert text_of(model, seed=1) == text_of(model, seed=1)
    assert text_of(model, seed=1) != text_of(model, seed=2)


def test_threads_do_not_decide(model: gpt.GPT) -> None:
    before = engine.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            engine.set_num_threads(threads)
            found.append(text_of(model, seed=3))
    finally:
        engine.set_num_threads(before)
    assert found[0] == found[1]


def test_several_texts_of_one_prompt_differ(model: gpt.GPT) -> None:
    found = model.complete(["Hello"], n=3, max_tokens=20)
    assert len({completion.text for completion in found}) == 3
    assert found[0].tokens == model.complete(["Hello"], max_tokens=20)[0].tokens


def test_the_stream_and_the_whole_are_the_same(model: gpt.GPT) -> None:
    assert text_of(model, seed=5) == model.complete(["Hello"], max_tokens=20, seed=5)[0].text


def test_a_processor_can_forbid(model: gpt.GPT) -> None:
    def only_a(tokens: Any, logits: np.ndarray) -> np.ndarray:
        kept = np.full_like(logits, -np.inf)
        kept[ord("a")] = logits[ord("a")]
        return kept

    assert text_of(model, processors=[only_a]) == "a" * 20
    with pytest.raises(GenerateError, match="forbids every token"):
        text_of(model, processors=[lambda tokens, logits: logits - np.inf])


def test_a_prompt_that_does_not_fit_is_refused_at_once(model: gpt.GPT) -> None:
    """Field case D-02."""
    with pytest.raises(ContextTooLong, match="has 65 tokens.* at most 64"):
        model.generate("x" * 45, max_tokens=20)
    with pytest.raises(ContextTooLong, match="has 71 tokens.* at most 64"):
        model.generate("x" * 70)


def test_without_a_number_the_context_is_filled(model: gpt.GPT) -> None:
    never_end = {"processors": [lambda t, z: np.where(np.arange(257) == 256, -np.inf, z)]}
    assert len(model.complete(["x" * 60], **never_end)[0].tokens) == 4


def test_a_window_goes_on_past_the_context(model: gpt.GPT) -> None:
    never_end = {"processors": [lambda t, z: np.where(np.arange(257) == 256, -np.inf, z)]}
    found = model.complete(["x" * 100], max_tokens=100, window=True, **never_end)[0]
    assert len(found.tokens) == 100


def test_the_last_token_of_a_full_context_is_read(model: gpt.GPT) -> None:
    prompt = "y" * 63
    with engine.no_grad():
        ids = engine.asarray([list(prompt.encode())])
        wanted = int(model(ids).numpy()[0, -1].argmax())
    assert model.complete([prompt], max_tokens=1, temperature=0)[0].tokens == (wanted,)


def test_an_empty_prompt_starts_a_text(model: gpt.GPT) -> None:
    with engine.no_grad():
        wanted = int(model(engine.asarray([[256]])).numpy()[0, -1].argmax())
    assert model.complete([""], max_tokens=1, temperature=0)[0].tokens == (wanted,)


def test_training_mode_and_gradients_are_left_as_they_were(model: gpt.GPT) -> None:
    model.train()
    try:
        for _ in model.generate("Hello", max_tokens=3):
            assert engine.is_grad_enabled()
        assert model.training
    finally:
        model.eval()


def test_beams_find_a_text_at_least_as_likely_as_the_greedy_one(model: gpt.GPT) -> None:
    def likelihood(tokens: tuple[int, ...]) -> float:
        ids = engine.asarray([[*b"Hello", *tokens]])
        with engine.no_grad():
            return -model.loss(ids[:, :-1], ids[:, 1:]).item()

    greedy, searched = (
        model.complete(["Hello"], max_tokens=8, **kind)[0]
        for kind in ({"temperature": 0}, {"beams": 5})
    )
    assert likelihood(searched.tokens) >= likelihood(greedy.tokens)
    assert model.complete(["Hello"], max_tokens=8, beams=5, cache=False)[0] == searched


@pytest.mark.parametrize(
    "settings, kept",
    [
        ({}, [0.4, 0.3, 0.2, 0.1]),
        ({"top_k": 2}, [4 / 7, 3 / 7, 0, 0]),
        ({"top_p": 0.7}, [4 / 7, 3 / 7, 0, 0]),
        ({"top_p": 0.71}, [4 / 9, 3 / 9, 2 / 9, 0]),
        ({"top_p": 0.01}, [1, 0, 0, 0]),
        ({"min_p": 0.5}, [4 / 9, 3 / 9, 2 / 9, 0]),
        ({"temperature": 0.5}, [16 / 30, 9 / 30, 4 / 30, 1 / 30]),
    ],
)
def test_what_is_left_to_draw_from(settings: dict[str, Any], kept: list[float]) -> None:
    config = GenerateConfig(**{"temperature": 1.0, "top_p": 1.0, **settings})
    found = probabilities(np.log([0.4, 0.3, 0.2, 0.1]), config)
    np.testing.assert_allclose(found, kept, atol=1e-12)


def test_draws_have_the_probabilities() -> None:
    p, draws = np.array([0.5, 0.0, 0.3, 0.2]), Draws(0, 0)
    counts = np.bincount([draw_from(p, draws.next()) for _ in range(20000)], minlength=4) / 20000
    np.testing.assert_allclose(counts, p, atol=0.012)
    assert counts[1] == 0


def test_the_penalty_makes_what_is_there_less_likely() -> None:
    config = GenerateConfig(temperature=0, repetition_penalty=2.0)
    found = sampling.adjusted(np.array([3.0, -1.0, 2.0]), [0, 1, 0], config)
    assert found.tolist() == [1.5, -2.0, 2.0]


@pytest.mark.parametrize("stop", ["lo", "ab|", "xx"])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_stop_texts_end_the_text_before_them_however_it_comes(stop: str, size: int) -> None:
    text = "hello ab| xxx"
    stops_ = StopFilter([stop, "never"])
    given = "".join(stops_.push(text[i : i + size]) for i in range(0, len(text), size))
    assert stops_.stopped
    assert given == text[: text.index(stop)]


def test_what_could_have_become_a_stop_text_is_not_lost(model: gpt.GPT) -> None:
    stops_ = StopFilter(["ab|"])
    assert stops_.push("xab") + stops_.finish() == "xab"
    whole = text_of(model, seed=4)
    found = model.complete(["Hello"], max_tokens=20, seed=4, stop=[whole[5:7]])[0]
    assert found.text == whole[: whole.index(whole[5:7])] and found.reason == "stop"


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"temperature": -1}, "temperature=-1; expected 0 or more"),
        ({"top_p": 0}, "top_p=0; expected 1e-09 to 1"),
        ({"top_k": 1.5}, "top_k=1.5; expected a number .int."),
        ({"max_tokens": True}, "max_tokens=True; expected a number"),
        ({"temperature": float("nan")}, "temperature=nan"),
        ({"stop": "x"}, "expected a list of texts"),
        ({"stop": [""]}, "an empty text"),
        ({"topk": 3}, "unexpected keyword argument 'topk'"),
    ],
)
def test_settings_that_cannot_work(model: gpt.GPT, settings: Any, message: str) -> None:
    with pytest.raises(GenerateError, match=message):
        model.generate("x", **settings)


def test_weights_that_are_not_finite_are_named() -> None:
    network = gpt.build("gpt_nano", vocab=257).eval()
    network.tokenizer = byte_tokenizer()
    network.load_state_dict({"ln_f.bias": np.full(48, np.nan)}, strict=False)
    with pytest.raises(GenerateError, match="weights are not finite"):
        text_of(network)


def test_half_characters_are_held_back() -> None:
    tokens = gpt2_tokenizer().encode("a😀b")
    network = seeded(gpt.build("gpt_nano", vocab=50257))
    network.tokenizer = gpt2_tokenizer()

    def say(seen: Any, logits: np.ndarray) -> np.ndarray:
        made = len(seen) - 1
        kept = np.full_like(logits, -np.inf)
        kept[tokens[made] if made < len(tokens) else 50256] = 0
        return kept

    pieces = list(network.generate("x", processors=[say], stop=["zz"]))
    assert pieces == ["a", "😀", "b"]


# ---- with a draft --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def draft() -> gpt.GPT:
    """Another, smaller model of the same vocabulary."""
    network = seeded(gpt.build("gpt_nano", vocab=257, layers=1, width=24, context=80))
    network.tokenizer = byte_tokenizer()
    network.arch = "draft"
    return network


@pytest.mark.parametrize("tokens", [1, 2, 5, 6, 30, 59])
def test_a_draft_leaves_the_greedy_text_as_it_is(
    model: gpt.GPT, draft: gpt.GPT, tokens: int
) -> None:
    plain, drafted, alike = (
        model.complete(["Hello"], temperature=0, max_tokens=tokens, **kind)[0].tokens
        for kind in ({}, {"draft": draft}, {"draft": model})
    )
    assert plain == drafted == alike


def test_what_a_draft_leads_to_has_the_distribution_of_the_model() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(6) / 2), rng.dirichlet(np.ones(6) / 2)
        # Shares of the draft's tokens that are accepted, measured on a fine grid of u.
        grid = (np.arange(4000) + 0.5) / 4000
        kept = np.array(
            [q[t] * np.mean([speculative.accepted(p, q, t, u) for u in grid]) for t in range(6)]
        )
        found = kept + (1 - kept.sum()) * speculative.residual(p, q)
        np.testing.assert_allclose(found, p, atol=1e-3)


def test_drawn_text_with_a_draft_ends_and_repeats(model: gpt.GPT, draft: gpt.GPT) -> None:
    made = [text_of(model, seed=1, draft=draft, stop=["zzz"]) for _ in range(2)]
    assert made[0] == made[1] and len(made[0].encode("utf-8", "replace")) >= 20
    several = model.complete(["a", "bc"], n=2, max_tokens=6, draft=draft)
    assert [len(c.tokens) for c in several] == [6] * 4


def test_drafts_that_cannot_be(model: gpt.GPT, draft: gpt.GPT) -> None:
    other = gpt.build("gpt_nano", vocab=50257, width=4, heads=1)
    other.tokenizer, other.arch, model.arch = gpt2_tokenizer(), "other", "large"
    with pytest.raises(GenerateError, match="the draft other has another tokenizer than large"):
        model.generate("x", draft=other)
    short = gpt.build("gpt_nano", vocab=257, context=8)
    short.tokenizer, short.arch = byte_tokenizer(), "short"
    with pytest.raises(GenerateError, match="short reads at most 8 tokens, not 11"):
        model.generate("x", max_tokens=10, draft=short)
    with pytest.raises(GenerateError, match="cannot be used with beams"):
        model.generate("x", draft=draft, beams=2)
    with pytest.raises(GenerateError, match="needs the cache"):
        model.generate("x", draft=draft, window=True)


def test_examples() -> None:
    for module in (sampling, settings_module, speculative, stops):
        assert doctest.testmod(module, extraglobs={"np": np}).failed == 0
