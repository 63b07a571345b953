"""`zoo.lock`: the exact digests of the weights that a project uses.

    {
      "version": 1,
      "weights": {
        "resnet50.tv_in1k_v1": {
          "bytes": 102530333,
          "file": "model.safetensors",
          "sha256": "64 hex digits",
          "source": "https://..."
        }
      }
    }

Where the working folder holds a `zoo.lock` (`zoo download --lock` makes it), or `ZOO_LOCK` names
one, every set of weights that is used is recorded there when it is first used and must have that
digest from then on. The file belongs under version control: another machine, or the same one in
five years, then gets the same bytes or an error. `zoo verify` hashes all of them again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hub.atomic import atomic_file
from hub.cache import default_cache
from hub.errors import CacheError, LockError
from hub.strict_json import strict_json

NAME = "zoo.lock"


@dataclass(frozen=True)
class Pin:
    """What a lock file knows of one set of weights.

    Attributes:
        sha256: 64 hex digits.
        bytes: size of the file.
        file: its base name.
        source: where it came from, without passwords and queries.

    >>> hub.ProjectLock(Path("zoo.lock")).pins()["resnet18.tv_in1k_v1"].file     # doctest: +SKIP
    'resnet18-f37072fd.pth'
    """

    sha256: str
    bytes: int
    file: str
    source: str


@dataclass(frozen=True)
class ProjectLock:
    """The lock file at `path`, which need not exist yet.

    >>> ProjectLock(Path("zoo.lock")).pins()                                  # doctest: +SKIP
    {'resnet18.tv_in1k_v1': Pin(sha256='694f673d…', ...)}
    """

    path: Path

    @staticmethod
    def find() -> ProjectLock | None:
        """The lock file in force: `ZOO_LOCK`, else `zoo.lock` of the working folder if it exists.

        `ZOO_LOCK=0` means none. In a working folder that may not be looked into there is none.
        """
        named = os.environ.get("ZOO_LOCK")
        if named == "0":
            return None
        path = Path(named or NAME).expanduser().absolute()
        # Not path.exists(), which raises where the folder may not be looked into.
        return ProjectLock(path) if named or os.path.exists(path) else None

    def pins(self) -> Mapping[str, Pin]:
        """What is pinned, by name of card or address; empty if the file does not exist.

        Raises:
            LockError: the file is no lock file of a version that is known here.
        """
        try:
            table = strict_json(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise self._unreadable(f"it is no JSON ({error})") from None
        if not isinstance(table, dict) or table.get("version") != 1:
            raise self._unreadable("it has no `version` 1")
        weights = table.get("weights")
        if not isinstance(weights, dict):
            raise self._unreadable("it has no table `weights`")
        return {name: self._pin(name, entry) for name, entry in weights.items()}

    def add(self, name: str, pin: Pin) -> None:
        """Record a set of weights. Other processes may do so at the same time.

        Raises:
            LockError: it is pinned to another digest, or the file cannot be written.
        """
        with self._alone():
            pins = dict(self.pins())
            if name in pins:
                if pins[name].sha256 != pin.sha256:
                    raise self.other_digest(name, pins[name], pin.sha256)
                return
            pins[name] = pin
            table = {"version": 1, "weights": {key: asdict(pins[key]) for key in sorted(pins)}}
            text = json.dumps(table, indent=2, sort_keys=True, ensure_ascii=False)
            try:
                with atomic_file(self.path) as f:
                    f.write(text.encode("utf-8") + b"\n")
            except OSError as error:
                raise LockError(
                    f"{self.path} cannot be written ({error.strerror}), so {name} cannot be pinned "
                    "there. Set ZOO_LOCK to another file, or to 0 to do without."
                ) from error

    def other_digest(self, name: str, pin: Pin, now: str) -> LockError:
        """The error for weights whose digest is not the pinned one."""
        return LockError(
            f"{name} is pinned to the SHA-256 {pin.sha256} by {self.path}, but it is now {now}. "
            f"To take the new weights, delete the entry {name!r} from that file."
        )

    @contextlib.contextmanager
    def _alone(self) -> Any:
        cache = default_cache()
        new_cache = not cache.home.exists()
        key = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]
        with contextlib.ExitStack() as stack:
            # A cache that is only read gives no lock; then the last of two writers wins.
            with contextlib.suppress(CacheError):
                stack.enter_context(cache.lock(f"project-{key}"))
            yield
        cache.remove_empty_folders(home_too=new_cache)

    def _pin(self, name: str, entry: Any) -> Pin:
        if not isinstance(entry, dict) or set(entry) != {"sha256", "bytes", "file", "source"}:
            raise self._unreadable(f"{name!r} needs sha256, bytes, file and source")
        digest, size = entry["sha256"], entry["bytes"]
        if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
            raise self._unreadable(f"the sha256 of {name!r} is not 64 lower-case hex digits")
        if type(size) is not int or size < 0:
            raise self._unreadable(f"the bytes of {name!r} are no whole number")
        return Pin(digest, size, str(entry["file"]), str(entry["source"]))

    def _unreadable(self, fault: str) -> LockError:
        return LockError(
            f"{self.path} cannot be read: {fault}. Take it from version control again, or delete "
            "it; `zoo download --lock NAME...` makes a new one."
        )
