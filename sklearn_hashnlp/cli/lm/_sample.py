"""``hashnlp lm sample`` and ``hashnlp lm continue``: generate sentences, and continue lines."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.lm._lm_options import LanguageModelFolder, MaxLength, Prompts, SampleSeed
from sklearn_hashnlp.cli.lm._load_language_model import Lowercase, load_language_model, opened

HELP = """\
Generate sentences word by word, sampling from the probabilities of the model.

\b
  hashnlp lm sample --model lm
  hashnlp lm sample --model lm --samples 5 --seed 1
  hashnlp lm sample --model lm --start "the company said"

One sentence per line. Each next word is sampled until the end of the sentence is sampled or --max-length is reached. \
Unknown words are <unk>. With --json each line is a list of words.
"""

CONTINUE_HELP = """\
Continue each line, word by word, to the end of the sentence.

\b
  echo "the company said" | hashnlp lm continue --model lm
  hashnlp lm continue --model lm beginnings.txt --seed 1
  echo "the company said" | hashnlp lm continue --model lm --samples 5

Lines are the starts of sentences, written as for training; a blank line gives a whole sentence. Each next word is \
sampled from the probabilities of the model until the end of the sentence is sampled or --max-length is reached.

Each line gets one line of output, or N with --samples N: the words of the line, and the words after them. With --json \
each is a list of words.
"""


@reporting_errors
def sample(
    model: LanguageModelFolder,
    screen: Screen,
    samples: Annotated[int, typer.Option("--samples", "-n", metavar="N", min=1, help="Number of sentences.")] = 1,
    start: Annotated[str, typer.Option(metavar="WORDS", help="First words of each sentence.", show_default=False)] = "",
    max_length: MaxLength = 100,
    seed: SampleSeed = None,
) -> None:
    """Sample sentences; the parameters are the options of the command."""
    language_model = load_language_model(model)
    start = Lowercase(screen, language_model)(start)
    unknown = [word for word in start.split() if word not in language_model.vocabulary_]
    embedding = getattr(language_model, "embedding", "table")
    if unknown and (embedding if isinstance(embedding, str) else embedding[0]) not in ("hash", "sgnn"):
        token = language_model.special_tokens_[2]
        screen.note(f"Not in the vocabulary of the model, and replaced by {token}: {', '.join(map(repr, unknown))}")
    _write(screen, language_model.sample(samples, random_state=seed, start=start, max_length=max_length))


@reporting_errors
def continue_lines(
    model: LanguageModelFolder,
    screen: Screen,
    reading: LineOptions,
    file: Prompts = None,
    samples: Annotated[
        int, typer.Option("--samples", "-n", metavar="N", min=1, help="Number of sentences per line.")
    ] = 1,
    max_length: MaxLength = 100,
    seed: SampleSeed = None,
) -> None:
    """Continue sentences; the parameters are the options of the command."""
    with opened(screen, model, file, reading, action="Continuing", unit="beginning of a sentence") as opened_lines:
        from sklearn.utils import check_random_state

        language_model, lowercase, batches = opened_lines
        random_state = check_random_state(seed)
        for line in (line for lines in batches for line in lines):
            _write(screen, language_model.sample(samples, random_state, start=lowercase(line), max_length=max_length))
            sys.stdout.flush()


def _write(screen: Screen, sentences: list[list[str]]) -> None:
    for words in sentences:
        if screen.as_json:
            screen.show_json(words)
        else:
            print(" ".join(words))
