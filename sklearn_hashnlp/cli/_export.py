"""``hashnlp export``: a model folder to a predictor in one file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._lines import check_lines, line_batches
from sklearn_hashnlp.cli._options import Json, ModelFolder, Quiet
from sklearn_hashnlp.cli._screen import Screen

HELP = """\
Write a self-governing neural network as one Python file that needs numpy alone.

\b
  hashnlp export --model intents intents.py
  hashnlp export --model intents intents.py --compare texts.txt
  python intents.py "is there a train to Rome"
  python intents.py --proba < texts.txt

DIR holds a pipeline of CharNgramFeaturizer, SGNNProjector and SGNNClassifier, or of SGNNWordProjector and \
SGNNClassifier, that was fitted in Python and saved by save_model. Its weights are rounded to eight bits. With two \
hidden layers of 128 the file has about 160 kB, with two of 256 about 340 kB.

As a module it has predict(texts), predict_proba(texts) and CLASSES.

Printed is the size of each part of the network before and after rounding, and that of FILE. --compare tells as well \
for how many texts of a file, one a line, the label is still the same.
"""


@reporting_errors
def export(
    model: ModelFolder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write, such as model.py.", show_default=False)],
    compare: Annotated[
        Path | None,
        typer.Option(
            metavar="TEXTS", help="Texts, one a line, to compare labels on with those before.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Export a model; the parameters are the command's options."""
    screen = Screen(as_json=as_json, quiet=quiet)
    check_lines(compare)  # told before torch is loaded
    from sklearn_hashnlp.classifiers import export_predictor, quantize
    from sklearn_hashnlp.cli._pipelines import load_classifier

    pipeline = load_classifier(model)
    try:
        size = export_predictor(pipeline, file)
    except TypeError as error:
        raise ValueError(f"{model} holds a model that cannot be exported: {error}") from error
    quantized = quantize(pipeline)
    same, total = _compare(screen, pipeline, quantized, compare) if compare is not None else (None, None)

    parts = quantized[-1].size_report()
    if as_json:
        report: dict[str, Any] = {"file": str(file), "bytes": size, "parts": [part._asdict() for part in parts]}
        screen.put_json(report | {"same_labels": same, "n_texts": total})
        return
    width = max(len(part.part) for part in parts)
    screen.show(f"{'bytes':{width}} {'before':>10} {'after':>10}")
    for part in parts:
        screen.show(f"{part.part:{width}} {part.before:>10,} {part.after:>10,}")
    if same is not None:
        screen.show(f"The label is the same for {same:,} of {total:,} texts")
    screen.show(f"Wrote {file}: {size:,} bytes")
    screen.note("\nNext, where Python and numpy are:")
    screen.note(f'  python {shlex.quote(str(file))} "some text"', style="bold")


def _compare(screen: Screen, pipeline: Any, quantized: Any, texts: Path) -> tuple[int, int]:
    """Count the texts whose labels are the same, and all."""
    same = total = 0
    with line_batches(screen, texts, doing="Comparing", what="text") as batches:
        for batch in batches:
            equal = pipeline.predict(batch) == quantized.predict(batch)
            same += int(equal.reshape(len(batch), -1).all(axis=1).sum())
            total += len(batch)
    return same, total
