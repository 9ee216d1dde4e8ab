"""``hashnlp export``: export a model as a Python file or folder."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions, ModelFolder, SavedPrecision
from sklearn_hashnlp.cli._screen import Screen, counted
from sklearn_hashnlp.cli.reading._texts import check_text_file, line_batches

HELP = """\
Export a classifier as a Python file, or a folder, that needs only numpy and starts in a fraction of a second.

\b
  hashnlp train mails.csv --model spam
  hashnlp export --model spam spam.py
  hashnlp export --model spam spam_predictor --precision int8
  python spam.py "You have won"
  python spam_predictor --proba < texts.txt

DIR is a model of hashnlp train with any loss but hsigmoid, or a saved pipeline of a HashingNgramVectorizer and a \
HashEmbeddingClassifier without hidden layers. A name that ends with .py is one file; any other is a folder, for \
models of more than 5 MB: its weights are read only when they are used.

A self-governing neural network (train --sgnn, or a pipeline that ends with SGNNClassifier) is quantized to 8 bits: \
with two hidden layers of 128 units its file has about 160 kB, with two of 256 about 340 kB. The size of each part \
before and after quantization is printed.

The result can be imported as a module; it has predict(texts), predict_proba(texts) and CLASSES. Its size is printed, \
with --compare also the number of texts, one per line, with the same predicted label as before.
"""


@reporting_errors
def export(
    model: ModelFolder,
    screen: Screen,
    reading: LineOptions,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write, such as model.py, or folder.")],
    compare: Annotated[
        Path | None,
        typer.Option(
            metavar="TEXTS", help="Texts, one per line, to compare predicted labels on before and after the export."
        ),
    ] = None,
    precision: SavedPrecision = "float32",
) -> None:
    """Export a model; the parameters are the options of the command."""
    check_text_file(compare)  # before torch is loaded
    from sklearn_hashnlp.cli._pipelines import last_step, load_classifier

    pipeline = load_classifier(model)
    screen.note(f"Exporting {model} to {file}")  # it takes seconds
    from sklearn_hashnlp.classifiers import HashEmbeddingClassifier, export_predictor, quantize_classifier

    try:
        size = export_predictor(pipeline, file, precision=precision)
    except TypeError as error:
        raise ValueError(f"{model} cannot be exported: {error}") from error
    if isinstance(last_step(getattr(pipeline, "pipeline_", pipeline)), HashEmbeddingClassifier):
        parts: list[Any] = []
        predict = runpy.run_path(str(file))["predict"]
    else:
        quantized = quantize_classifier(pipeline)
        parts, predict = quantized[-1].size_report(), quantized.predict

    report: dict[str, Any] = {"file": str(file), "bytes": size, "parts": [part._asdict() for part in parts]}
    report |= {"same_labels": None, "n_texts": None}
    lines: list[str] = []
    if parts:
        width = max(len(part.part) for part in parts)
        lines.append(f"{'bytes':{width}} {'before':>10} {'after':>10}")
        lines += [f"{part.part:{width}} {part.before:>10,} {part.after:>10,}" for part in parts]
    if compare is not None:
        same = total = 0
        with line_batches(screen, compare, reading, action="Comparing") as batches:
            for batch in batches:
                pairs = zip(pipeline.predict(batch).tolist(), predict(batch).tolist(), strict=True)
                same += sum(before == after for before, after in pairs)
                total += len(batch)
        report |= {"same_labels": same, "n_texts": total}
        lines.append(f"Same predicted label for {same:,} of {counted(total, 'text')}")
    screen.result(report, [*lines, f"Wrote {file}: {size:,} bytes"])
    screen.next_step("wherever Python and numpy are installed", 'python {path} "some text"', path=file)
