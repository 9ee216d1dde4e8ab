"""``hashnlp export``: export a model as a Python file or folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ModelFolder, SavedPrecision
from sklearn_hashnlp.cli._pipelines import last_step, load_classifier
from sklearn_hashnlp.cli._screen import Screen, plain_table


@reporting_errors
def export(
    model: ModelFolder,
    screen: Screen,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write, such as model.py, or folder.")],
    precision: SavedPrecision = "float32",
) -> None:
    """Export a classifier as a Python file, or a folder, that needs only numpy and starts in a
    fraction of a second.

      hashnlp train mails.csv --model spam
      hashnlp export --model spam spam.py
      hashnlp export --model spam spam_predictor --precision int8
      python spam.py "You have won"
      python spam_predictor --proba < texts.txt

    DIR is a model of hashnlp train with any loss but hsigmoid, or a saved pipeline of a
    HashingNgramVectorizer and a HashEmbeddingClassifier without hidden layers. A name that ends
    with .py is one file; any other is a folder, for models of more than 5 MB: its weights are read
    only when they are used.

    A self-governing neural network (train --sgnn, or a pipeline that ends with SGNNClassifier) is
    quantized to 8 bits: with two hidden layers of 128 units its file has about 160 kB, with two of
    256 about 340 kB. The size of each part before and after quantization is printed.

    The result can be imported as a module; it has predict(texts), predict_proba(texts) and CLASSES.
    Its size is printed.
    """
    pipeline = load_classifier(model)
    screen.note(f"Exporting {model} to {file}")  # it takes seconds
    from sklearn_hashnlp.classifiers import HashEmbeddingClassifier, export_predictor, quantize_classifier

    try:
        size = export_predictor(pipeline, file, precision=precision)
    except TypeError as error:
        raise ValueError(f"{model} cannot be exported: {error}") from error
    lines: list[Any] = []
    report: dict[str, Any] = {"file": str(file), "bytes": size, "parts": []}
    if not isinstance(last_step(getattr(pipeline, "pipeline_", pipeline)), HashEmbeddingClassifier):
        table = plain_table("bytes", ">before", ">after")
        for part in quantize_classifier(pipeline)[-1].size_report():
            table.add_row(part.part, f"{part.before:,}", f"{part.after:,}")
            report["parts"].append(part._asdict())
        lines.append(table)
    screen.result(report, [*lines, f"Wrote {file}: {size:,} bytes"])
    screen.next_step("wherever Python and numpy are installed", 'python {path} "some text"', path=file)
