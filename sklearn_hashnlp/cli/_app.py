"""The ``hashnlp`` command and its subcommands; only the module of the command that is run is imported."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module

import typer

from sklearn_hashnlp import __version__
from sklearn_hashnlp.cli._errors import CommandGroup

_COMMANDS = {  # in the order of the help: the module, and the function in it
    "demo": ("_demo", "demo"),
    "train": ("_train", "train"),
    "tune": ("_tune", "tune"),
    "predict": ("_predict", "predict"),
    "test": ("_test", "evaluate"),
    "explain": ("_explain", "explain"),
    "info": ("_info", "info"),
    "export": ("_export", "export"),
    "convert": ("_convert", "convert"),
}
_GROUPS = {"lm": "lm._lm_commands", "sentences": "sentences._sentence_commands"}
_COMPLETION = "_HASHNLP_COMPLETE"  # set by the shell where it asks for completions

_HELP = """\
Train and use text classifiers, language models and sentence encoders. No vocabulary and no GPU is needed.

\b
  hashnlp demo                            train and test on text you have
  hashnlp train mails.csv --model spam    train a text classifier
  hashnlp tune mails.csv --model spam     search for better parameters
  echo "Win!" | hashnlp predict -m spam   predict labels, one text per line
  hashnlp test more.csv --model spam      test a model on labeled texts
  hashnlp explain more.csv --model spam   explain predictions by n-grams
  hashnlp info spam                       describe a model
  hashnlp export -m intents intents.py    export a small model as one file
  hashnlp convert spam.bin -m spam        convert models from or to fastText
  hashnlp lm train text.txt --model lm    train a language model
  hashnlp sentences train text.txt -m e   train a sentence encoder, for search

Options of a command: hashnlp train --help
"""

_EPILOG = """\
Exit codes: 0 success, 1 error in a file, a model or the data, 2 wrong usage, \
130 interrupted by Ctrl-C, 141 closed pipe. \
Errors are one line on stderr; --debug after a command, or HASHNLP_DEBUG=1, prints a traceback.
"""


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line with the one command that the arguments name, or with all."""
    name = arguments[0] if arguments else ""
    if (name in _COMMANDS or name in _GROUPS) and _COMPLETION not in os.environ:
        return _make_app(name)
    return _make_app(*_COMMANDS, *_GROUPS)


@cache
def _make_app(*names: str) -> typer.Typer:
    app = typer.Typer(
        name="hashnlp",
        cls=CommandGroup,
        help=_HELP,
        epilog=_EPILOG,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_top)
    for name in names:
        if name in _COMMANDS:
            module, function = _COMMANDS[name]
            command = import_module(f"sklearn_hashnlp.cli.{module}")
            app.command(name)(getattr(command, function))
        else:
            group = import_module(f"sklearn_hashnlp.cli.{_GROUPS[name]}")
            app.add_typer(group.app, name=name, help=group.HELP)
    return app


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"hashnlp {__version__}")
        raise typer.Exit


def _top(
    version: bool = typer.Option(
        False, "--version", "-V", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Declare the options of ``hashnlp`` itself."""
