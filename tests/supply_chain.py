"""What the package is made of, and whether a wheel holds that and nothing else.

    python -m tests.supply_chain sbom > zoo.cdx.json       # CycloneDX 1.5, of this environment
    python -m tests.supply_chain wheel dist/zoo-*.whl      # pip install auditwheel
    python -m tests.supply_chain audit                     # pip install pip-audit: known faults
    python -m tests.supply_chain same ENVIRONMENT OTHER    # two builds of it, byte for byte

The bill of materials lists the libraries that zoo asks for, as they are installed here, with
those that they ask for; and every file of data inside the package with its SHA-256. It holds no
time and no random number: equal environments give equal bytes.

The audit asks the database of open source vulnerabilities (osv.dev) about those same libraries. It
ends with 0 where none has a known fault, 1 where one has, and 3 where the database did not answer.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import importlib.util
import io
import itertools
import json
import re
import subprocess
import sys
import tempfile
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


UNANSWERED = 3


def audit(report: str) -> tuple[int, list[str]]:
    """(exit code, lines to print) for what `pip-audit --format json` printed; "" if nothing.

    >>> audit('{"dependencies": [{"name": "a", "version": "1", "vulns": []}]}')
    (0, ['a 1: no known fault'])
    """
    try:
        rows = json.loads(report)["dependencies"]
    except (ValueError, KeyError):
        return UNANSWERED, ["the database of faults did not answer: NOT AUDITED"]
    code, lines = 0, []
    for row in rows:
        if "skip_reason" in row:
            code = code or UNANSWERED
            lines.append(f"{row['name']}: NOT AUDITED: {row['skip_reason']}")
            continue
        for fault in row["vulns"]:
            code = 1
            mended = ", ".join(fault.get("fix_versions", ())) or "no version"
            lines.append(f"{row['name']} {row['version']}: {fault['id']}, mended in {mended}")
        if not row["vulns"]:
            lines.append(f"{row['name']} {row['version']}: no known fault")
    return code, lines


def ask_for_faults() -> tuple[int, list[str]]:
    """`audit` of the libraries of the bill of materials, as they are installed here."""
    if importlib.util.find_spec("pip_audit") is None:
        return UNANSWERED, ["pip-audit is not installed: pip install pip-audit; NOT AUDITED"]
    with tempfile.TemporaryDirectory() as name:
        wanted = Path(name, "libraries.txt")
        wanted.write_text("".join(f"{n}=={d.version}\n" for n, d in libraries().items()))
        done = subprocess.run(
            [sys.executable, "-m", "pip_audit", "--requirement", str(wanted), "--no-deps",
             "--disable-pip", "--vulnerability-service", "osv", "--format", "json"],
            capture_output=True, text=True,
        )  # fmt: skip
    return audit(done.stdout)


def native_module(environment: Path) -> Path:
    """The native module that is installed in a virtual environment."""
    every = environment.glob("[Ll]ib*/**/site-packages/engine/_C.*[od]")  # .so, .pyd
    found = {path.resolve() for path in every}  # lib64 is lib, by another name
    if len(found) != 1:
        raise SystemExit(f"{environment}: expected one engine/_C module, found {len(found)}")
    return found.pop()


def differences(first: Path, second: Path) -> list[str]:
    """How two builds of the native module differ; empty if they are the same bytes."""
    one, other = first.read_bytes(), second.read_bytes()
    if one == other:
        return []
    pairs = itertools.zip_longest(one, other)
    places = [at for at, (a, b) in enumerate(pairs) if a != b]
    return [
        f"{first} ({len(one):,} bytes) and {second} ({len(other):,} bytes) differ in "
        f"{len(places):,} bytes, the first at {places[0]:#x}"
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("what", choices=("sbom", "wheel", "audit", "same"))
    parser.add_argument("paths", type=Path, nargs="*")
    args = parser.parse_args()
    if len(args.paths) != {"wheel": 1, "same": 2}.get(args.what, 0):
        parser.error("wheel takes one path, same takes two, the others none")
    if args.what == "sbom":
        print(json.dumps(bill_of_materials(), indent=2, ensure_ascii=False))
        return 0
    if args.what == "audit":
        code, lines = ask_for_faults()
        print("\n".join(lines))
        return code
    if args.what == "same":
        first, second = map(native_module, args.paths)
        lines = differences(first, second)
        print("\n".join(lines) or f"{first.name}: both builds gave the same bytes")
        return 1 if lines else 0
    (path,) = args.paths
    faults = wheel_faults(path)
    print("\n".join(faults) or f"{path.name}: holds what it should")
    if importlib.util.find_spec("auditwheel") is None:
        print("which systems it runs on was not looked at: pip install auditwheel")
        return 1
    shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", str(path)])
    return 1 if faults else shown.returncode


if __name__ == "__main__":
    sys.exit(main())
