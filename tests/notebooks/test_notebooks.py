"""The notebooks: short, whole, and stored with the outputs that their sources give.

Running them takes a minute or two; python -m pytest -m notebooks does only that.
"""

from __future__ import annotations

import ast
import re

import pytest

from tests.notebooks import notebook as nb

MOST_CELLS = 25
MOST_BYTES = 2_000_000  # of all notebooks

each = pytest.mark.parametrize("name", nb.NAMES)


def test_there_are_five_in_order() -> None:
    assert [name[:2] for name in nb.NAMES] == ["1_", "2_", "3_", "4_", "5_"]


def test_together_they_are_small() -> None:
    assert sum((nb.FOLDER / f"{name}.ipynb").stat().st_size for name in nb.NAMES) < MOST_BYTES


@each
def test_it_has_few_cells_each_explained(name: str) -> None:
    cells = nb.read(name)["cells"]
    assert len(cells) < MOST_CELLS
    assert cells[0]["cell_type"] == cells[-1]["cell_type"] == "markdown"
    assert nb.source_of(cells[0]).startswith("# ")
    assert "## Exercises" in nb.source_of(cells[-1])
    unexplained = [
        after["id"]
        for before, after in zip(cells, cells[1:], strict=False)
        if before["cell_type"] == after["cell_type"] == "code"
    ]
    assert not unexplained, f"no prose before {unexplained}"
    assert len({cell["id"] for cell in cells}) == len(cells)


@each
def test_every_cell_was_run_once_in_order_without_an_error(name: str) -> None:
    cells = nb.code_cells(nb.read(name))
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert "error" not in nb.kinds(cell), nb.text(cell)
        assert "stderr" not in nb.kinds(cell), nb.text(cell)


@each
def test_its_plots_are_stored(name: str) -> None:
    cells = nb.code_cells(nb.read(name))
    assert sum("image/png" in kind for cell in cells for kind in nb.kinds(cell)) >= 2


@each
def test_most_of_its_outputs_can_be_compared(name: str) -> None:
    shown = [cell for cell in nb.code_cells(nb.read(name)) if cell["outputs"]]
    assert sum(nb.varies(cell) for cell in shown) <= len(shown) / 2


@each
def test_no_output_names_a_place_of_the_machine_it_was_run_on(name: str) -> None:
    for cell in nb.code_cells(nb.read(name)):
        assert not re.search(r"(?<![\w.])/(tmp|home|work|root|opt|usr)/", nb.text(cell))


@each
def test_its_code_is_python(name: str) -> None:
    for cell in nb.code_cells(nb.read(name)):
        lines = nb.source_of(cell).splitlines()
        ast.parse("\n".join(line for line in lines if not line.startswith("%")))


def test_texts_are_compared_word_by_word_and_numbers_within_their_tolerance() -> None:
    assert nb.difference("loss 1.00, of 1,000", "loss 1.01,  of 1,004") is None
    assert nb.difference("loss 1.00", "loss 1.10") == "1.0 is stored, 1.1 comes out"
    assert nb.difference("a cat 1", "a dog 1") == "- a cat 1\n+ a dog 1"
    assert nb.difference("one\ntwo", "one") == "2 lines are stored, 1 come out"


@pytest.mark.notebooks
@each
def test_running_it_gives_what_is_stored(name: str) -> None:
    found = list(nb.differences(name))
    assert not found, "\n".join([*found, f"python -m tests.notebooks.notebook {name}"])
