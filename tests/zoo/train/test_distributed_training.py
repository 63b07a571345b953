"""Training on ranks that are threads: what comes out is what one process makes."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tiny_run import Tiny, pictures

import engine
from engine import nn
from engine.optim import SGD, AdamW
from tests.fake_ranks import run_ranks
from zoo.train.buckets import GradientBuckets, GradientsOutOfStep
from zoo.train.checkpoint import Checkpoints
from zoo.train.config import TrainConfig
from zoo.train.distributed import ALONE, ManyRanks, RanksDiffer
from zoo.train.errors import ConfigError
from zoo.train.log import read_rows
from zoo.train.picture_task import PictureTask
from zoo.train.sharded import ShardedOptimizer
from zoo.train.task import Evaluation, Sums, Task
from zoo.train.trainer import Trainer

SETTINGS: dict[str, Any] = {
    "freeze": "none", "batch_size": 5, "epochs": 2, "optimizer": "sgd", "lr": 0.05,
    "backbone_lr": 1.0, "first_lr": 1.0, "threads": 1,
}  # fmt: skip
ORIGIN = {"source": {"name": "random", "sha256": None}, "data": {"fingerprint": "f"}}


def trained(out: Path, group: Any = None, restore: Any = None, **settings: Any) -> Trainer:
    """A run of the tiny model on 23 pictures: the last batch has 3."""
    out.mkdir(exist_ok=True)
    ranks = ALONE if group is None or group.size == 1 else ManyRanks(group)
    config = TrainConfig(**{**SETTINGS, **settings})
    model = Tiny()
    if ranks.rank == 0:  # what other ranks start from must not matter
        generator = np.random.default_rng(7)
        for parameter in model.parameters():
            values = generator.standard_normal(parameter.shape).astype(np.float32)
            parameter.detach().copy_(engine.from_numpy(0.3 * values))
    task = PictureTask(model, pictures(23), pictures(9, seed=1), config, ranks)
    trainer = Trainer(task, config, out, ORIGIN, say=lambda line: None)
    if restore is not None:
        trainer.restore(restore)
    trainer.fit()
    return trainer


def weights(trainer: Trainer) -> dict[str, np.ndarray]:
    return {name: t.detach().numpy().copy() for name, t in trainer.model.state_dict().items()}


def losses(out: Path) -> list[float]:
    return [row["loss"] for row in read_rows(out / "metrics.jsonl") if row["kind"] == "step"]


@pytest.mark.parametrize(
    "settings",
    [{}, {"mixup": 0.4, "cutmix": 1.0}, {"accumulation": 2},
     {"average": "ema", "ema_decay": 0.9, "norm_batches": 2}, {"shard_optimizer": "on"},
     {"head_epochs": 1, "freeze": "auto", "views": 2, "feature_cache": 0.0}],
    ids=["plain", "mixed", "accumulated", "averaged", "sharded", "features"],
)  # fmt: skip
def test_ranks_end_where_one_process_ends(tmp_path, settings):
    alone = trained(tmp_path / "alone", **settings)
    for size in (2, 3):
        out = tmp_path / f"ranks{size}"
        ranks = run_ranks(size, lambda group, out=out: trained(out, group, **settings))
        np.testing.assert_allclose(losses(out), losses(tmp_path / "alone"), rtol=2e-4)
        for name, expected in weights(alone).items():
            for trainer in ranks:
                found = weights(trainer)[name]
                np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-4, err_msg=name)
                assert np.array_equal(found, weights(ranks[0])[name]), name
        best, other = alone.progress.best, ranks[-1].progress.best
        assert other.metrics["val_accuracy"] == best.metrics["val_accuracy"]


class Exact(nn.Module):
    """conv, batch norm, ReLU, mean, linear in float64."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn, self.fc = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Linear(3, 2)
        generator = np.random.default_rng(3)
        for module in (self.conv, self.bn, self.fc):
            for name, parameter in list(module.named_parameters()):
                values = generator.standard_normal(parameter.shape)
                setattr(module, name, nn.Parameter(engine.from_numpy(values)))
        for name in ("running_mean", "running_var"):
            setattr(self.bn, name, getattr(self.bn, name).astype(engine.float64))

    def forward(self, x: Any) -> Any:
        return self.fc(nn.functional.relu(self.bn(self.conv(x))).mean(axis=(2, 3)))


class ExactTask(Task):
    """The same regression in every epoch: batches of 7, 7 and 2 samples."""

    unit = "samples"
    columns = ()

    def __init__(self, ranks: Any) -> None:
        generator = np.random.default_rng(5)
        self.x, self.y = (
            generator.standard_normal((16, 2, 6, 6)),
            generator.standard_normal((16, 2)),
        )
        self.model, self.ranks = Exact(), ranks
        self.batch_weights = [7, 7, 2]

    def make_optimizer(self):
        return AdamW(list(self.model.named_parameters()), lr=0.01)

    def make_schedule(self, steps_per_epoch):
        return SimpleNamespace(lr_at=lambda step: 0.01)

    def start_epoch(self, epoch):
        self.model.train()

    def batches(self, epoch, start):
        for first, count in list(zip((0, 7, 14), self.batch_weights, strict=True))[start:]:
            part = self.ranks.part(count)
            yield slice(first + part.start, first + part.stop)

    def backward(self, group, weight):
        total = 0.0
        for number, rows in enumerate(group, 1):
            found = self.model(engine.from_numpy(self.x[rows]))
            loss = ((found - engine.from_numpy(self.y[rows])) ** 2).sum()
            total += loss.item()
            if number == len(group):
                self.ranks.arm()
            (loss / weight).backward()
        return Sums(total)

    def train_metrics(self, sums, weight):
        return {}

    def evaluate(self, on_batch):
        self.model.eval()
        own = []
        for number in range(self.ranks.rounds(8)):
            row = self.ranks.rank + number * self.ranks.size
            if row < 8:
                with engine.no_grad():
                    own.append(self.model(engine.from_numpy(self.x[row : row + 1])).sum().item())
            on_batch(1)
        values = self.ranks.in_turn(own)
        return Evaluation({"val_loss": math.fsum(values)}, order=(0.0,), details=values)

    def save_weights(self, path, origin, best):
        path.write_bytes(b"")


def exact(out: Path, group: Any = None, **settings: Any) -> Trainer:
    out.mkdir(exist_ok=True)
    ranks = ALONE if group is None else ManyRanks(group)
    config = TrainConfig(**{**SETTINGS, "epochs": 3, **settings})
    trainer = Trainer(ExactTask(ranks), config, out, {}, say=lambda line: None)
    trainer.fit()
    return trainer


@pytest.mark.parametrize("settings", [{}, {"accumulation": 3}, {"shard_optimizer": "on"}])
def test_in_float64_any_number_of_ranks_agrees_to_a_millionth(tmp_path, settings):
    alone = exact(tmp_path / "alone", **settings)
    for size in (2, 3, 4):
        out = tmp_path / f"ranks{size}"
        ranks = run_ranks(size, lambda group, out=out: exact(out, group, **settings))
        np.testing.assert_allclose(losses(out), losses(tmp_path / "alone"), rtol=1e-10)
        for name, expected in weights(alone).items():
            np.testing.assert_allclose(weights(ranks[0])[name], expected, rtol=1e-6, atol=1e-9)


def test_evaluation_is_the_same_to_the_bit_for_any_number_of_ranks(tmp_path):
    def evaluated(group: Any = None) -> Evaluation:
        ranks = ALONE if group is None else ManyRanks(group)
        config = TrainConfig(**{**SETTINGS, "batch_size": 2})
        engine.manual_seed(1)
        model = Tiny()
        model_state = np.random.default_rng(2)
        for parameter in model.parameters():
            values = model_state.standard_normal(parameter.shape).astype(np.float32)
            parameter.detach().copy_(engine.from_numpy(values))
        task = PictureTask(model, pictures(9), pictures(21, seed=1), config, ranks)
        calls: list[int] = []
        with task:
            task.start_epoch(0)
            found = task.evaluate(calls.append)
        assert len(calls) == -(-11 // ranks.size)
        return found

    expected = evaluated()
    assert sum(count for _, count in expected.details["per_class"]) == 21
    for size in (2, 3, 4):
        assert run_ranks(size, evaluated) == [expected] * size


def test_the_same_run_twice_gives_the_same_bits(tmp_path):
    def once(out: str) -> tuple[bytes, list[float]]:
        run_ranks(2, lambda group: trained(tmp_path / out, group), delays=[0.0, 0.001])
        return (tmp_path / out / "model.safetensors").read_bytes(), losses(tmp_path / out)

    assert once("one") == once("two")


def test_a_run_goes_on_with_another_number_of_ranks(tmp_path):
    whole = trained(tmp_path / "whole")
    run_ranks(2, lambda group: trained(tmp_path / "part", group, epochs=1, schedule="constant"))
    last = Checkpoints(tmp_path / "part" / "last").newest()
    assert len(last.state["rng_of_ranks"]) == 2
    for size in (1, 3):
        out = tmp_path / f"on{size}"
        found = run_ranks(
            size, lambda group, out=out: trained(out, group, restore=last, schedule="constant")
        )
        assert found[0].progress.step == whole.progress.step
        assert found[0].progress.best is not None


def test_bfloat16_on_the_way_costs_digits_but_not_learning(tmp_path):
    trained(tmp_path / "alone")
    run_ranks(2, lambda group: trained(tmp_path / "narrow", group, exchange="bfloat16"))
    one, other = losses(tmp_path / "alone"), losses(tmp_path / "narrow")
    assert one != other
    np.testing.assert_allclose(other, one, rtol=0.05)


def test_norms_that_see_their_part_alone_have_the_same_averages_everywhere(tmp_path):
    found = run_ranks(2, lambda g: trained(tmp_path / "run", g, sync_norm="off", batch_size=8))
    state = weights(found[0])
    assert np.abs(state["bn1.running_mean"]).max() > 0
    assert all(np.array_equal(v, weights(found[1])[k]) for k, v in state.items())


def test_batches_too_small_for_norms_apart_are_refused_before_training(tmp_path):
    with pytest.raises(ConfigError, match="smallest batch of an epoch has 3 pictures for 2 ranks"):
        run_ranks(2, lambda group: trained(tmp_path / "run", group, sync_norm="off"))


@pytest.mark.parametrize("sync_norm", ["on", "off"])
def test_a_step_that_is_not_finite_on_one_rank_is_skipped_by_all(tmp_path, monkeypatch, sync_norm):
    plain = PictureTask._loss

    def broken(self: Any, logits: Any, batch: Any) -> Any:
        self.losses = getattr(self, "losses", 0) + 1
        loss = plain(self, logits, batch)
        return loss * math.nan if self.losses == 3 and self.ranks.rank == 1 else loss

    monkeypatch.setattr(PictureTask, "_loss", broken)
    found = run_ranks(
        2, lambda group: trained(tmp_path / "run", group, sync_norm=sync_norm, batch_size=6)
    )
    assert [trainer.progress.skipped for trainer in found] == [1, 1]
    first, second = map(weights, found)
    assert all(np.isfinite(v).all() and np.array_equal(v, second[k]) for k, v in first.items())


def test_parameters_without_a_part_in_the_loss_keep_no_gradient():
    def work(group: Any) -> list[Any]:
        used, sometimes, never = (nn.Parameter([1.0, 2.0]) for _ in range(3))
        named = [("used", used), ("sometimes", sometimes), ("never", never)]
        buckets = GradientBuckets(group, named, bucket_bytes=8)
        assert buckets.count == 3
        for _ in range(2):  # memory is used again in the second step
            for _, parameter in named:
                parameter.grad = None
            loss = used.sum() * (group.rank + 1.0)
            if group.rank == 1:
                loss = loss + (sometimes * 5.0).sum()
            buckets.arm()
            loss.backward()
            here = np.array(buckets.used(), np.float64)
            total = engine.from_numpy(here.copy())
            group.all_reduce(total)
            buckets.finish([count > 0 for count in total.tolist()])
        return [None if p.grad is None else p.grad.tolist() for _, p in named]

    assert run_ranks(2, work) == [[[3.0, 3.0], [5.0, 5.0], None]] * 2


def test_buckets_leave_during_backward_and_in_one_order():
    def work(group: Any) -> list[str]:
        sent: list[str] = []
        plain = group.all_reduce

        def noted(tensor: Any, **options: Any) -> Any:
            sent.append(options["label"])
            return plain(tensor, **options)

        group.all_reduce = noted
        a, b = nn.Parameter(np.ones(64, np.float32)), nn.Parameter(np.ones(64, np.float32))
        buckets = GradientBuckets(group, [("a", a), ("b", b)], bucket_bytes=64)
        buckets.arm()
        # On rank 1 the gradient of a comes first; its bucket waits for that of b all the same.
        first, second = (a, b) if group.rank == 0 else (b, a)
        x = (first * 2.0).sum()
        (x + (second * 3.0).sum()).backward()
        during = list(sent)
        buckets.finish([True, True])
        assert during == ["the gradients of b", "the gradients of a"]
        return sent

    assert run_ranks(2, work) == [["the gradients of b", "the gradients of a"]] * 2


def test_a_second_backward_after_a_bucket_left_is_refused():
    def work(group: Any) -> None:
        w = nn.Parameter([1.0])
        buckets = GradientBuckets(group, [("w", w)])
        buckets.arm()
        w.sum().backward()
        with pytest.raises(GradientsOutOfStep, match="gradient of w came a second time"):
            w.sum().backward()
        buckets.finish([True])

    run_ranks(2, work)


@pytest.mark.parametrize("kind", [AdamW, SGD])
def test_a_sharded_optimizer_steps_to_the_same_bits_with_less_state(kind):
    def stepped(group: Any = None) -> tuple[list[Any], int, Any]:
        engine.manual_seed(0)
        options = {"momentum": 0.9} if kind is SGD else {}
        model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 3))
        values = np.random.default_rng(0)
        for parameter in model.parameters():
            drawn = values.standard_normal(parameter.shape).astype(np.float32)
            parameter.detach().copy_(engine.from_numpy(drawn))
        optimizer: Any = kind(list(model.named_parameters()), lr=0.1, **options)
        if group is not None:
            optimizer = ShardedOptimizer(optimizer, group)
        for step in range(3):
            for parameter in model.parameters():
                parameter.grad = engine.full(parameter.shape, step - 0.5)
            optimizer.step()
        held = sum(
            t.size
            for entry in optimizer.state.values()
            for t in entry.values()
            if hasattr(t, "size")
        )
        return [p.detach().tolist() for p in model.parameters()], held, optimizer.state_dict()

    expected, whole, state = stepped()
    found = run_ranks(2, stepped)
    assert [row[0] for row in found] == [expected] * 2
    assert sum(row[1] for row in found) == whole and max(row[1] for row in found) < 0.7 * whole
    saved = found[0][2]
    assert saved["state"].keys() == state["state"].keys()
    for name, entry in state["state"].items():
        for key, value in entry.items():
            got = saved["state"][name][key]
            assert (got.tolist() if hasattr(got, "tolist") else got) == (
                value.tolist() if hasattr(value, "tolist") else value
            )


def test_ranks_with_other_data_are_told_apart():
    def work(group: Any) -> None:
        ManyRanks(group).agree("the pictures", "same" if group.rank == 0 else "other")

    with pytest.raises(RanksDiffer, match="the pictures: rank 1 has others than rank 0"):
        run_ranks(2, work)


def test_parts_and_turns_hold_everything_once():
    def work(group: Any) -> tuple[list[int], list[float]]:
        ranks = ManyRanks(group)
        own = list(range(10))[ranks.part(10)]
        return own, ranks.in_turn([float(n) for n in range(10)][ranks.rank :: ranks.size])

    for size in (2, 3, 4):
        found = run_ranks(size, work)
        assert sum((row[0] for row in found), []) == list(range(10))
        assert all(row[1] == list(map(float, range(10))) for row in found)
