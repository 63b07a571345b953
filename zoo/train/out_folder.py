"""The folder that a run writes to: chosen early, made late, and taken away again if nothing came of
it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import TracebackType

from zoo import demo
from zoo.train.checkpoint import Checkpoints
from zoo.train.errors import OutFolderInUse, quoted

_RUNS = Path("runs")  # where runs go whose folder nobody named


class OutFolder:
    """A folder for one run. Entering makes it; if the block fails before a checkpoint exists in it,
    what was made is removed.

    >>> with OutFolder.choose("run1", "resnet18", "pictures") as path:       # doctest: +SKIP
    ...     train(path)
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._made: list[Path] = []
        self._alone = contextlib.ExitStack()

    @classmethod
    def choose(cls, out: str | os.PathLike[str] | None, model: str, data: str) -> OutFolder:
        """Check the folder `out`, or pick the first free `runs/MODEL-N`. Makes nothing.

        Raises:
            OutFolderInUse: it holds something, is no folder, or lies among the pictures.
            PermissionError: it cannot be written to.
        """
        if out is None:
            path = next(p for n in count(1) if not (p := _RUNS / f"{model}-{n}").exists())
        else:
            path = Path(out)
        if path.exists() and not path.is_dir():
            raise OutFolderInUse(f"{path} is a file; expected a folder, new or empty")
        if path.is_dir() and any(path.iterdir()):
            raise _in_use(path)
        if data != demo.NAME and Path(data).resolve() in (path.resolve(), *path.resolve().parents):
            raise OutFolderInUse(
                f"{path} lies inside the pictures' folder {data}, where the next run would take it "
                f"for a class. Name a folder elsewhere, for example: "
                f"--out {quoted(Path(data).resolve().parent / path.name)}"
            )
        parent = next(p for p in (path, *path.absolute().parents) if p.exists())
        if not os.access(parent, os.W_OK | os.X_OK):
            raise PermissionError(
                f"{path} cannot be made: no permission to write in {parent}; name another folder "
                "with --out"
            )
        return cls(path)

    def __enter__(self) -> Path:
        missing = [p for p in (self.path, *self.path.parents) if not p.exists()]
        for folder in reversed(missing):
            with contextlib.suppress(FileExistsError):  # another process was quicker
                folder.mkdir()
                self._made.append(folder)
        self._alone.enter_context(alone_in(self.path))
        if any(self.path.iterdir()):  # filled by another run since it was chosen
            self._alone.close()
            raise _in_use(self.path)
        return self.path

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._alone:
            if error is None or Checkpoints(self.path / "last").newest_path() is not None:
                return
            for leftover in self.path.iterdir():
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
            for folder in reversed(self._made):
                if not any(folder.iterdir()):
                    folder.rmdir()


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Let one process at a time write to a run's folder. However a process ends, it lets go.

    Raises:
        OutFolderInUse: another one is in it.

    >>> with alone_in(Path("run1")):                                          # doctest: +SKIP
    ...     trainer.fit()
    """
    try:
        import fcntl
    except ImportError:  # Windows: its own rules keep two writers out of one file
        yield
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        try:
            # Of the folder itself: there is no file that could be left behind.
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutFolderInUse(
                f"{folder}: another process is writing to this run; nothing was changed. Wait for "
                "it or end it, or start a run in another folder with --out"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(opened)


def _in_use(path: Path) -> OutFolderInUse:
    return OutFolderInUse(
        f"{path} exists and is not empty; nothing was changed.\n"
        f"To go on with the run in it, type: zoo finetune --resume {quoted(path)}\n"
        f"To start a new one, name another folder: --out {quoted(_free_beside(path))}"
    )


def _free_beside(path: Path) -> Path:
    return next(p for n in count(2) if not (p := path.with_name(f"{path.name}-{n}")).exists())
