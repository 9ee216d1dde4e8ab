"""``hashnlp export``: export a model as one Python file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._lines import check_text_file, line_batches
from sklearn_hashnlp.cli._options import Json, ModelFolder, Quiet
from sklearn_hashnlp.cli._screen import Screen, counted

HELP = """\
Export a self-governing neural network (SGNN) as one Python file that needs only numpy.

\b
  hashnlp train intents.csv --model intents --sgnn
  hashnlp export --model intents intents.py
  hashnlp export --model intents intents.py --compare texts.txt
  python intents.py "is there a train to Rome"
  python intents.py --proba < texts.txt

DIR is a model of hashnlp train --sgnn; or a pipeline of CharNgramFeaturizer, SGNNProjector and SGNNClassifier, or of \
SGNNWordProjector and SGNNClassifier, fitted in Python and saved with save_model. Its weights are quantized to 8 bits. \
With two hidden layers of 128 units the file has about 160 kB, with two of 256 about 340 kB.

The file can be imported as a module; it has predict(texts), predict_proba(texts) and CLASSES.

The size of each part of the network before and after quantization is printed, and the size of FILE; with --compare \
also the number of texts, one per line, whose predicted label does not change.
"""


@reporting_errors
def export(
    model: ModelFolder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write, such as model.py.", show_default=False)],
    compare: Annotated[
        Path | None,
        typer.Option(
            metavar="TEXTS",
            help="Texts, one per line, to compare predicted labels on before and after quantization.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Export a model; the parameters are the options of the command."""
    screen = Screen(as_json=as_json, quiet=quiet)
    check_text_file(compare)  # before torch is loaded
    from sklearn_hashnlp.classifiers import TextClassifier, export_predictor, quantize
    from sklearn_hashnlp.cli._pipelines import load_classifier

    pipeline = load_classifier(model)
    try:
        size = export_predictor(pipeline, file)
    except TypeError as error:
        if isinstance(pipeline, TextClassifier):
            raise ValueError(
                f"{model} cannot be exported: it has hash embeddings, and only a small network can be written as one "
                "file. Train it with --sgnn: hashnlp train DATA --model DIR --sgnn."
            ) from error
        raise ValueError(f"{model} cannot be exported: {error}") from error
    quantized = quantize(pipeline)
    same, total = _compare(screen, pipeline, quantized, compare) if compare is not None else (None, None)

    parts = quantized[-1].size_report()
    if as_json:
        report: dict[str, Any] = {"file": str(file), "bytes": size, "parts": [part._asdict() for part in parts]}
        screen.show_json(report | {"same_labels": same, "n_texts": total})
        return
    width = max(len(part.part) for part in parts)
    screen.show(f"{'bytes':{width}} {'before':>10} {'after':>10}")
    for part in parts:
        screen.show(f"{part.part:{width}} {part.before:>10,} {part.after:>10,}")
    if same is not None and total is not None:
        screen.show(f"Same predicted label for {same:,} of {counted(total, 'text')}")
    screen.show(f"Wrote {file}: {size:,} bytes")
    screen.note("\nNext, wherever Python and numpy are installed:")
    screen.note(f'  python {shlex.quote(str(file))} "some text"', style="bold")


def _compare(screen: Screen, pipeline: Any, quantized: Any, texts: Path) -> tuple[int, int]:
    """Return the number of texts with the same predicted label, and the number of texts."""
    same = total = 0
    with line_batches(screen, texts, action="Comparing", unit="text") as batches:
        for batch in batches:
            equal = pipeline.predict(batch) == quantized.predict(batch)
            same += int(equal.reshape(len(batch), -1).all(axis=1).sum())
            total += len(batch)
    return same, total
