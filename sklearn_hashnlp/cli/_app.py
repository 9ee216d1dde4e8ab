"""The ``hashnlp`` command and its subcommands; a command imports its module alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import typer

from sklearn_hashnlp import __version__
from sklearn_hashnlp.cli._errors import CommandGroup

_COMMANDS = {  # in the order of the help: the module and the function
    "demo": "_demo.demo",
    "train": "_train.train",
    "tune": "_tune.tune",
    "predict": "_predict.predict",
    "test": "_test.evaluate",
    "explain": "_explain.explain",
    "compare": "_compare.compare",
    "info": "_info.info",
    "export": "_export.export",
    "convert": "_export.convert",
    "lm train": "lm._train_language_model.train",
    "lm mix": "lm._mix.mix",
    "lm score": "lm._score.score",
    "lm rank": "lm._score.rank",
    "lm predict": "lm._predict_words.predict",
    "lm test": "lm._predict_words.evaluate",
    "lm sample": "lm._sample.sample",
    "lm nearest": "lm._nearest.nearest",
    "sentences train": "sentences._train_encoder.train",
    "sentences embed": "sentences._embed_texts.embed",
    "sentences search": "sentences._embed_texts.search",
}
_COMPLETION = "_HASHNLP_COMPLETE"  # set by the shell where it asks for completions

_HELP = """\
Train and use text classifiers, language models and sentence encoders. No vocabulary and no GPU is \
needed.

\b
  hashnlp demo                            train and test on text you have
  hashnlp train mails.csv --model spam    train a text classifier
  hashnlp tune mails.csv --model spam     search for better parameters
  echo "Win!" | hashnlp predict -m spam   predict labels, one text per line
  hashnlp test more.csv --model spam      test a model on labeled texts
  hashnlp explain more.csv --model spam   explain predictions by n-grams
  hashnlp compare new.txt --model spam    test for drift, without labels
  hashnlp info spam                       describe a model
  hashnlp export -m intents intents.py    export a small model as one file
  hashnlp convert spam.bin -m spam        convert models from or to fastText
  hashnlp lm train text.txt --model lm    train a language model
  hashnlp sentences train text.txt -m e   train a sentence encoder, for search

Options of a command: hashnlp train --help
"""

_GROUPS = {
    "lm": """\
Train a language model on a text file, predict and write next words, score and rank sentences, \
find similar words.

\b
  hashnlp lm train train.txt -m lm              train on a sentence per line
  hashnlp lm score -m lm sentences.txt          score each sentence
  hashnlp lm score -m lm test.txt --perplexity  perplexity of a test file
  hashnlp lm rank -m lm candidates.txt          the best of several sentences
  hashnlp lm predict -m lm lines.txt            predict the next words
  hashnlp lm test -m lm test.txt                test it on last words
  hashnlp lm sample -m lm --samples 5           generate sentences
  hashnlp lm nearest -m lm monday               find similar words
  hashnlp lm mix lm1 lm2 --valid v.txt -m lm    mix models

Text files have one sentence per line, words separated by spaces. Words are used as they are \
written: separate punctuation first, and train with --lowercase unless capitals matter.
""",
    "sentences": """\
Train a sentence encoder on a text file, compute sentence vectors, search texts by similarity.

\b
  hashnlp sentences train articles.txt -m encoder    train on paragraphs
  hashnlp sentences search -m encoder texts.txt "cats asleep"
                                                     find similar lines
  hashnlp sentences embed -m encoder texts.txt -o vectors.npy
                                                     compute vectors

No labels, no vocabulary and no downloaded model is needed: the encoder learns from your own text.
""",
}

_EPILOG = """\
Exit codes: 0 success, 1 error in a file, a model or the data, 2 wrong usage, \
130 interrupted by Ctrl-C, 141 closed pipe. \
Errors are one line on stderr; --debug after a command, or HASHNLP_DEBUG=1, prints a traceback.
"""


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line with the command or group in the arguments, or with all."""
    named = () if _COMPLETION in os.environ else arguments[:1]
    return _make_app(
        *([name for name in _COMMANDS if name.split()[:1] == list(named)] or _COMMANDS)
    )


@cache
def _make_app(*names: str) -> typer.Typer:
    options: dict[str, Any] = {"no_args_is_help": True, "rich_markup_mode": "rich"}
    app = typer.Typer(
        name="hashnlp",
        cls=CommandGroup,
        help=_HELP,
        epilog=_EPILOG,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **options,
    )
    app.callback()(_top)
    groups: dict[str, typer.Typer] = {}
    for name in names:
        group, _, command = name.rpartition(" ")
        if group and group not in groups:
            groups[group] = typer.Typer(**options)
            app.add_typer(groups[group], name=group, help=_GROUPS[group])
        module, function = _COMMANDS[name].rsplit(".", 1)
        groups.get(group, app).command(command)(
            getattr(import_module(f"sklearn_hashnlp.cli.{module}"), function)
        )
    return app


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"hashnlp {__version__}")
        raise typer.Exit


def _top(
    version: bool = typer.Option(
        False,
        "--version",
        "-V",
        callback=_print_version,
        is_eager=True,
        help="Print the version and exit.",
    ),
) -> None:
    """Declare the options of ``hashnlp`` itself."""
