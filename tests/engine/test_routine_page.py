"""The page of routines says what there is; every routine says what it does."""

from __future__ import annotations

import pytest

from tests.engine.make_routines import PAGE, generate
from tests.routines import public_routines


def test_the_page_is_what_the_modules_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == generate(), (
        "engine/ROUTINES.md is stale: python -m tests.engine.make_routines"
    )


@pytest.mark.parametrize("name", public_routines())
def test_every_routine_has_a_docstring(name: str) -> None:
    text = public_routines()[name].__doc__ or ""
    assert len(text.split()) > 5
