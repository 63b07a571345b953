"""Containers, first values, modes and files of the layers whose results test_parity.py holds."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import engine
from engine import nn
from engine.nn import functional as F


def uniform_to(tensor: engine.Tensor, bound: float) -> None:
    """Fails unless the values fill [-bound, bound]."""
    values = tensor.numpy()
    assert np.abs(values).max() <= bound
    assert abs(values.std() - bound / math.sqrt(3)) < 0.1 * bound


@pytest.mark.parametrize(
    "make, fan",
    [
        (lambda: nn.Conv1d(30, 40, 5), 150),
        (lambda: nn.Conv3d(8, 20, 3, groups=2), 108),
        (lambda: nn.ConvTranspose1d(40, 30, 5), 150),
        (lambda: nn.ConvTranspose2d(20, 30, 3), 270),
        (lambda: nn.ConvTranspose3d(8, 10, 3), 270),
        (lambda: nn.Bilinear(20, 20, 20), 20),
    ],
)
def test_convolutions_start_uniform_by_fan_in(make, fan) -> None:
    engine.manual_seed(0)
    layer = make()
    uniform_to(layer.weight.detach(), 1 / math.sqrt(fan))
    assert np.abs(layer.bias.detach().numpy()).max() <= 1 / math.sqrt(fan)


def test_recurrent_layers_start_uniform_by_hidden_size() -> None:
    engine.manual_seed(0)
    for parameter in nn.LSTM(20, 25, 2).parameters():
        uniform_to(parameter.detach(), 0.2)
    uniform_to(nn.GRUCell(20, 25).weight_hh.detach(), 0.2)


def test_attention_starts_by_xavier_with_zero_biases() -> None:
    engine.manual_seed(0)
    layer = nn.MultiheadAttention(48, 4)
    uniform_to(layer.in_proj_weight.detach(), math.sqrt(6 / (48 + 144)))
    assert not layer.in_proj_bias.detach().numpy().any()
    assert not layer.out_proj.bias.detach().numpy().any()
    uniform_to(layer.out_proj.weight.detach(), 1 / math.sqrt(48))


def test_the_padding_row_starts_at_zero_and_stays() -> None:
    engine.manual_seed(0)
    layer = nn.Embedding(5, 3, padding_idx=-1)
    assert layer.padding_idx == 4 and not layer.weight.detach().numpy()[4].any()
    layer(engine.asarray([4, 4, 1])).sum().backward()
    np.testing.assert_array_equal(layer.weight.grad.numpy()[:, 0], [0, 1, 0, 0, 0])


def test_max_norm_shrinks_rows_that_are_read() -> None:
    layer = nn.Embedding(3, 2, max_norm=1.0)
    layer.weight.detach()[:] = engine.asarray([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    y = layer(engine.asarray([0, 1]))
    np.testing.assert_allclose(y.detach().numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-5)
    assert layer.weight.detach().numpy()[2].tolist() == [6, 8]


def test_keys_of_recurrent_layers() -> None:
    keys = list(nn.GRU(2, 3, 2, bidirectional=True).state_dict())
    assert keys[:8] == [
        "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_ih_l0_reverse",
        "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse",
    ]  # fmt: skip
    assert len(keys) == 16


def test_dropout_of_transformers_is_off_in_inference() -> None:
    engine.manual_seed(0)
    layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.5)
    x, memory = engine.randn((4, 2, 8)), engine.randn((3, 2, 8))
    assert layer(x, memory).tolist() != layer(x, memory).tolist()
    layer.eval()
    assert layer(x, memory).tolist() == layer(x, memory).tolist()


def test_encoders_copy_their_layer() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16)
    model = nn.TransformerEncoder(layer, 3)
    first, second = model.layers[0], model.layers[1]
    assert first.linear1.weight is not second.linear1.weight
    np.testing.assert_array_equal(
        first.linear1.weight.detach().numpy(), second.linear1.weight.detach().numpy()
    )
    assert "layers.2.self_attn.in_proj_weight" in model.state_dict()


def test_causal_attention_sees_no_later_element() -> None:
    engine.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = engine.randn((1, 5, 8))
    y, _ = layer(x, x, x, is_causal=True)
    changed = engine.asarray(x.numpy().copy())
    changed[0, 3:] = 9.0
    z, _ = layer(changed, changed, changed, is_causal=True)
    np.testing.assert_array_equal(y.detach().numpy()[0, :3], z.detach().numpy()[0, :3])
    assert np.abs(y.detach().numpy()[0, 3:] - z.detach().numpy()[0, 3:]).min() > 0


def test_module_dict() -> None:
    heads = nn.ModuleDict({"a": nn.Linear(2, 3), "b": nn.ReLU()})
    heads["c"] = nn.Linear(2, 1, bias=False)
    assert list(heads) == ["a", "b", "c"] and len(heads) == 3 and "b" in heads
    assert list(heads.state_dict()) == ["a.weight", "a.bias", "c.weight"]
    assert [name for name, _ in heads.items()] == heads.keys()
    del heads["a"]
    assert "a" not in heads and len(heads.values()) == 2
    with pytest.raises(KeyError):
        heads["a"]
    for name in ("a.b", "", "forward"):
        with pytest.raises(KeyError, match="has a dot or is an attribute"):
            heads[name] = nn.ReLU()


def test_parameter_list_and_dict() -> None:
    scales = nn.ParameterList([engine.ones(2), nn.Parameter(engine.zeros(3))])
    scales.append(engine.ones(1))
    scales[0] = engine.full((2,), 5.0)
    assert [tuple(p.shape) for p in scales] == [(2,), (3,), (1,)] and len(scales) == 3
    assert list(scales.state_dict()) == ["0", "1", "2"] and scales[-1].shape == (1,)
    assert scales[0].tolist() == [5, 5] and scales[0].requires_grad

    named = nn.ParameterDict({"x": engine.ones(2)})
    named["y"] = engine.zeros(1)
    assert list(named) == ["x", "y"] == list(named.state_dict()) and "x" in named
    assert len(named.items()) == len(named.values()) == 2 and named.keys() == ["x", "y"]
    del named["x"]
    assert len(named) == 1
    with pytest.raises(KeyError, match="training"):
        named["training"] = engine.ones(1)


def test_vectors_of_parameters_go_both_ways() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    vector = nn.parameters_to_vector(model.parameters())
    assert vector.shape == (13,) and vector.requires_grad
    nn.vector_to_parameters(engine.arange(13).astype(engine.float32), model.parameters())
    assert model[0].weight.tolist() == [[0, 1], [2, 3], [4, 5]] and model[1].bias.tolist() == [12]


def test_clip_grad_value() -> None:
    x = nn.Parameter(engine.asarray([1.0, -5.0, 0.1]))
    (x * x).sum().backward()
    engine.optim.clip_grad_value_([x, nn.Parameter(engine.ones(1))], 1.5)
    np.testing.assert_allclose(x.grad.numpy(), [1.5, -1.5, 0.2])


@pytest.mark.parametrize("name", sorted(nn.__all__))
def test_every_layer_says_what_it_is(name: str) -> None:
    """Layers that need no arguments or plain sizes: repr, a copy, and the copy's repr."""
    value = getattr(nn, name)
    if not (isinstance(value, type) and issubclass(value, nn.Module)) or value is nn.Module:
        return
    for args in ((), (2,), (2, 2), (2, 2, 2), (1, (2, 2)), (1, 1, 1), ((2, 2), 1)):
        try:
            layer = value(*args)
        except TypeError:
            continue
        break
    else:
        layer = value(nn.TransformerEncoderLayer(2, 1, 2), 1)
    assert repr(layer).startswith(name + "(")
    assert repr(copy.deepcopy(layer)) == repr(layer)


def test_a_small_recurrent_classifier_learns() -> None:
    engine.manual_seed(0)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (64, 6))
    target = engine.asarray(x[:, 0] ^ x[:, -1])  # what came first must be remembered
    embed, lstm, head = nn.Embedding(2, 8), nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 2)
    model = nn.ModuleList([embed, lstm, head])
    optimizer = engine.optim.AdamW(model.named_parameters(), lr=0.02)
    tokens = engine.asarray(x)
    for _ in range(60):
        y, _ = lstm(embed(tokens))
        loss = F.cross_entropy(head(y[:, -1]), target)
        model.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
