"""``hashnlp lm continue``: write each line on to the end of its sentence."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.lm._options import LanguageModelFolder, MaxLength, SampleSeed
from sklearn_hashnlp.cli.reading._lines import check_text_file, line_batches

HELP = """\
Continue each line, word by word, to the end of the sentence.

\b
  echo "the company said" | hashnlp lm continue --model lm
  hashnlp lm continue --model lm beginnings.txt --seed 1
  echo "the company said" | hashnlp lm continue --model lm --samples 5

Lines are beginnings of sentences, written as for training; a blank line gives a whole sentence. Each next word is \
sampled from the probabilities of the model until the end of the sentence is sampled or --max-length is reached.

Each line gets one line of output, or N with --samples N: the words of the line, and the words after them. With --json \
each is a list of words.
"""


@reporting_errors
def continue_lines(
    model: LanguageModelFolder,
    screen: Screen,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Beginnings of sentences, one a line. Default: stdin.", show_default=False),
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", "-n", metavar="N", min=1, help="Number of sentences per line.")
    ] = 1,
    max_length: MaxLength = 100,
    seed: SampleSeed = None,
) -> None:
    """Continue sentences; the parameters are the options of the command."""
    check_text_file(file)  # before torch is loaded
    from sklearn.utils import check_random_state

    from sklearn_hashnlp.cli.lm._loading import load_language_model
    from sklearn_hashnlp.cli.lm._lowercase import Lowercase

    language_model = load_language_model(model)
    lowercase = Lowercase(screen, language_model)
    random_state = check_random_state(seed)
    with line_batches(screen, file, action="Continuing", unit="beginning of a sentence") as batches:
        for line in (line for lines in batches for line in lines):
            for words in language_model.sample(samples, random_state, start=lowercase(line), max_length=max_length):
                if screen.as_json:
                    screen.show_json(words)
                else:
                    print(" ".join(words))
            sys.stdout.flush()
