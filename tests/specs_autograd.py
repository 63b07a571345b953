"""The public routines of engine.autograd: what each computes is a function's gradient, not a
function of tensors' values, so none has a row; each is tested in the file named here."""

from __future__ import annotations

from tests.op_specs import Op

OPS: list[Op] = []

OTHERWISE_TESTED = {
    "tests/engine/test_autograd.py": {"grad"},
    "tests/engine/test_autograd_functional.py": {
        "autograd.backward",
        *(f"autograd.functional.{name}"
          for name in ("vjp", "jvp", "jacobian", "hessian", "vhp", "hvp")),
    },
    "tests/engine/test_checkpoint.py": {"autograd.checkpoint"},
    "tests/engine/test_extensions.py": {"get_include"},
    "tests/engine/test_gradcheck.py": {"autograd.gradcheck", "autograd.gradgradcheck"},
    "tests/engine/test_function.py": {"autograd.once_differentiable"},
}  # fmt: skip
