"""``hashnlp lm sample``: sentences that a model makes up."""

from __future__ import annotations

from typing import Annotated

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import Json, Quiet
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.lm._options import LanguageModelFolder

HELP = """\
Make up sentences, word after word as the model finds them probable.

\b
  hashnlp lm sample --model lm
  hashnlp lm sample --model lm --number 5 --seed 1
  hashnlp lm sample --model lm --start "the company said"

One sentence a line. Each next word is drawn by its probability, until the end of the sentence is drawn or \
--max-length is reached; what the model makes of rare words stands as <unk>. With --json each line is a list of words.
"""


@reporting_errors
def sample(
    model: LanguageModelFolder,
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="How many sentences.")] = 1,
    start: Annotated[str, typer.Option(metavar="WORDS", help="How each of them begins.", show_default=False)] = "",
    max_length: Annotated[int, typer.Option(min=1, help="Words after which a sentence is cut off.")] = 100,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, max=2**32 - 1, help="Same seed, same sentences; without it, others each time.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw sentences; the parameters are the command's options."""
    screen = Screen(as_json=as_json, quiet=quiet)
    from sklearn_hashnlp.cli.lm._loading import load_language_model

    language_model = load_language_model(model)
    unknown = [word for word in start.split() if word not in language_model.vocabulary_]
    if unknown and language_model.embedding == "table":
        screen.note(f"The model does not know {', '.join(map(repr, unknown))} and takes it for <unk>.")
    for words in language_model.sample(number, random_state=seed, start=start, max_length=max_length):
        if as_json:
            screen.put_json(words)
        else:
            print(" ".join(words))
