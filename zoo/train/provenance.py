"""What a run was made with: versions, the commit of zoo, the computer."""

from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path

import numpy as np

import zoo


def versions() -> dict[str, str]:
    """Versions of what has a part in the numbers.

    >>> sorted(versions())
    ['numpy', 'python', 'zoo']
    """
    return {"zoo": zoo.__version__, "numpy": np.__version__, "python": platform.python_version()}


def made_with() -> dict[str, str | None]:
    """What `summary.json` says in `made_with`: the commit of zoo and the computer.

    >>> sorted(made_with())
    ['commit', 'computer']
    """
    return {"commit": _commit(), "computer": f"{platform.system()} {platform.machine()}".strip()}


def _commit() -> str | None:
    """The commit that this installation of zoo is from, where that can be known: from what the
    installer noted (PEP 610), or from the checkout that the packages lie in."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        noted = distribution("zoo").read_text("direct_url.json")
        found = json.loads(noted or "{}").get("vcs_info", {}).get("commit_id")
        if found:
            return str(found)
    except (PackageNotFoundError, ValueError):
        pass
    root = Path(zoo.__file__).parents[1]
    if not (root / ".git").exists():
        return None
    try:
        asked = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return asked.stdout.strip() or None
