"""How long it takes from a cached file to a model.

    python -m pytest -m slow tests/zoo/test_load_speed.py

Wall time of the best of a few fresh processes, so it wants a machine that does nothing else.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
TRIES = 5

PREPARE = """
import os, sys
from pathlib import Path
import numpy as np
import hub
from engine import nn
from zoo.registry import get_arch

home, arch = Path(sys.argv[1]), sys.argv[2]
with nn.init.skip_random():
    state = {key: value.numpy() for key, value in get_arch(arch).build().state_dict().items()}
draw = np.random.default_rng(0).standard_normal
for key, value in state.items():
    if value.dtype == np.float32:
        state[key] = np.abs(draw(value.shape, np.float32)) * np.float32(0.02)
home.joinpath("blobs").mkdir(parents=True)
home.joinpath("cards").mkdir()
hub.write_safetensors(home / "file", state)
digest = hub.sha256_file(home / "file")
(home / "file").rename(home / "blobs" / digest)
card = hub.cards_for(arch)[0]
text = (hub.cards.cards_folder() / f"{card.name}.md").read_text("utf-8")
digests = [file.digest for file in card.files]
for old in digests:
    text = text.replace(old, digest if old == digests[0] else old)
text = text.replace("key_map: timm_vgg", "key_map: torchvision")
(home / "cards" / f"{card.name}.md").write_text(text, "utf-8")
"""

MEASURE = """
import sys, time
from pathlib import Path
import numpy as np
import engine, hub, hub.cards, zoo
from zoo.registry import archs

home, arch = Path(sys.argv[1]), sys.argv[2]
hub.cards.cards_folder = lambda: home / "cards"
archs()  # imports
start = time.perf_counter()
model = zoo.load(arch)
loaded = time.perf_counter()
with engine.no_grad():
    if len(sys.argv) > 3:
        side = int(sys.argv[3])
        model(engine.ones((1, 3, side, side))).numpy()
print(loaded - start, time.perf_counter() - start)
"""


def best(home: Path, *arguments: str) -> tuple[float, float]:
    """(seconds until loaded, seconds until the first logits), after one run that warms caches."""
    environment = {"ZOO_HOME": str(home), "ZOO_OFFLINE": "1", "PATH": "/usr/bin:/bin"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])

    def run(program: str) -> str:
        command = [sys.executable, "-c", program, str(home), *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout

    run(PREPARE)
    run(MEASURE)
    times = [tuple(map(float, run(MEASURE).split())) for _ in range(TRIES)]
    return min(time[0] for time in times), min(time[1] for time in times)


def test_resnet50_from_the_cache_to_first_logits_in_0_4_s(tmp_path: Path) -> None:
    _, until_logits = best(tmp_path / "home", "resnet50", "224")
    assert until_logits < 0.4


@pytest.mark.parametrize("arch", ["gpt2", "vgg16"])
def test_half_a_gigabyte_is_mapped_in_0_3_s(tmp_path: Path, arch: str) -> None:
    loaded, _ = best(tmp_path / "home", arch)
    assert loaded < 0.3
