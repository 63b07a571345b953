"""Collective operations, on ranks that are threads: no MPI is needed here."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

import engine
from engine import nn
from engine.distributed import RankTimeout, nccl
from engine.distributed.memory import flat
from engine.nn import functional as F
from tests.fake_ranks import run_ranks


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(
    ("operation", "expected"),
    [("sum", lambda n: n * (n + 1) / 2), ("mean", lambda n: (n + 1) / 2), ("max", lambda n: n),
     ("min", lambda n: 1)],
)  # fmt: skip
def test_all_reduce_in_place(size, operation, expected):
    def work(group):
        t = engine.full((2, 3), group.rank + 1.0)
        address = t.data_ptr()
        assert group.all_reduce(t, operation) is t and t.data_ptr() == address
        return t.numpy()

    for found in run_ranks(size, work):
        np.testing.assert_array_equal(found, np.full((2, 3), expected(size), np.float32))


def test_a_tensor_in_another_memory_order_needs_no_copy():
    def work(group):
        t = engine.asarray(np.arange(24.0).reshape(1, 4, 3, 2)).permute_dims((0, 3, 1, 2))
        group.all_reduce(t)
        return t.numpy()

    for found in run_ranks(2, work):
        np.testing.assert_array_equal(
            found, 2 * np.arange(24.0).reshape(1, 4, 3, 2).transpose(0, 3, 1, 2)
        )


def test_a_tensor_with_gaps_is_refused():
    with pytest.raises(ValueError, match=r"shape \(3, 2\).*gaps in memory.*clone"):
        flat(engine.ones((3, 4))[:, :2], "all_reduce")


def test_gather_scatter_and_broadcast():
    def work(group):
        mine = engine.asarray([[float(group.rank), 7.0]])
        gathered = group.all_gather(mine)
        part = group.reduce_scatter(engine.arange(4).astype(engine.float32).reshape((2, 2)), "mean")
        sent = group.broadcast(engine.full(3, float(group.rank)), root=1)
        group.barrier()
        return gathered.tolist(), part.tolist(), sent.tolist()

    first, second = run_ranks(2, work)
    assert first == ([[[0, 7]], [[1, 7]]], [[0, 1]], [1, 1, 1])
    assert second == ([[[0, 7]], [[1, 7]]], [[2, 3]], [1, 1, 1])


def test_bfloat16_is_added_up_in_float32():
    # 256 + 1 + 1: in bfloat16 each addition of 1 would be lost.
    values = [256.0, 1.0, 1.0]

    def work(group):
        t = engine.full(5, values[group.rank], dtype=engine.bfloat16)
        group.all_reduce(t)
        return t.tolist()

    assert run_ranks(3, work) == [[258.0] * 5] * 3


def test_work_in_the_background_gives_its_time():
    def work(group):
        t = engine.ones(10)
        seconds = group.all_reduce(t, background=True).wait()
        return t.tolist(), seconds >= 0

    assert run_ranks(2, work) == [([2.0] * 10, True)] * 2


def test_wrong_requests_are_refused():
    def work(group):
        with pytest.raises(ValueError, match="operation='product'; expected mean or one of sum"):
            group.all_reduce(engine.ones(2), "product")
        with pytest.raises(ValueError, match="multiple of the 2 ranks"):
            group.reduce_scatter(engine.ones(3))
        with pytest.raises(ValueError, match="root=2; expected a rank, 0 to 1"):
            group.broadcast(engine.ones(3), root=2)
        with pytest.raises(ValueError, match="expected a contiguous one"):
            group.all_gather(engine.ones((2, 3)).permute_dims((1, 0)))

    run_ranks(2, work)


def test_a_rank_that_does_not_come_ends_the_wait_by_name():
    def work(group):
        for _ in range(5 + group.rank):  # field case F-02: 5 batches here, 6 there
            group.all_reduce(engine.ones(2), timeout=0.5, label="the gradients of fc.weight")

    with pytest.raises(RankTimeout, match="rank 1 of 2.*fc.weight"):
        run_ranks(2, work)


def test_a_change_by_another_rank_is_seen_by_the_tape():
    def work(group):
        x = engine.ones(3)
        x.requires_grad = True
        y = engine.exp(x)
        group.all_reduce(y)
        with pytest.raises(engine.AutogradError, match="changed|in place|in-place"):
            y.sum().backward()

    run_ranks(2, work)


def test_leaving_tells_the_codes_of_all():
    assert run_ranks(3, lambda group: group.leave(group.rank, grace=5)) == [[0, 1, 2]] * 3


def test_leaving_alone_is_noticed():
    def work(group):
        return group.leave(1, grace=0.3) if group.rank else None

    assert run_ranks(2, work) == [None, None]


@pytest.mark.parametrize("parts", [(6, 2), (8, 0), (3, 5)])
@pytest.mark.parametrize("fused", [False, True])
def test_synced_batch_norm_is_that_of_the_whole_batch(parts, fused):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((8, 3, 4, 4)) + 5
    residual = rng.standard_normal((8, 3, 4, 4))
    scale = rng.standard_normal((8, 3, 4, 4))

    def through(norm, rows):
        given = [engine.from_numpy(v[rows].copy()) for v in (x, residual)]
        for t in given:
            t.requires_grad = True
        y = norm(*given, relu=True) if fused else norm(given[0])
        (y * engine.from_numpy(scale[rows].copy())).sum().backward()
        return y.detach().numpy(), given[0].grad.numpy()

    def make():
        norm = nn.BatchNorm2d(3)
        for name in ("running_mean", "running_var"):
            setattr(norm, name, getattr(norm, name).astype(engine.float64))
        for name in ("weight", "bias"):
            value = engine.asarray(np.array([1.0, 2.0, -0.5]))
            setattr(norm, name, nn.Parameter(value))
        return norm

    whole = make()
    y, grad = through(whole, slice(None))

    def work(group):
        norm = make()
        norm.group = group
        rows = slice(0, parts[0]) if group.rank == 0 else slice(parts[0], 8)
        found = through(norm, rows)
        return (*found, norm)

    ranks = run_ranks(2, work)
    np.testing.assert_allclose(np.concatenate([r[0] for r in ranks]), y, atol=1e-12)
    np.testing.assert_allclose(np.concatenate([r[1] for r in ranks]), grad, atol=1e-12)
    for name in ("weight", "bias"):
        total = sum(getattr(r[2], name).grad.numpy() for r in ranks)
        np.testing.assert_allclose(total, getattr(whole, name).grad.numpy(), atol=1e-11)
    for _, _, norm in ranks:
        for name in ("running_mean", "running_var"):
            np.testing.assert_allclose(
                getattr(norm, name).numpy(), getattr(whole, name).numpy(), atol=1e-12
            )


def test_an_empty_part_goes_through_a_network():
    images = np.random.default_rng(0).standard_normal((4, 3, 8, 8)).astype(np.float32)
    labels = np.array([0, 1, 1, 0])

    def gradients(group, rows):
        engine.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU(),
        )  # fmt: skip
        head = nn.Linear(4, 2)
        for module in model:
            if isinstance(module, nn.BatchNorm2d):
                module.group = group
        x, y = engine.from_numpy(images[rows]), engine.from_numpy(labels[rows])
        F.cross_entropy(head(model(x).mean(axis=(2, 3))), y, reduction="sum").backward()
        return [p.grad.numpy() for p in (*model.parameters(), *head.parameters())]

    expected = gradients(None, slice(None))
    found = run_ranks(2, lambda g: gradients(g, slice(None) if g.rank == 0 else slice(0, 0)))
    for whole, full, empty in zip(expected, *found, strict=True):
        np.testing.assert_allclose(full, whole, atol=2e-5)
        assert not empty.any()


class FakeNccl:
    """engine.cuda.nccl as far as it is used, on numbers that stand for tensors."""

    ID_BYTES = 4
    keys: list[bytes] = []

    class Communicator:
        def __init__(self, rank, world_size, key, device):
            self.place = rank, world_size, device
            FakeNccl.keys.append(key)
            self.calls = []

        def all_reduce(self, tensor, op="sum"):
            self.calls.append(("all_reduce", tensor.tolist(), op))

        def broadcast(self, tensor, root=0):
            self.calls.append(("broadcast", tensor.tolist(), root))

    @staticmethod
    def unique_id():
        return b"once"


def test_gpus_meet_by_a_key_of_rank_0(monkeypatch):
    monkeypatch.setitem(sys.modules, "engine.cuda", FakeNccl)
    monkeypatch.setitem(sys.modules, "engine.cuda.nccl", FakeNccl)
    FakeNccl.keys.clear()

    def work(group):
        lane = nccl.NcclLane(group._front, f"cuda:{group.rank}", float("inf"))
        lane.all_reduce(engine.asarray([1.0]), "sum")
        # In the order of its memory: NCCL knows no steps.
        lane.broadcast(engine.asarray([[1.0, 2.0], [3.0, 4.0]]).T, 0)
        with pytest.raises(ValueError, match="broadcast: .* has gaps in memory"):
            lane.broadcast(engine.ones(4)[::2], 0)
        return lane._group.place, lane._group.calls

    calls = [("all_reduce", [1.0], "sum"), ("broadcast", [[1.0, 2.0], [3.0, 4.0]], 0)]
    assert run_ranks(2, work) == [((0, 2, "cuda:0"), calls), ((1, 2, "cuda:1"), calls)]
    assert FakeNccl.keys == [b"once"] * 2


class GpuThatWaits:
    """A lane between GPUs whose work is done once `abort` is called."""

    def __init__(self):
        self.gone = threading.Event()

    def finish(self):
        assert self.gone.wait(20)

    def abort(self):
        self.gone.set()


def test_a_gpu_that_waits_for_another_too_long_is_given_up():
    def work(group):
        lane = GpuThatWaits()
        with pytest.raises(RankTimeout, match=r"waited 0 s for the others' GPUs in the gradients"):
            group._on_device(lane, 0.05, "the gradients of x").wait()
        return lane.gone.is_set()

    assert run_ranks(2, work) == [True, True]


def test_one_process_imports_no_mpi():
    code = (
        "import engine, sys; import zoo.train.run; "
        "from engine import distributed as d; "
        "print(d.rank(), d.world_size(), d.is_initialized(), 'mpi4py' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["0", "1", "False", "False"]


def test_without_ranks_operations_say_what_to_do():
    from engine import distributed

    with pytest.raises(distributed.DistributedError, match="mpiexec or srun"):
        distributed.barrier()


def test_the_scaling_model_agrees_with_what_can_be_worked_out_by_hand():
    from tests.benchmarks import scaling_model as model

    # 2 ranks, no latency: each sends 2 messages of half of the bytes.
    assert model.Link(0.0, 100.0).ring(2, 1000.0) == pytest.approx(10.0)
    work = model.Work("w", parameters=25, samples=1, seconds=3.0, bucket_bytes=1e9)
    slowest = 3.0 * (1 + 0.02 * np.sqrt(2 * np.log(2)))
    slow = model.Network("slow", model.Link(0.0, 100.0))  # 100 bytes: 1 s after backward
    assert work.step(2, slow) == pytest.approx(slowest + 1.0)
    assert work.efficiency(1, slow) == 1
    falling = [work.efficiency(n, slow) for n in model.RANKS]
    assert falling == sorted(falling, reverse=True)
