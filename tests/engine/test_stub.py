"""engine/_C.pyi says what the module is."""

from __future__ import annotations

from tests.engine.make_stub import STUB, generate


def test_stub_is_what_the_module_says() -> None:
    assert STUB.read_text(encoding="utf-8") == generate(), (
        "engine/_C.pyi is stale: python -m tests.engine.make_stub"
    )
