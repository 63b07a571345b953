"""What the package is made of, and whether a wheel holds that and nothing else.

    python -m tests.supply_chain sbom > zoo.cdx.json       # CycloneDX 1.5, of this environment
    python -m tests.supply_chain wheel dist/zoo-*.whl      # pip install auditwheel
    pip-audit --skip-editable                              # pip install pip-audit: known faults

The bill of materials lists the libraries that zoo asks for, as they are installed here, with
those that they ask for; and every file of data inside the package with its SHA-256. It holds no
time and no random number: equal environments give equal bytes.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import importlib.util
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
# Folders at the top of a wheel, beside its own *.dist-info.
ROOMS = {"cli", "engine", "hub", "zoo"}
SUFFIXES = {".py", ".pyi", ".typed", ".md", ".safetensors", ".npz", ".bz2", ".txt", ".css", ".js",
            ".json", ".html", ".svg", ".h"}  # fmt: skip
MODULE = re.compile(r"engine/_C\.[\w-]+\.(so|pyd)")


def libraries() -> dict[str, Distribution]:
    """The installed distributions that zoo needs, by name, without extras."""
    from packaging.requirements import Requirement

    found: dict[str, Distribution] = {}
    waiting = list(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])
    while waiting:
        requirement = Requirement(waiting.pop())
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        key = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if key in found:
            continue
        try:
            found[key] = distribution(requirement.name)
        except PackageNotFoundError:
            raise SystemExit(f"{key} is needed and not installed: pip install {key}") from None
        waiting += found[key].requires or ()
    return dict(sorted(found.items()))


def data_files() -> Iterator[tuple[str, bytes, str]]:
    """(name, content, licence) of each file of data in the package."""
    import hub

    licences = {
        file.packaged: card.license for card in hub.load_cards().values() for file in card.files
    }
    folder = ROOT / "zoo" / "assets"
    for path in folder.glob("*.LICENSE.md"):
        start = path.name.removesuffix("LICENSE.md")
        for other in folder.glob(f"{start}*"):
            name = other.relative_to(ROOT).as_posix()
            licences[name] = f"see {path.relative_to(ROOT).as_posix()}"
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".py", ".md") and path.is_file():
            name = path.relative_to(ROOT).as_posix()
            yield name, path.read_bytes(), licences.get(name, "MIT")  # ours


def _licence(of: Distribution) -> list[dict[str, Any]]:
    about = of.metadata
    text = about.get("License-Expression")
    if text:
        return [{"expression": text}]
    kinds = [k.split(" :: ")[-1] for k in about.get_all("Classifier", ()) if "License ::" in k]
    named = kinds or [(about.get("License") or "").split("\n")[0][:80]]
    return [{"license": {"name": name}} for name in named if name]


def bill_of_materials() -> dict[str, Any]:
    """A CycloneDX document; see the module's text."""
    from zoo import __version__

    components: list[dict[str, Any]] = []
    for name, found in libraries().items():
        components.append(
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{name}@{found.version}",
                "name": name,
                "version": found.version,
                "purl": f"pkg:pypi/{name}@{found.version}",
                "licenses": _licence(found),
            }
        )
    for file, content, licence in data_files():
        components.append(
            {
                "type": "data",
                "bom-ref": file,
                "name": file,
                "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}],
                "licenses": [{"license": {"name": licence}}],
            }
        )
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": f"pkg:pypi/zoo@{__version__}",
                "name": "zoo",
                "version": __version__,
                "licenses": [{"expression": "MIT"}],
            }
        },
        "components": components,
    }


def wheel_faults(path: Path) -> list[str]:
    """What is wrong with a wheel's content: files that nobody expects, or that differ from its
    record; empty if all is well."""
    faults = []
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        about = next(iter({n.split("/")[0] for n in names if ".dist-info/" in n}), "")
        rows = list(csv.reader(io.StringIO(archive.read(f"{about}/RECORD").decode())))
        record = {name: digest for name, digest, _ in rows}
        if len(rows) != len(record) or len(set(names)) != len(names):
            faults.append("a name appears twice")
        for name in names:
            room, suffix = name.split("/")[0], Path(name).suffix
            if room == about:
                pass
            elif room not in ROOMS or not (suffix in SUFFIXES or MODULE.fullmatch(name)):
                faults.append(f"{name}: not expected in a wheel")
            if name == f"{about}/RECORD":
                continue
            digest = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest())
            if record.get(name) != f"sha256={digest.rstrip(b'=').decode()}":
                faults.append(f"{name}: not as RECORD says")
        faults += [f"{name}: in RECORD, not in the wheel" for name in set(record) - set(names)]
        if sum(map(bool, map(MODULE.fullmatch, names))) != 1:
            faults.append("not exactly one native module")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("what", choices=("sbom", "wheel"))
    parser.add_argument("path", type=Path, nargs="?")
    args = parser.parse_args()
    if args.what == "sbom":
        print(json.dumps(bill_of_materials(), indent=2, ensure_ascii=False))
        return 0
    faults = wheel_faults(args.path)
    print("\n".join(faults) or f"{args.path.name}: holds what it should")
    if importlib.util.find_spec("auditwheel") is None:
        print("which systems it runs on was not looked at: pip install auditwheel")
        return 1
    shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", str(args.path)])
    return 1 if faults else shown.returncode


if __name__ == "__main__":
    sys.exit(main())
