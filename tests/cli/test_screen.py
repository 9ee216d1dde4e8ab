"""Results on stdout, notes on stderr, JSON alone on stdout."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from sklearn_hashnlp.cli._screen import Screen, command_name


@pytest.mark.parametrize(
    ("as_json", "quiet", "out", "err"),
    [
        (False, False, "result\n", "note\n"),
        (True, False, '{"a": "\\u00e9"}\n', "note\n"),
        (False, True, "", ""),
        (True, True, '{"a": "\\u00e9"}\n', ""),
    ],
)
def test_streams(capsys: pytest.CaptureFixture[str], as_json: bool, quiet: bool, out: str, err: str) -> None:
    screen = Screen(as_json=as_json, quiet=quiet)
    screen.note("note")
    screen.show("result")
    if as_json:
        screen.show_json({"a": "é"})
    with screen.bar("Working") as update:
        update(1, 2)
    assert capsys.readouterr() == (out, err)


def test_markup_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    Screen(as_json=False, quiet=False).show("[bold]a[/bold] :smile: " + "x" * 200)
    assert capsys.readouterr().out == "[bold]a[/bold] :smile: " + "x" * 200 + "\n"


def test_the_name_of_the_command_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "hashnlp"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert command_name() == str(program)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command_name() == "hashnlp"
    monkeypatch.setattr(sys, "argv", ["/site-packages/sklearn_hashnlp/__main__.py"])
    assert command_name() == "python -m sklearn_hashnlp"
    monkeypatch.setattr(sys, "argv", ["pytest"])
    assert command_name() == "hashnlp"


def test_results_go_to_stdout_while_a_bar_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then treats stderr as a terminal
    with Screen(as_json=False, quiet=False).bar("Working") as update:
        update(1, 2)
        print("result")
    captured = capsys.readouterr()
    assert captured.out == "result\n"
    assert "Working" in captured.err


@pytest.mark.parametrize("quiet", [True, False])
def test_what_is_logged_is_a_note(quiet: bool, capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("sklearn_hashnlp.kernels._compile")
    with Screen(as_json=False, quiet=quiet).bar("Working"):
        logger.info("Compiling functions [bold]")
        logger.debug("details")
    assert capsys.readouterr() == ("", "" if quiet else "Compiling functions [bold] ...\n")
