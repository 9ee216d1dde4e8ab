"""``hashnlp lm nearest``: words that a model has found to be alike."""

from __future__ import annotations

from typing import Annotated

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import Json, Quiet
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.lm._options import LanguageModelFolder

HELP = """\
Find the words whose vectors are most similar to a word's: those that are used alike.

\b
  hashnlp lm nearest --model lm monday
  hashnlp lm nearest --model lm monday --number 20 --json
  hashnlp lm nearest --model lm --analogy france paris germany

One word a line, the most similar first: the word, a tab, and the cosine of the two vectors, 1 at most. \
--analogy A B C asks for the words that are to C as B is to A.
"""


@reporting_errors
def nearest(
    model: LanguageModelFolder,
    word: Annotated[
        str | None, typer.Argument(metavar="[WORD]", help="The word, written as in training.", show_default=False)
    ] = None,
    analogy: Annotated[
        tuple[str, str, str] | None,
        typer.Option("--analogy", metavar="A B C", help="Instead of WORD: B is to A as what to C?", show_default=False),
    ] = None,
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="How many words.")] = 10,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find similar words; the parameters are the command's options."""
    screen = Screen(as_json=as_json, quiet=quiet)
    if (word is None) == (analogy is None):
        raise typer.BadParameter("give WORD, or --analogy A B C, and not both.")
    from sklearn_hashnlp.cli.lm._loading import check_known, load_language_model

    language_model = load_language_model(model)
    if analogy is not None:
        check_known(language_model, list(analogy))
        found = language_model.analogy(*analogy, n=number)
    else:
        assert word is not None
        check_known(language_model, [word])
        found = language_model.most_similar(word, n=number)
    if as_json:
        screen.put_json([{"word": similar, "cosine": cosine} for similar, cosine in found])
        return
    for similar, cosine in found:
        print(f"{similar}\t{cosine:.4f}")
