"""``hashnlp lm sample``: generate sentences."""

from __future__ import annotations

from typing import Annotated

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.lm._options import LanguageModelFolder, MaxLength, SampleSeed

HELP = """\
Generate sentences word by word, sampling from the probabilities of the model.

\b
  hashnlp lm sample --model lm
  hashnlp lm sample --model lm --samples 5 --seed 1
  hashnlp lm sample --model lm --start "the company said"

One sentence per line. Each next word is sampled until the end of the sentence is sampled or --max-length is reached. \
Unknown words are <unk>. With --json each line is a list of words.
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
    from sklearn_hashnlp.cli.lm._loading import load_language_model
    from sklearn_hashnlp.cli.lm._lowercase import Lowercase

    language_model = load_language_model(model)
    start = Lowercase(screen, language_model)(start)
    unknown = [word for word in start.split() if word not in language_model.vocabulary_]
    if unknown and language_model._tokenizer.word_encoder is None:
        token = language_model._tokenizer.special_tokens.unknown
        screen.note(f"Not in the vocabulary of the model, and replaced by {token}: {', '.join(map(repr, unknown))}")
    for words in language_model.sample(samples, random_state=seed, start=start, max_length=max_length):
        if screen.as_json:
            screen.show_json(words)
        else:
            print(" ".join(words))
