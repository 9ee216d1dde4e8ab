"""``hashnlp compare``: whether new texts differ from those of the training, without labels."""

from __future__ import annotations

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ModelFolder, TextFile, TextOptions
from sklearn_hashnlp.cli._pipelines import load_classifier
from sklearn_hashnlp.cli._predict import note_read
from sklearn_hashnlp.cli._reading import find_format, open_texts
from sklearn_hashnlp.cli._screen import Screen


@reporting_errors
def compare(
    model: ModelFolder,
    reading: TextOptions,
    screen: Screen,
    file: TextFile = None,
    level: float = typer.Option(
        0.05, "--level", metavar="P", help="Probability of a false alarm, between 0 and 1."
    ),
) -> None:
    """Compare new texts with those of the training: drift, without labels.

      hashnlp compare --model spam today.txt
      hashnlp compare --model spam mails.csv --text-column body
      hashnlp compare --model spam today.txt --quiet
      hashnlp compare --model spam today.txt --json | jq .alarm

    FILE is read as by hashnlp predict, and should have some hundreds of texts. Printed are the
    shares of texts and of n-grams that the model does not know, the lengths of their rows, the
    label whose share has changed most, and the mean of the largest probability, each beside that of
    training texts with a p-value; the unknown n-grams that most texts have; and advice.

    --quiet prints "drift" or "no drift". The exit code is 0 in both cases.
    """
    find_format(file, reading)
    if not 0 < level < 1:
        raise typer.BadParameter(f"--level: expected a number between 0 and 1, got {level}.")
    classifier = load_classifier(model)
    from sklearn_hashnlp.inspection import compare_texts

    with open_texts(screen, file, reading) as texts:
        documents = [text.text for text in texts]
    try:
        comparison = compare_texts(classifier, documents, level=level)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{model}: {error}") from error
    figure = "drift" if comparison.alarm else "no drift"
    screen.result(comparison.to_dict(), [str(comparison)], figure)
    note_read(screen, file, texts, len(documents))
