"""Module: registration by assignment, walking the tree, state dicts, modes, conversion."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import engine
from engine import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(4)  # before its own parameter, which still comes first
        self.scale = nn.Parameter([1.0, 2.0])
        self.register_buffer("count", engine.asarray(3))
        self.register_buffer("scratch", engine.zeros(2), persistent=False)
        self.absent = None

    def forward(self, x: engine.Tensor) -> engine.Tensor:
        return x * self.scale


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3)
        self.blocks = nn.Sequential(Block(), nn.Linear(4, 2, bias=False))


NET_KEYS = [
    "stem.weight",
    "stem.bias",
    "blocks.0.scale",
    "blocks.0.count",
    "blocks.0.norm.weight",
    "blocks.0.norm.bias",
    "blocks.0.norm.running_mean",
    "blocks.0.norm.running_var",
    "blocks.0.norm.num_batches_tracked",
    "blocks.1.weight",
]


def arrays(module: nn.Module) -> dict[str, np.ndarray]:
    return {key: value.numpy().copy() for key, value in module.state_dict().items()}


def test_state_dict_has_pytorchs_keys_in_its_order() -> None:
    assert list(Net().state_dict()) == NET_KEYS


def test_state_dict_shares_memory_with_the_module() -> None:
    net = Net()
    net.state_dict()["blocks.0.scale"].numpy()[0] = 7
    assert net.blocks[0].scale.tolist() == [7, 2]


def test_named_parameters_leave_buffers_out() -> None:
    names = [name for name, _ in Net().named_parameters()]
    assert names == [k for k in NET_KEYS if "running" not in k and not k.endswith(("count", "ked"))]


def test_named_buffers_include_those_that_are_not_saved() -> None:
    names = [name for name, _ in Net().blocks[0].named_buffers("b")]
    assert names == [
        "b.count",
        "b.scratch",
        "b.norm.running_mean",
        "b.norm.running_var",
        "b.norm.num_batches_tracked",
    ]


def test_named_modules_start_with_the_root_and_go_down() -> None:
    names = [name for name, _ in Net().named_modules()]
    assert names == ["", "stem", "blocks", "blocks.0", "blocks.0.norm", "blocks.1"]


def test_tied_parameters_count_once_but_have_two_keys() -> None:
    net = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))
    net[1].weight = net[0].weight
    assert [name for name, _ in net.named_parameters()] == ["0.weight"]
    assert net.num_parameters == 9
    assert list(net.state_dict()) == ["0.weight", "1.weight"]


def test_a_module_reached_twice_is_visited_once() -> None:
    relu = nn.ReLU()
    assert len(list(nn.Sequential(relu, relu).modules())) == 2


def test_num_parameters_counts_elements() -> None:
    assert nn.Linear(3, 4).num_parameters == 16


def test_parameter_shares_the_memory_of_its_tensor() -> None:
    data = engine.zeros(2)
    parameter = nn.Parameter(data)
    data.numpy()[0] = 5
    assert parameter.requires_grad and parameter.tolist() == [5, 0] and not data.requires_grad


def test_parameter_can_be_frozen_from_the_start() -> None:
    assert not nn.Parameter([1.0], requires_grad=False).requires_grad


def test_gradients_arrive_at_parameters() -> None:
    block = Block()
    block(engine.asarray([3.0, 4.0])).sum().backward()
    assert block.scale.grad.tolist() == [3, 4]
    assert isinstance(block.scale, nn.Parameter)


def test_zero_grad_drops_gradients() -> None:
    block = Block()
    block(engine.asarray([3.0, 4.0])).sum().backward()
    block.zero_grad()
    assert block.scale.grad is None


def test_assigning_a_plain_tensor_over_a_parameter_is_refused() -> None:
    block = Block()
    with pytest.raises(TypeError, match=r"Block.scale is a Parameter.*Parameter\(tensor\)"):
        block.scale = engine.zeros(2)


def test_a_parameter_can_be_replaced_and_removed() -> None:
    block = Block()
    block.scale = nn.Parameter([9.0])
    assert block.state_dict()["scale"].tolist() == [9]
    block.scale = None
    assert "scale" not in block.state_dict()


def test_a_buffer_can_be_replaced_by_a_tensor() -> None:
    block = Block()
    block.count = engine.asarray(8)
    assert block.state_dict()["count"].item() == 8


def test_assigning_before_super_init_says_so() -> None:
    class Early(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.ReLU()

    with pytest.raises(AttributeError, match=r"call super\(\).__init__\(\) before assigning"):
        Early()


@pytest.mark.parametrize("name", ["", "a.b", "forward", "scale"])
def test_register_buffer_refuses_names_that_cannot_be_keys(name: str) -> None:
    with pytest.raises(KeyError, match="register_buffer"):
        Block().register_buffer(name, engine.zeros(1))


def test_a_module_without_forward_says_so() -> None:
    with pytest.raises(NotImplementedError, match="Net has no forward"):
        Net()(1)


def test_train_and_eval_reach_every_module() -> None:
    net = Net().eval()
    assert not any(module.training for module in net.modules())
    assert all(module.training for module in net.train().modules())


def test_requires_grad_freezes_all_parameters() -> None:
    net = Net().requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_apply_goes_inside_out() -> None:
    seen: list[str] = []
    Net().apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Conv2d", "BatchNorm2d", "Block", "Linear", "Sequential", "Net"]


def test_repr_shows_the_tree() -> None:
    assert repr(nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU()))) == (
        "Sequential(\n  (0): Linear(3, 4, bias=True)\n  (1): Sequential(\n    (0): ReLU()\n  )\n)"
    )


# ---- loading -----------------------------------------------------------------------------------


def test_load_copies_every_value() -> None:
    source, target = Net(), Net()
    target.load_state_dict(source.state_dict())
    for key, value in arrays(source).items():
        np.testing.assert_array_equal(arrays(target)[key], value)


def test_load_keeps_the_parameters_themselves() -> None:
    net = Net()
    before = dict(net.named_parameters())
    net.load_state_dict(Net().state_dict())
    assert all(before[name] is parameter for name, parameter in net.named_parameters())


def test_load_takes_read_only_numpy_arrays_and_converts_floats() -> None:
    layer = nn.Linear(2, 1, bias=False)
    value = np.array([[0.5, 2.0]], np.float16)
    value.flags.writeable = False
    layer.load_state_dict({"weight": value})
    assert layer.weight.dtype == engine.float32 and layer.weight.tolist() == [[0.5, 2.0]]


def test_load_lists_missing_unexpected_and_mismatched_keys() -> None:
    net = Net()
    state = arrays(Net())
    state["blocks.0.scales"] = state.pop("blocks.0.scale")
    state["stem.weight"] = state["stem.weight"][:2]
    with pytest.raises(nn.StateDictError) as caught:
        net.load_state_dict(state)
    error = caught.value
    assert error.missing_keys == ["blocks.0.scale"]
    assert error.unexpected_keys == ["blocks.0.scales"]
    assert list(error.mismatched) == ["stem.weight"]
    assert error.matched == 9
    assert "9 of its 10 keys matched, 1 missing, 1 unexpected, 1 mismatched" in str(error)
    assert "blocks.0.scale (the dict has blocks.0.scales)" in str(error)
    assert "shape (2, 3, 3, 3) in the dict, (4, 3, 3, 3) in the model" in str(error)


def test_a_refused_load_changes_nothing() -> None:
    net = Net()
    before = arrays(net)
    state = {key: value + 1 for key, value in before.items()}
    del state["blocks.1.weight"]
    with pytest.raises(nn.StateDictError):
        net.load_state_dict(state)
    for key, value in arrays(net).items():
        np.testing.assert_array_equal(value, before[key])


def test_lenient_load_reports_what_it_left_out() -> None:
    net = Net()
    state = {"stem.bias": np.ones(4, np.float32), "other": np.zeros(1)}
    result = net.load_state_dict(state, strict=False)
    assert net.stem.bias.tolist() == [1, 1, 1, 1]
    assert result.unexpected_keys == ["other"]
    assert set(result.missing_keys) == set(NET_KEYS) - {
        "stem.bias",
        "blocks.0.norm.num_batches_tracked",
    }


def test_lenient_load_still_refuses_other_shapes() -> None:
    with pytest.raises(nn.StateDictError, match=r"stem.bias: shape \(3,\) in the dict"):
        Net().load_state_dict({"stem.bias": np.ones(3)}, strict=False)


@pytest.mark.parametrize("prefix", ["module.", "model.net."])
@pytest.mark.parametrize("strict", [True, False])
def test_zero_matched_keys_is_never_success(prefix: str, strict: bool) -> None:
    """Field case B-05: a prefix before every key and lenient loading used to load nothing."""
    state = {prefix + key: value for key, value in arrays(Net()).items()}
    with pytest.raises(nn.StateDictError, match="0 of its 10 keys matched") as caught:
        Net().load_state_dict(state, strict=strict)
    assert f"start with '{prefix}'" in str(caught.value)


def test_an_empty_dict_is_refused_even_when_lenient() -> None:
    with pytest.raises(nn.StateDictError):
        Net().load_state_dict({}, strict=False)


def test_num_batches_tracked_may_be_missing() -> None:
    state = arrays(Net())
    del state["blocks.0.norm.num_batches_tracked"]
    assert Net().load_state_dict(state) == ([], [])


def test_float_values_for_integer_buffers_are_refused() -> None:
    state = {**arrays(Net()), "blocks.0.count": np.array(1.5)}
    with pytest.raises(nn.StateDictError, match="count: dtype float64 in the dict, int64"):
        Net().load_state_dict(state)


def test_values_that_are_no_arrays_are_refused_by_name() -> None:
    with pytest.raises(nn.StateDictError, match="value of 'weight' is a str"):
        nn.Linear(1, 1).load_state_dict({"weight": "abc", "bias": np.zeros(1)})


# ---- conversion and copies ---------------------------------------------------------------------


def test_to_converts_floats_and_leaves_integers() -> None:
    net = Net().to(engine.float64)
    dtypes = {key: str(value.dtype) for key, value in net.state_dict().items()}
    integers = {"blocks.0.count", "blocks.0.norm.num_batches_tracked"}
    assert dtypes == {key: "int64" if key in integers else "float64" for key in NET_KEYS}
    assert net.stem.weight.requires_grad


def test_to_keeps_tied_parameters_tied() -> None:
    net = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))
    net[1].weight = net[0].weight
    net.to(engine.float64)
    assert net[0].weight is net[1].weight


def test_to_the_cpu_is_no_change() -> None:
    block = Block().to("cpu")
    assert block.scale.tolist() == [1, 2] and block.scale.dtype == engine.float32


def test_parameters_can_be_copied_deeply() -> None:
    parameter = nn.Parameter([1.0, 2.0])
    copied = copy.deepcopy(parameter)
    copied.detach().numpy()[0] = 9
    assert parameter.tolist() == [1, 2] and isinstance(copied, nn.Parameter)


def test_modules_can_be_copied_deeply() -> None:
    net = Net()
    copied = copy.deepcopy(net)
    before = arrays(net)
    for parameter in copied.parameters():
        parameter.detach().numpy()[...] = 5
    copied.blocks[0].norm.running_mean.numpy()[...] = 5
    assert list(copied.state_dict()) == NET_KEYS
    assert all((arrays(net)[key] == value).all() for key, value in before.items())


def test_tied_parameters_stay_tied_in_a_copy() -> None:
    net = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))
    net[1].weight = net[0].weight
    copied = copy.deepcopy(net)
    assert copied[0].weight is copied[1].weight is not net[0].weight


# ---- containers --------------------------------------------------------------------------------


def test_sequential_runs_in_order() -> None:
    double, shift = Affine(2, 0), Affine(1, 3)
    assert nn.Sequential(double, shift)(5) == 13


@pytest.mark.parametrize("kind", [lambda m: nn.Sequential(*m), nn.ModuleList])
def test_a_slice_is_a_container_of_the_same_modules(kind) -> None:
    modules = [nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 3)]
    whole = kind(modules).eval()
    part = whole[1:]
    assert type(part) is type(whole) and len(part) == 2 and not part.training
    assert part[0] is modules[1] and part[-1] is modules[2] is whole[2]
    assert list(part.state_dict()) == ["1.weight", "1.bias"]
    assert [m for m in whole[::-1]] == modules[::-1] and len(whole[5:]) == 0
    part.append(nn.ReLU())
    assert len(whole) == 3


class Affine(nn.Module):
    def __init__(self, scale: int, shift: int) -> None:
        super().__init__()
        self.scale, self.shift = scale, shift

    def forward(self, x: int) -> int:
        return x * self.scale + self.shift


def test_module_list_is_indexed_iterated_and_extended() -> None:
    layers = nn.ModuleList([nn.ReLU()])
    layers.append(nn.Identity())
    assert len(layers) == 2
    assert [type(layer) for layer in layers] == [nn.ReLU, nn.Identity]
    assert isinstance(layers[-1], nn.Identity)


def test_a_member_of_a_container_can_be_replaced() -> None:
    layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    layers[0] = nn.Identity()
    assert isinstance(layers[0], nn.Identity) and list(layers.state_dict()) == []


def test_containers_refuse_what_is_no_module() -> None:
    with pytest.raises(TypeError, match="Sequential: expected a Module, got int"):
        nn.Sequential(nn.ReLU(), 3)
