"""``hashnlp sentences search``: find the most similar lines of a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions
from sklearn_hashnlp.cli._screen import Screen, one_field
from sklearn_hashnlp.cli.reading._texts import check_text_file, is_stdin, line_batches
from sklearn_hashnlp.cli.sentences._load_encoder import load_encoder, read_vectors
from sklearn_hashnlp.cli.sentences._sentence_options import ContextWeight, EncoderFolder, Threads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HELP = """\
Find the texts of a file that are most similar to a query.

\b
  hashnlp sentences search --model encoder texts.txt "cats asleep"
  hashnlp sentences search -m encoder texts.txt "cats asleep" "share prices"
  hashnlp sentences search -m encoder texts.txt "cats asleep" --top 3 --json
  hashnlp sentences search --model encoder texts.txt < queries.txt

FILE has one text per line; blank lines are skipped. Queries are arguments, or lines of stdin. Each result is one \
line: the cosine similarity (at most 1), the line number and the text, separated by tabs, the most similar first; with \
more than one query or stdin, the query comes before them. All vectors are compared, without approximation.

For many searches compute the vectors once: hashnlp sentences embed -m encoder texts.txt -o vectors.npy, then search \
with --vectors vectors.npy.
"""

_SAVED = "the vectors of hashnlp sentences embed --output"


@reporting_errors
def search(
    model: EncoderFolder,
    reading: LineOptions,
    screen: Screen,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The texts to search, one per line.")],
    queries: Annotated[
        list[str] | None, typer.Argument(metavar="[QUERY]...", help="What to search for. Default: lines of stdin.")
    ] = None,
    top: Annotated[int, typer.Option("--top", metavar="K", min=1, help="Number of results of each query.")] = 10,
    vectors: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Vectors of the texts, saved by hashnlp sentences embed.")
    ] = None,
    context_weight: ContextWeight = None,
    n_jobs: Threads = 1,
) -> None:
    """Search texts; the parameters are the options of the command."""
    if is_stdin(file):
        raise typer.BadParameter("FILE: expected a file to search; stdin is for queries.")
    check_text_file(file)  # before torch is loaded
    if vectors is not None:
        read_vectors(vectors, _SAVED)
    encoder = load_encoder(model, context_weight=context_weight, n_jobs=n_jobs)
    with screen.warnings_as_notes():
        index = _Index.read(screen, encoder, file, reading, vectors)
        stdin = line_batches(screen, None, reading, action="Searching", unit="query")
        with nullcontext([queries]) if queries else stdin as batches:
            for lines in batches:
                texts = [line for line in lines if line.strip() or queries]
                if texts:
                    with_query = not queries or len(queries) > 1
                    sys.stdout.writelines(index.results(texts, top, as_json=screen.as_json, with_query=with_query))
                    sys.stdout.flush()


class _Index(NamedTuple):
    """The texts of a file and their vectors."""

    encoder: Any
    texts: list[str]
    numbers: list[int]  # of their lines
    vectors: NDArray[np.float32]

    @classmethod
    def read(cls, screen: Screen, encoder: Any, file: Path, reading: LineOptions, saved: Path | None) -> _Index:
        """Read texts, and compute their vectors or read saved ones."""
        import numpy as np

        lines: list[str] = []
        parts = [encoder.transform([])]
        action = "Embedding" if saved is None else "Reading"
        with line_batches(screen, file, reading, action=action, bar=True) as all_:
            for batch in all_:
                lines += batch
                if saved is None:
                    parts.append(encoder.transform(batch))
        vectors = np.concatenate(parts) if saved is None else read_vectors(saved, _SAVED)
        wanted, shape = (len(lines), parts[0].shape[1]), getattr(vectors, "shape", "another shape")
        if not isinstance(vectors, np.ndarray) or vectors.dtype != np.float32 or shape != wanted:
            raise ValueError(
                f"{saved} has vectors of shape {shape}; expected {wanted} of float32 for these texts and this encoder. "
                "Compute them again with hashnlp sentences embed."
            )
        rows = [row for row, line in enumerate(lines) if line.strip()]
        if not rows:
            raise ValueError(f"{file} has no text to search; expected one text per line.")
        if len(rows) < len(lines):
            vectors = vectors[rows]
        return cls(encoder, [lines[row] for row in rows], [row + 1 for row in rows], vectors)

    def results(self, queries: list[str], top: int, *, as_json: bool, with_query: bool) -> Iterator[str]:
        """Yield the lines of output."""
        indices, similarities = self.encoder.most_similar(queries, self.vectors, k=top)
        for query, row, values in zip(queries, indices.tolist(), similarities.tolist(), strict=True):
            if as_json:
                results = [
                    {"similarity": value, "line": self.numbers[index], "text": self.texts[index]}
                    for index, value in zip(row, values, strict=True)
                ]
                yield json.dumps({"query": query, "results": results}) + "\n"
                continue
            prefix = f"{one_field(query)}\t" if with_query else ""
            for index, value in zip(row, values, strict=True):
                yield f"{prefix}{value:.4f}\t{self.numbers[index]}\t{one_field(self.texts[index])}\n"
