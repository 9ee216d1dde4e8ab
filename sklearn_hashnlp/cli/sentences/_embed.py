"""``hashnlp sentences embed``: compute the vectors of texts, one per line."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions, Quiet
from sklearn_hashnlp.cli._reading import check_text_file, line_batches
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.sentences._load_encoder import EncoderFolder, Threads, load_encoder


@reporting_errors
def embed(
    model: EncoderFolder,
    reading: LineOptions,
    file: Path | None = typer.Argument(None, metavar="FILE", help="Texts, one per line. Default: stdin."),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="FILE", help="File to save, such as vectors.npy."
    ),
    n_jobs: Threads = 1,
    quiet: Quiet = False,
) -> None:
    """Compute the vectors of texts, one per line, for search, clustering or classification.

      hashnlp sentences embed --model encoder texts.txt --output vectors.npy
      hashnlp sentences search -m encoder texts.txt --vectors vectors.npy "a cat"
      echo "A cat sleeps." | hashnlp sentences embed --model encoder > vector.txt

    With --output the vectors are a NumPy array of float32, one row for each line; numpy.load reads
    it. Without, they are printed, one line each, numbers separated by spaces. Vectors have length
    1, and their dot product is the cosine similarity; a blank line has zeros.
    """
    screen = Screen(as_json=False, quiet=quiet)
    check_text_file(file)  # before torch is loaded
    if output is not None and output.suffix != ".npy":
        raise typer.BadParameter(f"--output: expected a name that ends in .npy, got {str(output)!r}.")
    if output is not None and not output.parent.is_dir():
        raise FileNotFoundError(f"{output.parent} does not exist; expected the folder to save {output.name} in.")
    encoder = load_encoder(model, n_jobs=n_jobs)
    vectors = [encoder.transform([])]
    with line_batches(screen, file, reading, action="Embedding", bar=True if output is not None else None) as batches:
        for lines in batches:
            rows = encoder.transform(lines)
            if output is not None:
                vectors.append(rows)
                continue
            sys.stdout.writelines(" ".join(f"{value:.6g}" for value in row) + "\n" for row in rows.tolist())
            sys.stdout.flush()
    if output is not None:
        import numpy as np

        matrix = np.concatenate(vectors)
        unfinished = output.with_name(f"{output.name}.part")
        with unfinished.open("wb") as stream:
            np.save(stream, matrix)
        unfinished.replace(output)
        screen.show(f"Saved {matrix.shape[0]:,} vectors of {matrix.shape[1]:,} columns in {output}")
