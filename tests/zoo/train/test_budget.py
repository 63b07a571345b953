"""Recipes that keep to a time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tiny_run import Tiny, pictures

from zoo.data import PreparedFolder
from zoo.train.budget import within_budget
from zoo.train.config import TrainConfig
from zoo.train.estimate import Estimate
from zoo.train.planning import Plan


def plan(minutes, **settings):
    """Of a network whose epochs of all layers take a minute each, and its features a tenth."""
    config = TrainConfig(minutes=minutes, epochs=8, head_epochs=4, threads=1, **settings)
    a_picture = 60 / 24
    found = Estimate(
        forward=0.1 * a_picture, step=a_picture, read=0.0, view=0.0, picture_bytes=1.0,
        step_bytes=1.0, image_bytes=1.0, resident_bytes=1.0, fixed_bytes=1.0,
    )  # fmt: skip
    return Plan(
        audit=None, config=config, estimate=found, seconds=found.seconds(config, 24, 9, 1),
        memory=1.0, description=(), notes=(),
    )  # fmt: skip


def fitted(minutes, sha256="0", **settings):
    network = Tiny()
    network.source = {"name": "tiny", "sha256": sha256}
    network.notices = ()
    prepared = PreparedFolder(pictures(24), pictures(9, seed=1), None)
    return within_budget(plan(minutes, **settings), network, prepared)


def test_a_run_that_fits_is_left_alone():
    assert fitted(60) == plan(60)
    assert fitted(0) == plan(0)


def test_epochs_of_all_layers_are_left_out_until_it_fits():
    found = fitted(3)
    assert 4 < found.config.epochs < 8
    assert found.seconds <= 180
    longer = replace(found.config, epochs=found.config.epochs + 1)
    assert found.estimate.seconds(longer, 24, 9, 1) > 180
    assert "as many as fit into 3 min" in found.notes[-1]


def test_where_no_epoch_of_all_layers_fits_the_last_layer_alone_is_trained():
    found = fitted(0.6)
    assert found.config.freeze == "backbone"
    assert found.seconds <= 36


@pytest.mark.parametrize("settings", [{"sha256": None, "freeze": "none"}, {"freeze": "backbone"}])
def test_what_takes_too_long_anyway_is_said(settings):
    assert "more than the 0.01 min" in fitted(0.01, **settings).notes[-1]
