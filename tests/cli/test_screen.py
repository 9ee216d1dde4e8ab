"""Results on stdout, notes on stderr, JSON alone on stdout."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from sklearn_hashnlp.cli._screen import Screen, add_bar, command_name


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
    with screen.progress() as progress:
        add_bar(progress, "Working")(1, 2)
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
    with Screen(as_json=False, quiet=False).progress() as progress:
        add_bar(progress, "Working")(1, 2)
        print("result")
    captured = capsys.readouterr()
    assert captured.out == "result\n"
    assert "Working" in captured.err


def test_a_compilation_under_a_bar_is_noted_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = [njit(function) for function in (lambda x: x + 1, lambda x: x + 2, lambda x: x + 3)]
    compiled[0](1)
    with Screen(as_json=False, quiet=False).progress() as progress:  # no terminal
        compiled[1](1)
    assert progress.disable
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then treats stderr as a terminal
    for quiet, n_notes in ((False, 1), (True, 0)):
        with Screen(as_json=False, quiet=quiet).progress() as progress:
            add_bar(progress, "Working")
            for number in (1.0, True) if quiet else (1j, 2):
                compiled[2](number)
            compiled[0](1)  # is compiled already
        assert capsys.readouterr().err.count("Compiling functions for this machine") == n_notes
    compiled[2](np.zeros(1))
    assert capsys.readouterr() == ("", "")
