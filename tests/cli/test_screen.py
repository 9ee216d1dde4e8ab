"""Results on stdout, notes on stderr, JSON alone on stdout."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sklearn_hashnlp.cli._screen import Screen, command_name

from .conftest import small_pipeline


@pytest.mark.parametrize(
    ("as_json", "quiet", "out", "err"),
    [
        (False, False, "result\n", "note\n"),
        (True, False, '{"a": "\\u00e9"}\n', "note\n"),
        (False, True, "", ""),
        (True, True, '{"a": "\\u00e9"}\n', ""),
    ],
)
def test_streams(
    capsys: pytest.CaptureFixture[str], as_json: bool, quiet: bool, out: str, err: str
) -> None:
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


def test_the_name_of_the_command_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_the_table_of_epochs_has_colors_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(**environment: str) -> str:
        with monkeypatch.context() as patch:
            for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
                patch.delenv(name, raising=False)
            for name, value in environment.items():
                patch.setenv(name, value)
            small_pipeline(classifier__verbose=1, classifier__max_epochs=1).fit(["a", "b"], [0, 1])
        return capsys.readouterr().out

    assert "\x1b" not in printed()  # a pipe
    assert "\x1b" in printed(FORCE_COLOR="1")  # a notebook
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "\x1b" in printed()
    assert "\x1b" not in printed(NO_COLOR="1")
    assert "\x1b" not in printed(TERM="dumb")


def test_the_bar_of_an_epoch_stays_out_of_pipes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = small_pipeline(
        classifier__verbose=2, classifier__batch_size=2, classifier__max_epochs=1
    )
    pipeline.fit(["a", "b"] * 20, [0, 1] * 20)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    pipeline.fit(["a", "b"] * 20, [0, 1] * 20)
    drawn = capsys.readouterr().err
    assert " 0/20 " in drawn
    assert drawn.endswith("\r")  # it is removed
