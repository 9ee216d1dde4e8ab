"""``hashnlp lm score``: how probable sentences are."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._lines import check_lines, line_batches
from sklearn_hashnlp.cli._options import Json, Quiet
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.lm._options import LanguageModelFolder

if TYPE_CHECKING:
    from sklearn_hashnlp import HsigmoidLanguageModel


HELP = """\
Tell how probable each sentence is, or the perplexity of a whole file.

\b
  hashnlp lm score --model lm sentences.txt
  hashnlp lm score --model lm sentences.txt | sort -gr | head    the most natural ones
  echo "a dream have I" | hashnlp lm score --model lm
  hashnlp lm score --model lm test.txt --perplexity

One sentence a line in, one line out for each: the natural logarithm of its probability, a tab, and the sentence. \
Nearer to 0 is more probable; of sentences of equal length the higher one sounds more natural. The end of the sentence \
counts as a word, and a word that the model does not know as <unk>. A blank line is no sentence and gets a blank line. \
Where a model was trained with --padding reference, a sentence too short to be scored has nan.

--perplexity prints one number for all: exp of minus the mean logarithm of a word's probability. Lower is better; a \
model that guesses among 100 words has 100. Compare only models that know the same words.
"""


@reporting_errors
def score(
    model: LanguageModelFolder,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Sentences, one a line; without it, stdin.", show_default=False),
    ] = None,
    perplexity: Annotated[bool, typer.Option("--perplexity", "-p", help="Only the perplexity of all of them.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score sentences; the parameters are the command's options."""
    screen = Screen(as_json=as_json, quiet=quiet)
    check_lines(file)  # told before torch is loaded
    from sklearn_hashnlp.cli.lm._loading import load_language_model

    language_model = load_language_model(model)
    with line_batches(screen, file, doing="Scoring", what="sentence") as batches:
        if not perplexity:
            for lines in batches:
                sys.stdout.writelines(_answers(language_model, lines, as_json=as_json))
                sys.stdout.flush()
            return
        sentences = [line for lines in batches for line in lines if line.strip()]
    if not sentences:
        name = "stdin" if file is None or str(file) == "-" else file
        raise ValueError(f"{name} holds no sentence; expected one a line, words apart by blanks.")
    mean = language_model.score(sentences)
    found = math.exp(min(-mean, 700.0))
    if as_json:
        screen.put_json({"perplexity": found, "mean_log_probability": mean})
    else:
        print(f"{found:.4f}")


def _answers(model: HsigmoidLanguageModel, lines: list[str], *, as_json: bool) -> Iterator[str]:
    """Yield the line that answers each sentence."""
    sentences = [line for line in lines if line.strip()]
    scores = iter(model.score_samples(sentences).tolist() if sentences else [])
    for line in lines:
        value = next(scores) if line.strip() else math.nan
        if as_json:
            # JSON knows no NaN.
            yield json.dumps({"log_probability": None if math.isnan(value) else value, "sentence": line}) + "\n"
        elif line.strip():
            yield f"{value:.4f}\t{line}\n"
        else:
            yield "\n"
