"""What goes where: results to stdout, notes to stderr, JSON alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sklearn_hashnlp.cli._screen import Screen, bar, command_name


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
        screen.put_json({"a": "é"})
    with screen.progress() as progress:
        bar(progress, "Working")(1, 2)
    assert capsys.readouterr() == (out, err)


def test_nothing_is_taken_for_markup(capsys: pytest.CaptureFixture[str]) -> None:
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
    monkeypatch.setattr(sys, "argv", ["pytest"])
    assert command_name() == "hashnlp"


def test_beside_a_bar_results_still_go_to_stdout(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes stderr for a terminal
    with Screen(as_json=False, quiet=False).progress() as progress:
        bar(progress, "Working")(1, 2)
        print("result")
    captured = capsys.readouterr()
    assert captured.out == "result\n"
    assert "Working" in captured.err
