"""Code blocks of a page of the docs, and a runner of those for the shell.

A block for the shell is run line by line as a user would type it, with ``hashnlp`` and ``python``
in this process; what it prints must be the ``text`` block after it. A ``python`` block without
``>>>`` after a sentence that ends with a name of a file is written to this file.
"""

from __future__ import annotations

import doctest
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from sklearn_hashnlp.cli import app

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`(\w+\.\w+)`[^`\n]*:\s*\Z")
_OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Block(NamedTuple):
    """A code block: its language, its text, and the name of the file that the sentence before it
    says.
    """

    language: str
    text: str
    file: str


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page, except doctests."""
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        if ">>>" not in match[2]:
            file = _FILE.search(text[: match.start()])
            yield Block(match[1], match[2], file[1] if file else "")


def follow(page: Path) -> int:
    """Do what a page says in the current folder, and check what it prints; return the number of
    compared outputs.
    """
    output, n_compared = None, 0
    for block in blocks(page):
        if block.language == "python":
            assert block.file, (
                f"{page.name}: the sentence before this block must end with the name of its "
                f"file:\n{block.text}"
            )
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "sh" and not block.text.startswith(("make", "pip")):
            output = run_shell(block.text)
        elif block.language == "text" and block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "text" and output is not None:
            expected = "\n".join(line.rstrip() for line in block.text.splitlines())
            assert doctest.OutputChecker().check_output(expected, output, _OPTIONS), (
                f"{page.name}:\n{output}"
            )
            output, n_compared = None, n_compared + 1
    return n_compared


def run_shell(text: str) -> str:
    """Run lines of a shell; return what they print."""
    lines = text.replace("\\\n", " ").splitlines()
    return "".join(_run_line(line) for line in lines if line.strip() and not line.startswith("#"))


def _run_line(line: str) -> str:
    output = ""
    for command in line.split(" | "):
        words = shlex.split(command, comments=True)
        given, target = output, None
        if ">" in words:
            words, target = words[: words.index(">")], words[words.index(">") + 1]
        if "<" in words:
            given = Path(words[words.index("<") + 1]).read_text(encoding="utf-8")
            words = words[: words.index("<")]
        output = _run_command(words, given)
        if target:
            Path(target).write_text(output, encoding="utf-8")
            output = ""
    return output


def _run_command(words: list[str], given: str) -> str:
    program, *arguments = words
    if program == "hashnlp":
        result = CliRunner().invoke(app, arguments, input=given or None)
        assert result.exit_code == 0, f"{shlex.join(words)}\n{result.stderr}"
        return result.stdout
    if program == "python":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", arguments)
            patch.setattr(sys, "stdout", StringIO())
            if arguments[0] == "-m":
                patch.setattr(sys, "argv", arguments[1:])
                runpy.run_module(arguments[1], run_name="__main__")
            else:
                runpy.run_path(arguments[0], run_name="__main__")
            return str(sys.stdout.getvalue())  # type: ignore[attr-defined]
    assert program in {"echo", "printf", "cat", "head", "ls", "gzip", "wc"}, (
        f"the tests cannot run {program}"
    )
    return subprocess.run(words, input=given, capture_output=True, text=True, check=True).stdout
