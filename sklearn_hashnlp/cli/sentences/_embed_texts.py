"""``hashnlp sentences embed`` and ``search``: vectors of texts, and the most similar lines."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions, Quiet
from sklearn_hashnlp.cli._reading import check_text_file, is_stdin, line_batches
from sklearn_hashnlp.cli._screen import Screen, one_field
from sklearn_hashnlp.cli.sentences._load_encoder import EncoderFolder, Threads, load_encoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@reporting_errors
def embed(
    model: EncoderFolder,
    reading: LineOptions,
    file: Path | None = typer.Argument(
        None, metavar="FILE", help="Texts, one per line. Default: stdin."
    ),
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
        raise typer.BadParameter(
            f"--output: expected a name that ends in .npy, got {str(output)!r}."
        )
    if output is not None and not output.parent.is_dir():
        raise FileNotFoundError(
            f"{output.parent} does not exist; expected the folder to save {output.name} in."
        )
    encoder = load_encoder(model, n_jobs=n_jobs)
    vectors = [encoder.transform([])]
    with line_batches(screen, file, reading, bar=True if output is not None else None) as batches:
        for lines in batches:
            rows = encoder.transform(lines)
            if output is not None:
                vectors.append(rows)
                continue
            sys.stdout.writelines(
                " ".join(f"{value:.6g}" for value in row) + "\n" for row in rows.tolist()
            )
            sys.stdout.flush()
    if output is not None:
        import numpy as np

        matrix = np.concatenate(vectors)
        unfinished = output.with_name(f"{output.name}.part")
        with unfinished.open("wb") as stream:
            np.save(stream, matrix)
        unfinished.replace(output)
        screen.show(f"Saved {matrix.shape[0]:,} vectors of {matrix.shape[1]:,} columns in {output}")


@reporting_errors
def search(
    model: EncoderFolder,
    reading: LineOptions,
    screen: Screen,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The texts to search, one per line.")
    ],
    queries: list[str] | None = typer.Argument(
        None, metavar="[QUERY]...", help="What to search for. Default: lines of stdin."
    ),
    top: int = typer.Option(
        10, "--top", metavar="K", min=1, help="Number of results of each query."
    ),
    vectors: Path | None = typer.Option(
        None, metavar="FILE", help="Vectors of the texts, saved by hashnlp sentences embed."
    ),
    n_jobs: Threads = 1,
) -> None:
    """Find the texts of a file that are most similar to a query.

      hashnlp sentences search --model encoder texts.txt "cats asleep"
      hashnlp sentences search -m encoder texts.txt "cats asleep" "share prices"
      hashnlp sentences search -m encoder texts.txt "cats asleep" --top 3 --json
      hashnlp sentences search --model encoder texts.txt < queries.txt

    FILE has one text per line; blank lines are skipped. Queries are arguments, or lines of stdin.
    Each result is one line: the cosine similarity (at most 1), the line number and the text,
    separated by tabs, the most similar first; with more than one query or stdin, the query comes
    before them. All vectors are compared, without approximation.

    For many searches compute the vectors once: hashnlp sentences embed -m encoder texts.txt -o
    vectors.npy, then search with --vectors vectors.npy.
    """
    if is_stdin(file):
        raise typer.BadParameter("FILE: expected a file to search; stdin is for queries.")
    check_text_file(file)  # before torch is loaded
    saved = None if vectors is None else _read_vectors(vectors)
    encoder = load_encoder(model, n_jobs=n_jobs)
    texts, matrix = _read_texts(screen, encoder, file, reading, saved)
    stdin = line_batches(screen, None, reading)
    with nullcontext([queries]) if queries else stdin as batches:
        for lines in batches:
            asked = [line for line in lines if line.strip() or queries]
            if asked:
                indices, similarities = encoder.most_similar(asked, matrix, k=top)
                for query, row, values in zip(
                    asked, indices.tolist(), similarities.tolist(), strict=True
                ):
                    found = [
                        (value, *texts[index]) for index, value in zip(row, values, strict=True)
                    ]
                    _show(screen, query, found, with_query=queries is None or len(queries) > 1)
                sys.stdout.flush()


def _read_texts(
    screen: Screen, encoder: Any, file: Path, reading: LineOptions, saved: Any
) -> tuple[list[tuple[int, str]], NDArray[np.float32]]:
    """Return the numbers and texts of the nonblank lines, and their vectors, new or saved."""
    import numpy as np

    lines: list[str] = []
    parts = [encoder.transform([])]
    with line_batches(screen, file, reading, bar=True) as batches:
        for batch in batches:
            lines += batch
            if saved is None:
                parts.append(encoder.transform(batch))
    vectors = np.concatenate(parts) if saved is None else saved
    wanted, shape = (len(lines), parts[0].shape[1]), getattr(vectors, "shape", "another shape")
    if not isinstance(vectors, np.ndarray) or vectors.dtype != np.float32 or shape != wanted:
        raise ValueError(
            f"--vectors has vectors of shape {shape}; expected {wanted} of float32 for these texts "
            "and this encoder. Compute them again with hashnlp sentences embed."
        )
    rows = [row for row, line in enumerate(lines) if line.strip()]
    if not rows:
        raise ValueError(f"{file} has no text to search; expected one text per line.")
    return [(row + 1, lines[row]) for row in rows], vectors if len(rows) == len(lines) else vectors[
        rows
    ]


def _read_vectors(path: Path) -> Any:
    """Open a saved array without reading all of it; raise an error for another file."""
    import numpy as np

    expected = "the vectors of hashnlp sentences embed --output"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file; expected {expected}.")
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{path} is not a NumPy array; expected {expected}.") from error


def _show(
    screen: Screen, query: str, found: list[tuple[float, int, str]], *, with_query: bool
) -> None:
    """Print the lines that are similar to a query."""
    if screen.as_json:
        results = [
            {"similarity": value, "line": number, "text": text} for value, number, text in found
        ]
        screen.show_json({"query": query, "results": results})
        return
    prefix = f"{one_field(query)}\t" if with_query else ""
    for value, number, text in found:
        print(f"{prefix}{value:.4f}\t{number}\t{one_field(text)}")
