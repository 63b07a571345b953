"""Runs the fenced blocks of a page one after the other, as a reader who types them would.

All blocks of a page share a folder, a cache, and the variables of its Python blocks. Before a
block a comment may say more:

    <!-- input: pictures imgs cat dog -->    makes what the page takes for granted; see inputs.py
    <!-- test: slow -->                      only python -m pytest -m slow runs it
    <!-- test: interop -->                   only -m interop does; it needs another package
    <!-- test: fails -->                     its last command has to end with another code than 0
    <!-- test: parse -->                     needs a network: the command line is parsed, not run

A ``text`` block behind one that ran is what it prints; "..." stands for anything. A block with a
title is a file of that name.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from cli.main import COMMANDS, build_parser
from tests.docs.inputs import KINDS
from tests.docs.pages import ROOT, Block

SECONDS = 300  # for one block
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
RUN = ("sh", "python", "pycon")


class Page:
    """A folder to run a page's blocks in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        programs = folder.parent / "programs"
        programs.mkdir(exist_ok=True)
        zoo = programs / "zoo"
        zoo.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m cli.main "$@"\n')
        zoo.chmod(0o755)
        python = programs / "python"  # a link would leave the virtual environment
        python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
        python.chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}",
            "ZOO_HOME": str(folder.parent / "home"),
            "ZOO_OFFLINE": "1",
            "COLUMNS": "100",
        }

    def run(self, block: Block) -> str:
        """What a block prints."""
        if block.language == "input":
            kind, *words = block.text.split()
            KINDS[kind](self.folder, *words)
        elif block.title:
            (self.folder / block.title).write_text(block.text)
        elif "parse" in block.marks:
            parse(block.text)
        elif block.language == "sh":
            return self._shell(block)
        elif block.language == "python":
            return self._python(block)
        elif block.language == "pycon":
            self._session(block)
        return ""

    def _shell(self, block: Block) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.text],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
        )
        if "fails" in block.marks:
            assert done.returncode > 0, f"it ended well:\n{done.stdout}"
        else:
            assert done.returncode == 0, f"exit code {done.returncode}:\n{done.stdout}"
        return done.stdout

    def _python(self, block: Block) -> str:
        printed = io.StringIO()
        code = compile("\n" * block.line + block.text, "page", "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, self.names)
        return printed.getvalue()

    def _session(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(block.text, self.names, "page", None, block.line)
        wrong: list[str] = []
        test.globs = self.names  # variables stay for the next block
        runner = doctest.DocTestRunner(optionflags=_FLAGS, verbose=False)
        runner.run(test, out=wrong.append, clear_globs=False)
        assert not wrong, "".join(wrong)


def parse(text: str) -> None:
    """Let the real parser read every `zoo` command of a block."""
    seen = 0
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and re.fullmatch(r"\w+=.*", words[0]):
            words.pop(0)  # a variable of the environment
        if words[:1] != ["zoo"]:
            continue
        assert words[1] in COMMANDS, line
        build_parser([words[1]]).parse_args(words[1:])
        seen += 1
    assert seen, "no zoo command to parse"


def expect(wanted: str, printed: str) -> None:
    """Every line of `wanted` is in `printed`, in that order; "..." stands for anything."""
    lines = [" ".join(line.split()) for line in printed.replace("\r", "\n").splitlines()]
    at = 0
    for line in filter(None, (" ".join(line.split()) for line in wanted.splitlines())):
        if line == "...":
            continue
        pattern = re.compile(".*".join(map(re.escape, line.split("..."))))
        found = next((i for i in range(at, len(lines)) if pattern.fullmatch(lines[i])), None)
        assert found is not None, f"expected the line\n  {line}\nin\n{printed}"
        at = found + 1
