"""``hashnlp export``: export a model as a Python file or folder."""

from __future__ import annotations

import runpy
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import Json, ModelFolder, Precision, Quiet, SavedPrecision
from sklearn_hashnlp.cli._screen import Screen, counted
from sklearn_hashnlp.cli.reading._lines import check_text_file, line_batches

HELP = """\
Export a classifier as a Python file, or a folder, that needs only numpy and starts in a fraction of a second.

\b
  hashnlp train mails.csv --model spam
  hashnlp export --model spam spam.py
  hashnlp export --model spam spam_predictor --precision int8
  python spam.py "You have won"
  python spam_predictor --proba < texts.txt

DIR is a model of hashnlp train with any loss but hsigmoid; or a pipeline of a HashingNgramVectorizer and a \
HashEmbeddingClassifier without hidden layers, fitted in Python and saved with save_model. Labels are those of the \
model. A name that ends with .py is one file; any other is a folder, whose weights are not read before they are used, \
which is better for models of more than 5 MB.

A self-governing neural network (train --sgnn, or a pipeline that ends with SGNNClassifier) is quantized to 8 bits: \
with two hidden layers of 128 units its file has about 160 kB, with two of 256 about 340 kB. The size of each part \
before and after quantization is printed.

The result can be imported as a module; it has predict(texts), predict_proba(texts) and CLASSES. Its size is printed, \
with --compare also the number of texts, one per line, whose predicted label does not change.
"""


@reporting_errors
def export(
    model: ModelFolder,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to write, such as model.py, or folder.", show_default=False)
    ],
    compare: Annotated[
        Path | None,
        typer.Option(
            metavar="TEXTS",
            help="Texts, one per line, to compare predicted labels on before and after the export.",
            show_default=False,
        ),
    ] = None,
    precision: SavedPrecision = Precision.float32,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Export a model; the parameters are the options of the command."""
    screen = Screen(as_json=as_json, quiet=quiet)
    from sklearn_hashnlp.persistence._folder_files import check_model_folder

    check_text_file(compare)  # before torch is loaded
    check_model_folder(model)
    screen.note(f"Exporting {model} to {file}")  # it takes seconds
    from sklearn_hashnlp.classifiers import HashEmbeddingClassifier, export_predictor, quantize_classifier
    from sklearn_hashnlp.cli._pipelines import final_estimator, load_classifier

    pipeline = load_classifier(model)
    try:
        size = export_predictor(pipeline, file, precision=precision.value)
    except TypeError as error:
        raise ValueError(f"{model} cannot be exported: {error}") from error
    if isinstance(final_estimator(pipeline), HashEmbeddingClassifier):
        parts: list[Any] = []
        predict = runpy.run_path(str(file))["predict"]
    else:
        quantized = quantize_classifier(pipeline)
        parts, predict = quantized[-1].size_report(), quantized.predict
    same, total = _compare(screen, pipeline, predict, compare) if compare is not None else (None, None)

    if as_json:
        report: dict[str, Any] = {"file": str(file), "bytes": size, "parts": [part._asdict() for part in parts]}
        screen.show_json(report | {"same_labels": same, "n_texts": total})
        return
    if parts:
        width = max(len(part.part) for part in parts)
        screen.show(f"{'bytes':{width}} {'before':>10} {'after':>10}")
        for part in parts:
            screen.show(f"{part.part:{width}} {part.before:>10,} {part.after:>10,}")
    if same is not None and total is not None:
        screen.show(f"Same predicted label for {same:,} of {counted(total, 'text')}")
    screen.show(f"Wrote {file}: {size:,} bytes")
    screen.note("\nNext, wherever Python and numpy are installed:")
    screen.note(f'  python {shlex.quote(str(file))} "some text"', style="bold")


def _compare(screen: Screen, pipeline: Any, predict: Callable[[list[str]], Any], texts: Path) -> tuple[int, int]:
    """Return the number of texts with the same predicted label, and the number of texts."""
    same = total = 0
    with line_batches(screen, texts, action="Comparing", unit="text") as batches:
        for batch in batches:
            pairs = zip(pipeline.predict(batch).tolist(), predict(batch).tolist(), strict=True)
            same += sum(before == after for before, after in pairs)
            total += len(batch)
    return same, total
