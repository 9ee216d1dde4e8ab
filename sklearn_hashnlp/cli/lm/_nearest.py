"""``hashnlp lm nearest``: find the most similar words."""

from __future__ import annotations

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.lm._load_language_model import LanguageModelFolder, load_language_model


@reporting_errors
def nearest(
    model: LanguageModelFolder,
    screen: Screen,
    word: str | None = typer.Argument(
        None, metavar="[WORD]", help="A word, written as in training."
    ),
    analogy: tuple[str, str, str] | None = typer.Option(
        None, "--analogy", metavar="A B C", help="Words that are to C as B is to A."
    ),
    top: int = typer.Option(
        10, "--top", "-k", metavar="K", min=1, help="Print the K most similar words."
    ),
) -> None:
    """Find the most similar words, by the cosine similarity of word vectors.

      hashnlp lm nearest --model lm monday
      hashnlp lm nearest --model lm monday --top 20 --json
      hashnlp lm nearest --model lm --analogy france paris germany

    One word per line, the most similar first: the word, a tab, and the cosine similarity, at most
    1. --analogy A B C finds the words that are to C as B is to A.
    """
    if (word is None) == (analogy is None):
        raise typer.BadParameter("expected either WORD or --analogy A B C.")
    language_model = load_language_model(model)
    if not hasattr(language_model, "most_similar"):
        raise ValueError(
            f"{model} is a {type(language_model).__name__}, which has no word vectors; hashnlp lm "
            "nearest needs those of an HsigmoidLanguageModel."
        )
    if analogy is not None:
        similar = language_model.analogy(*analogy, n=top)
    else:
        similar = language_model.most_similar(word, n=top)
    if screen.as_json:
        screen.show_json([{"word": word, "similarity": similarity} for word, similarity in similar])
        return
    for similar_word, similarity in similar:
        print(f"{similar_word}\t{similarity:.4f}")
