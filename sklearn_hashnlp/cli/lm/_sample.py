"""``hashnlp lm sample`` and ``hashnlp lm continue``: generate sentences, and continue lines."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.lm._load_language_model import (
    LanguageModelFolder,
    Lowercase,
    Prompts,
    load_language_model,
    opened,
)

_MaxLength = Annotated[int, typer.Option("--max-length", min=1, help="Maximum number of words of a sentence.")]
_Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        max=2**32 - 1,
        help="Random seed: same seed, same sentences. Default: other sentences each time.",
    ),
]


@reporting_errors
def sample(
    model: LanguageModelFolder,
    screen: Screen,
    samples: int = typer.Option(1, "--samples", "-n", metavar="N", min=1, help="Number of sentences."),
    start: str = typer.Option("", metavar="WORDS", help="First words of each sentence.", show_default=False),
    max_length: _MaxLength = 100,
    seed: _Seed = None,
) -> None:
    """Generate sentences word by word, sampling from the probabilities of the model.

      hashnlp lm sample --model lm
      hashnlp lm sample --model lm --samples 5 --seed 1
      hashnlp lm sample --model lm --start "the company said"

    One sentence per line. Each next word is sampled until the end of the sentence is sampled or
    --max-length is reached. Unknown words are <unk>. With --json each line is a list of words.
    """
    language_model = load_language_model(model)
    start = Lowercase(screen, language_model)(start)
    unknown = [word for word in start.split() if word not in language_model.vocabulary_]
    if unknown:
        screen.note(f"Not in the vocabulary of the model: {', '.join(map(repr, unknown))}")
    _write(screen, language_model.sample(samples, random_state=seed, start=start, max_length=max_length))


@reporting_errors
def continue_lines(
    model: LanguageModelFolder,
    screen: Screen,
    reading: LineOptions,
    file: Prompts = None,
    samples: int = typer.Option(1, "--samples", "-n", metavar="N", min=1, help="Number of sentences per line."),
    max_length: _MaxLength = 100,
    seed: _Seed = None,
) -> None:
    """Continue each line, word by word, to the end of the sentence.

      echo "the company said" | hashnlp lm continue --model lm
      hashnlp lm continue --model lm beginnings.txt --seed 1
      echo "the company said" | hashnlp lm continue --model lm --samples 5

    Lines are the starts of sentences, written as for training; a blank line gives a whole sentence.
    Each next word is sampled from the probabilities of the model until the end of the sentence is
    sampled or --max-length is reached.

    Each line gets one line of output, or N with --samples N: the words of the line, and the words
    after them. With --json each is a list of words.
    """
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
