"""``hashnlp lm predict``: predict the next word after each line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.lm._lm_options import LanguageModelFolder, Prompts, WordSearch, check_search
from sklearn_hashnlp.cli.lm._load_language_model import opened, predict_words

HELP = """\
Predict the next word after each line.

\b
  echo "have a dream that" | hashnlp lm predict --model lm
  hashnlp lm predict --model lm beginnings.txt --top 5 --proba
  hashnlp lm predict --model checkpoints/epoch-00001 beginnings.txt --json

Lines are the starts of sentences, written as for training; a blank line is the start of a sentence itself. The model \
reads only the last words of a longer line (four for a 5-gram model).

Each line gets one line of output: the most probable next word, which is </s> at the end of a sentence. --top 5 prints \
the five most probable words, --proba the probability after each word; they are separated by tabs. With --json each \
line is an object with "word" and "probability", and with --top also "top", a list of such objects.

hashnlp lm test counts correct predictions; hashnlp lm continue writes whole sentences.
"""


@reporting_errors
def predict(
    model: LanguageModelFolder,
    screen: Screen,
    reading: LineOptions,
    file: Prompts = None,
    top: Annotated[
        int | None, typer.Option("--top", "-k", metavar="K", min=1, help="Print the K most probable words.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", "-p", help="Print the probability after each word.")] = False,
    search: WordSearch = "exact",
) -> None:
    """Predict next words; the parameters are the options of the command."""
    check_search(search, top)
    if search == "greedy" and (proba or screen.as_json):
        raise typer.BadParameter("probabilities need exact search; remove --search greedy.")
    with opened(screen, model, file, reading, action="Predicting", unit="beginning of a sentence") as opened_lines:
        language_model, lowercase, batches = opened_lines
        for lines in batches:
            contexts = [lowercase(line) for line in lines]
            if search == "greedy":
                sys.stdout.writelines(f"{word}\n" for word in predict_words(language_model, contexts, search))
            else:
                sys.stdout.writelines(_output_lines(language_model, contexts, top, proba=proba, as_json=screen.as_json))
            sys.stdout.flush()


def _output_lines(model: Any, contexts: list[str], top: int | None, *, proba: bool, as_json: bool) -> Iterator[str]:
    """Yield the line of output for each context."""
    for row in model.predict_topk(contexts, top or 1):
        if as_json:
            entries = [{"word": word, "probability": probability} for word, probability in row]
            yield json.dumps(entries[0] if top is None else entries[0] | {"top": entries}) + "\n"
        else:
            yield "\t".join(f"{word}\t{probability:.4f}" if proba else word for word, probability in row) + "\n"
