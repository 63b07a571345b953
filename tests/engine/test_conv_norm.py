"""A convolution that does what follows it while it writes."""

import numpy as np
import pytest

import engine
from engine import nn


def layers(groups: int = 1, size: int = 3, bias: bool = False) -> tuple[nn.Conv2d, nn.BatchNorm2d]:
    engine.manual_seed(0)
    conv = nn.Conv2d(16, 48, size, padding=size // 2, groups=groups, bias=bias)
    norm = nn.BatchNorm2d(48)
    with engine.no_grad():
        for t in (norm.weight, norm.bias, norm.running_mean):
            t.copy_(engine.randn(t.shape))
        norm.running_var.copy_(engine.rand((48,)) + 0.5)
    return conv, norm


# 3x3 by Winograd, 1x1 and 5x5 by matrix products, narrow groups by a kernel of their own.
@pytest.mark.parametrize(("groups", "size"), [(1, 3), (1, 1), (1, 5), (16, 3), (2, 3)])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("relu", [False, True])
def test_one_pass_gives_what_three_give(groups, size, bias, residual, relu):
    conv, norm = layers(groups, size, bias)
    norm.eval()
    x = engine.randn((2, 16, 13, 14))
    extra = engine.randn((2, 48, 13, 14)) if residual else None
    with engine.no_grad():
        wanted = norm(conv(x))
        if extra is not None:
            wanted = wanted + extra
        wanted = engine.relu(wanted) if relu else wanted
        got = conv(x, norm, extra, relu)
    scale = float(engine.max(engine.abs(wanted)))
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=2e-6, atol=2e-6 * scale)


def test_long_sums_are_scaled_once():
    engine.manual_seed(0)
    conv, norm = nn.Conv2d(1000, 8, 1, bias=False), nn.BatchNorm2d(8).eval()  # several depth blocks
    norm.running_var.copy_(engine.full((8,), 4.0))
    x = engine.randn((1, 1000, 5, 5))
    with engine.no_grad():
        got = conv(x, norm)
        np.testing.assert_allclose(got.numpy(), norm(conv(x)).numpy(), rtol=1e-5, atol=1e-6)


def test_gradients_flow_in_inference_mode_too():
    conv, norm = layers()
    norm.eval()
    x = engine.randn((2, 16, 6, 6))
    x.requires_grad = True
    conv(x, norm, relu=True).sum().backward()
    got = [x.grad.numpy(), conv.weight.grad.numpy(), norm.weight.grad.numpy()]
    x.grad = conv.weight.grad = norm.weight.grad = None
    norm(conv(x), relu=True).sum().backward()
    for a, t in zip(got, (x, conv.weight, norm.weight), strict=True):
        np.testing.assert_array_equal(a, t.grad.numpy())


def test_training_takes_the_statistics_of_the_batch():
    conv, norm = layers()
    other = nn.BatchNorm2d(48)
    other.load_state_dict(norm.state_dict())
    x = engine.randn((2, 16, 6, 6))
    got, wanted = conv(x, norm, relu=True), other(conv(x), relu=True)
    np.testing.assert_array_equal(got.detach().numpy(), wanted.detach().numpy())
    np.testing.assert_array_equal(norm.running_mean.numpy(), other.running_mean.numpy())


def test_hooks_of_the_norm_are_called():
    conv, norm = layers()
    norm.eval()
    seen = []
    norm.register_forward_hook(lambda module, args, output: seen.append(output.shape))
    with engine.no_grad():
        conv(engine.randn((1, 16, 6, 6)), norm)
    assert seen == [(1, 48, 6, 6)]


def test_a_norm_of_other_channels_is_refused():
    conv, _ = layers()
    with engine.no_grad(), pytest.raises(ValueError, match=r"shape \(7,\), expected \(48,\)"):
        conv(engine.randn((1, 16, 6, 6)), nn.BatchNorm2d(7).eval())
    with pytest.raises(ValueError, match=r"residual of the result's shape \(1, 48, 6, 6\)"):
        conv(engine.randn((1, 16, 6, 6)), residual=engine.ones((1, 48, 6, 5)))


@pytest.mark.parametrize("training", [False, True])
def test_a_sequence_gives_what_its_modules_give_one_by_one(training):
    engine.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.BatchNorm2d(8), nn.ReLU(),
        nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 1), nn.MaxPool2d(2), nn.ReLU(),
    ).train(training)  # fmt: skip
    x = engine.randn((2, 3, 9, 9))
    state = {name: t.clone() for name, t in model.state_dict().items()}
    y = x
    for module in model:
        y = module(y)
    y.sum().backward()
    wanted = [y.detach().numpy(), *(p.grad.numpy() for p in model.parameters())]
    model.zero_grad()
    model.load_state_dict(state)
    y = model(x)
    y.sum().backward()
    got = [y.detach().numpy(), *(p.grad.numpy() for p in model.parameters())]
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_hook_inside_a_sequence_sees_what_its_module_gives():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()).eval()
    x = engine.randn((1, 3, 5, 5))
    with engine.no_grad():
        wanted = model(x).numpy()
        for module in model:
            seen = []
            handle = module.register_forward_hook(lambda m, args, y, seen=seen: seen.append(y))
            np.testing.assert_allclose(model(x).numpy(), wanted, rtol=1e-5, atol=1e-6)
            handle.remove()
            assert len(seen) == 1 and seen[0].shape == (1, 8, 3, 3)
