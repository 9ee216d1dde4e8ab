"""``hashnlp explain``: which n-grams of a text a prediction is due to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ModelFolder, TextFile, TextOptions
from sklearn_hashnlp.cli._predict import note_read, open_output
from sklearn_hashnlp.cli._screen import Screen, counted
from sklearn_hashnlp.cli.reading._texts import find_format, open_texts

HELP = """\
Explain predictions: what each n-gram of a text adds to the score of a label.

\b
  echo "Win a prize now!" | hashnlp explain --model spam
  hashnlp explain --model spam mails.csv --text-column body --html out.html
  hashnlp explain --model spam new.txt --label ham --top 5
  hashnlp explain --model spam new.txt --json | jq .labels

FILE is read as by hashnlp predict. For each text the label is printed with its score and probability, the text in \
colors, and the n-grams with the largest contributions; all contributions and the bias add up to the score.

--label chooses labels, and may be repeated; the default is the predicted one. --html writes a page with all texts. \
With --json each line is an object with score, bias and n-grams of each label, and their positions in the text.
"""

_MAX_SHOWN = 3  # labels on a page, unless more are predicted
_PAGE = """\
<!DOCTYPE html>
<html>
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>:root {{ color-scheme: light dark; }} body {{ font-family: sans-serif; margin: 1em auto; max-width: 60em; }}
hr {{ border: none; border-top: 1px solid rgba(128, 128, 128, 0.5); margin: 1.5em 0; }}</style></head>
<body>
"""


@reporting_errors
def explain(
    model: ModelFolder,
    reading: TextOptions,
    screen: Screen,
    file: TextFile = None,
    labels: Annotated[
        list[str] | None,
        typer.Option("--label", "-l", metavar="LABEL", help="Label to explain; repeatable. Default: predicted."),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", "-k", metavar="K", min=1, help="Print the K most important n-grams.")
    ] = 10,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Page to write; texts are printed with --json only.")
    ] = None,
) -> None:
    """Explain predictions; the parameters are the options of the command."""
    find_format(file, reading)
    from sklearn_hashnlp.cli._pipelines import last_step, load_classifier

    classifier = load_classifier(model)
    from sklearn_hashnlp.inspection import explain as explanation_of

    chosen = None if labels is None else _labels_of(classifier, labels)
    has_one_score = len(classifier.classes_) == 2 and not last_step(classifier).multilabel_
    n_texts = 0
    with (
        _open_page(screen, html, file) as page,
        open_texts(screen, file, reading, action="Explaining", bar=html is not None) as texts,
    ):
        for text in texts:
            explained = _shown_labels(classifier, text.text) if chosen is None else chosen
            try:
                explanation = explanation_of(classifier, text.text, labels=None if has_one_score else explained)
            except TypeError as error:
                raise ValueError(f"{model}: {error}") from error
            _show(screen, explanation, chosen, top, page)
            n_texts += 1
    note_read(screen, file, texts, n_texts)
    if html is not None:
        screen.note(f"Explained {counted(n_texts, 'text')} in {html}")


def _labels_of(classifier: Any, names: list[str]) -> list[Any]:
    """Return the labels with some names, which are strings on the command line."""
    known = {str(label): label for label in classifier.classes_.tolist()}
    for name in names:
        if name not in known:
            shown = ", ".join(list(known)[:10]) + (", ..." if len(known) > 10 else "")
            raise typer.BadParameter(f"--label {name}: expected a label of the model, such as {shown}.")
    return [known[name] for name in names]


def _shown_labels(classifier: Any, text: str) -> list[Any]:
    """Return the three most probable labels of a text, and all that are predicted."""
    rows: Any = [text]
    if hasattr(classifier, "steps"):
        classifier, rows = classifier[-1], classifier[:-1].transform(rows)
    [best] = classifier.predict_topk(rows, len(classifier.classes_))
    least = 0.5 if classifier.multilabel_ else 1.0
    return [label for rank, (label, share) in enumerate(best) if rank < _MAX_SHOWN or share >= least]


def _show(screen: Screen, explanation: Any, chosen: list[Any] | None, top: int, page: TextIO | None) -> None:
    """Print an explanation, or write it into a page."""
    labels = explanation.shown_labels()[:1] if chosen is None else chosen
    if page is not None:
        page.write(f"{explanation.to_html(chosen, n=top)}\n<hr>\n")
    if screen.as_json:
        screen.show_json(explanation.to_dict(n=top, labels=labels))
    elif page is None:
        screen.show(explanation.to_rich(labels, n=top))


@contextmanager
def _open_page(screen: Screen, path: Path | None, source: Path | None) -> Iterator[TextIO | None]:
    """Open the page to write, if any."""
    if path is None:
        yield None
        return
    with open_output(screen, path, source) as stream:
        stream.write(_PAGE.format(title=escape(f"Predictions for {source.name if source else 'stdin'}")))
        yield stream  # type: ignore[misc]  # a text file
        stream.write("</body>\n</html>\n")
