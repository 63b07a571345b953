"""GPT-2 against results of the reference implementation (reference/make_gpt_golden.py), and by
itself: sizes, key names, the layout of projections, cache, padding and the context limit."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.nn import init
from tests.zoo.reference import seeded_gpt as s
from zoo.models import gpt
from zoo.models.text_model import ContextTooLong
from zoo.text.generation import Reader

GOLDEN = np.load(Path(__file__).parent / "reference" / "golden_gpt.npz", allow_pickle=False)
LONG = np.load(Path(__file__).parent / "reference" / "golden_gpt_long.npz", allow_pickle=False)
each_case = pytest.mark.parametrize("name", s.CASES)


@cache
def network(name: str, dtype: str = "float64", context: int = s.CONTEXT) -> gpt.GPT:
    layers, width, heads = s.CASES[name]
    model = gpt.build(
        name, layers=layers, width=width, heads=heads, vocab=s.VOCAB, context=context
    ).to(engine.dtype_named(dtype))
    shapes = {key: value.shape for key, value in model.state_dict().items()}
    model.load_state_dict(s.seeded_gpt_state(shapes))
    return model.eval()


def tokens() -> engine.Tensor:
    return engine.asarray(s.seeded_tokens())


def relative(actual: np.ndarray, wanted: np.ndarray) -> float:
    """Largest difference over the largest value."""
    return float(np.abs(actual - wanted).max() / np.abs(wanted).max())


@each_case
@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-11), ("float32", 1e-4)])
def test_logits(name: str, dtype: str, tolerance: float) -> None:
    with engine.no_grad():
        logits = network(name, dtype)(tokens()).numpy()
    assert relative(logits, GOLDEN[f"{name}/logits"]) < tolerance


@each_case
def test_loss_and_gradients(name: str) -> None:
    model = network(name)
    model.zero_grad()
    ids = tokens()
    loss = model.loss(ids[:, :-1], ids[:, 1:])
    loss.backward()
    assert loss.item() == pytest.approx(float(GOLDEN[f"{name}/loss"]), rel=1e-11)
    grads = {key: p.grad.numpy() for key, p in model.named_parameters()}
    norms = [np.linalg.norm(grad) for grad in grads.values()]
    np.testing.assert_allclose(norms, GOLDEN[f"{name}/grad_norms"], rtol=1e-9)
    for key in s.WHOLE_GRADIENTS:
        assert relative(grads[key].ravel()[:64], GOLDEN[f"{name}/grad/{key}"]) < 1e-9


@each_case
def test_a_short_prompt_in_a_padded_batch(name: str) -> None:
    """Field case D-03."""
    with engine.no_grad():
        last = network(name)(tokens(), pads=s.PADS).numpy()[:, -1]
    assert relative(last, GOLDEN[f"{name}/padded"]) < 1e-11


@pytest.mark.parametrize(
    "name, cached", [*((name, True) for name in s.CASES), ("gpt2", False), ("distilgpt2", False)]
)
def test_greedy_text(name: str, cached: bool) -> None:
    model = network(name, "float32")
    ids = s.seeded_tokens()[:1].tolist()[0]
    store = model.new_cache(1) if cached else None
    with engine.no_grad():
        for _ in range(s.GREEDY):
            fresh = ids if store is None else ids[store.used :]
            ids.append(int(model(engine.asarray([fresh]), cache=store).numpy()[0, -1].argmax()))
    assert ids[s.LENGTH :] == GOLDEN[f"{name}/greedy"][0].tolist()


@pytest.mark.parametrize(
    "name, cached", [*((name, True) for name in s.CASES), ("distilgpt2", False)]
)
def test_greedy_text_of_200_tokens(name: str, cached: bool) -> None:
    model = network(name, "float32", s.LONG_CONTEXT)
    reader = Reader(model, [s.seeded_tokens()[0].tolist()], s.LENGTH + s.LONG, cached)
    for _ in range(s.LONG):
        reader.rows[0].append(int(reader.next_logits()[0].argmax()))
    assert reader.rows[0][s.LENGTH :] == LONG[name].tolist()


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("gpt2", 124439808),
        ("gpt2-medium", 354823168),
        ("gpt2-large", 774030080),
        ("gpt2-xl", 1557611200),
        ("distilgpt2", 81912576),
    ],
)
def test_numbers_of_parameters(name: str, parameters: int) -> None:
    config = gpt.VARIANTS[name]
    with init.skip_random():
        model = gpt.build(name, layers=1, context=8)
    block = sum(p.size for p in model.h[0].parameters())
    rest = model.num_parameters - block + (config.context - 8) * config.width
    assert rest + block * config.layers == parameters


def test_keys_and_shapes_are_those_of_the_published_files() -> None:
    with init.skip_random():
        shapes = {k: v.shape for k, v in gpt.build("distilgpt2", layers=1).state_dict().items()}
    assert shapes == {
        "wte.weight": (50257, 768),
        "wpe.weight": (1024, 768),
        "h.0.ln_1.weight": (768,),
        "h.0.ln_1.bias": (768,),
        "h.0.attn.c_attn.weight": (768, 2304),
        "h.0.attn.c_attn.bias": (2304,),
        "h.0.attn.c_proj.weight": (768, 768),
        "h.0.attn.c_proj.bias": (768,),
        "h.0.ln_2.weight": (768,),
        "h.0.ln_2.bias": (768,),
        "h.0.mlp.c_fc.weight": (768, 3072),
        "h.0.mlp.c_fc.bias": (3072,),
        "h.0.mlp.c_proj.weight": (3072, 768),
        "h.0.mlp.c_proj.bias": (768,),
        "ln_f.weight": (768,),
        "ln_f.bias": (768,),
    }


def test_square_projections_multiply_from_the_right() -> None:
    """Field case B-10."""
    layer = gpt.Conv1D(8, 8)
    rng = np.random.default_rng(0)
    weight, bias, x = rng.random((8, 8)), rng.random(8), rng.random((3, 8))
    layer.to(engine.float64).load_state_dict({"weight": weight, "bias": bias})
    np.testing.assert_allclose(
        layer(engine.asarray(x)).detach().numpy(), x @ weight + bias, rtol=1e-12
    )


def test_pieces_read_through_a_cache_give_the_logits_of_the_whole() -> None:
    model, ids = network("distilgpt2"), tokens()
    store = model.new_cache(s.BATCH, 16)
    memory = [t.data_ptr() for t in (*store.keys, *store.values)]
    with engine.no_grad():
        whole = model(ids).numpy()
        parts = [model(ids[:, a:b], cache=store).numpy() for a, b in ((0, 4), (4, 5), (5, 11))]
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, rtol=1e-10)
    assert memory == [t.data_ptr() for t in (*store.keys, *store.values)]


def test_a_padded_batch_continues_through_a_cache_as_each_sequence_alone() -> None:
    model, ids = network("distilgpt2"), tokens()
    store = model.new_cache(s.BATCH, pads=s.PADS)
    with engine.no_grad():
        model(ids[:, :7], cache=store)
        together = model(ids[:, 7:], cache=store).numpy()
        for row, pad in enumerate(s.PADS):
            alone = model(ids[row : row + 1, pad:]).numpy()[:, 7 - pad :]
            np.testing.assert_allclose(together[row : row + 1], alone, rtol=1e-9)


def test_padding_has_no_positions() -> None:
    """Field case D-03."""
    assert gpt._positions(0, 5, (2, 0)).tolist() == [[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]]


@pytest.mark.parametrize("cached", [True, False])
def test_more_tokens_than_the_context_are_refused(cached: bool) -> None:
    """Field case D-02."""
    model = network("distilgpt2")
    long = engine.asarray(np.zeros((1, s.CONTEXT + 1), np.int64))
    with pytest.raises(ContextTooLong, match="49 tokens.* at most 48"):
        model(long, cache=model.new_cache(1) if cached else None)


def test_checkpointing_changes_memory_and_not_the_gradients() -> None:
    ids = tokens()
    gradients = []
    for checkpointing in (False, True):
        model = gpt.build("gpt_nano", vocab=s.VOCAB, dropout=0.1)
        model.load_state_dict(
            s.seeded_gpt_state({k: v.shape for k, v in model.state_dict().items()})
        )
        model.checkpointing = checkpointing
        engine.manual_seed(1)
        model.loss(ids[:, :-1], ids[:, 1:]).backward()
        gradients.append([p.grad.numpy() for p in model.parameters()])
    for plain, again in zip(*gradients, strict=True):
        np.testing.assert_array_equal(plain, again)


def test_a_width_that_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="width=10 is no multiple of heads=4.*width=12"):
        gpt.build("gpt_nano", width=10, heads=4)


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(TypeError, match="no setting depth; expected some of layers, width"):
        gpt.build("gpt_nano", depth=3)


@pytest.mark.parametrize("kind, tolerance", [("bfloat16", 0.01), ("int8", 0.05), ("int4", 0.5)])
def test_fewer_bits_give_nearly_the_same_logits(kind: str, tolerance: float) -> None:
    model = gpt.build("gpt_nano", width=64, heads=2, vocab=s.VOCAB)
    shapes = {key: value.shape for key, value in model.state_dict().items()}
    model.load_state_dict(s.seeded_gpt_state(shapes))
    model.eval()
    ids = tokens()
    with engine.no_grad():
        exact, loss = model(ids).numpy(), model.loss(ids[:, :-1], ids[:, 1:]).item()
        model.quantize(kind)
        assert 0 < relative(model(ids).numpy(), exact) < tolerance
        found = model.loss(ids[:, :-1], ids[:, 1:]).item()
        assert found == pytest.approx(loss, rel=tolerance)
