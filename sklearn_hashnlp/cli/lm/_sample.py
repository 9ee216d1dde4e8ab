"""``hashnlp lm sample``: generate sentences."""

from __future__ import annotations

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.lm._load_language_model import (
    LanguageModelFolder,
    Lowercase,
    load_language_model,
)


@reporting_errors
def sample(
    model: LanguageModelFolder,
    screen: Screen,
    samples: int = typer.Option(
        1, "--samples", "-n", metavar="N", min=1, help="Number of sentences."
    ),
    start: str = typer.Option(
        "", metavar="WORDS", help="First words of each sentence.", show_default=False
    ),
    max_length: int = typer.Option(100, min=1, help="Maximum number of words of a sentence."),
    seed: int | None = typer.Option(
        None,
        min=0,
        max=2**32 - 1,
        help="Random seed: same seed, same sentences. Default: other sentences each time.",
    ),
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
    for words in language_model.sample(
        samples, random_state=seed, start=start, max_length=max_length
    ):
        if screen.as_json:
            screen.show_json(words)
        else:
            print(" ".join(words))
