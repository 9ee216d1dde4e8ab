"""The ``hashnlp`` command and its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

from sklearn_hashnlp import __version__
from sklearn_hashnlp.cli import _demo, _export, _info, _predict, _test, _train
from sklearn_hashnlp.cli._errors import CommandGroup
from sklearn_hashnlp.cli.experiments import _app as _experiments
from sklearn_hashnlp.cli.lm import _app as _lm
from sklearn_hashnlp.cli.sentences import _app as _sentences

_HELP = """\
Train and use text classifiers, language models and sentence encoders. No vocabulary and no GPU is needed.

\b
  hashnlp demo                            train and test on text you have
  hashnlp train mails.csv --model spam    train a text classifier
  echo "Win!" | hashnlp predict -m spam   predict labels, one text per line
  hashnlp test more.csv --model spam      test a model on labeled texts
  hashnlp info spam                       describe a model
  hashnlp export -m intents intents.py    export a small model as one file
  hashnlp lm train text.txt --model lm    train a language model
  hashnlp sentences train text.txt -m e   train a sentence encoder, for search
  hashnlp experiments list                list published experiments

Options of a command: hashnlp train --help
"""

_EPILOG = """\
Exit codes: 0 success, 1 error in a file, a model or the data, 2 wrong usage, \
130 interrupted by Ctrl-C, 141 closed pipe. \
Errors are one line on stderr; --debug after a command, or HASHNLP_DEBUG=1, prints a traceback.
"""

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
app.command("demo", help=_demo.HELP)(_demo.demo)
app.command("train", help=_train.HELP)(_train.train)
app.command("predict", help=_predict.HELP)(_predict.predict)
app.command("test", help=_test.HELP)(_test.evaluate)
app.command("info", help=_info.HELP)(_info.info)
app.command("export", help=_export.HELP)(_export.export)
app.add_typer(_lm.app, name="lm", help=_lm.HELP)
app.add_typer(_sentences.app, name="sentences", help=_sentences.HELP)
app.add_typer(_experiments.app, name="experiments", help=_experiments.HELP)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"hashnlp {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Declare the options of ``hashnlp`` itself."""
