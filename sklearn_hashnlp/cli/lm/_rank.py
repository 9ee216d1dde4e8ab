"""``hashnlp lm rank``: the best of several sentences first."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.lm._options import LanguageModelFolder
from sklearn_hashnlp.cli.reading._lines import check_text_file, line_batches

HELP = """\
Rank candidate sentences, the best first.

\b
  hashnlp lm rank --model lm candidates.txt
  hashnlp lm rank --model lm candidates.txt | head -n 1

Input is one candidate per line; blank lines are skipped. Output is one line for each, the best first: the mean \
log-probability of its words, a tab, and the sentence. Closer to 0 is better. The mean does not prefer short \
sentences, as hashnlp lm score does. Each sentence is read alone, also by a mixture with a cache.
"""


@reporting_errors
def rank(
    model: LanguageModelFolder,
    screen: Screen,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Candidates, one per line. Default: stdin.", show_default=False),
    ] = None,
) -> None:
    """Rank sentences; the parameters are the options of the command."""
    check_text_file(file)  # before torch is loaded
    from sklearn_hashnlp.cli.lm._loading import load_language_model
    from sklearn_hashnlp.cli.lm._lowercase import Lowercase

    language_model = load_language_model(model)
    lowercase = Lowercase(screen, language_model)
    with line_batches(screen, file, action="Reading", unit="candidate") as batches:
        candidates = [line for lines in batches for line in lines if line.strip()]
    if not candidates:
        name = "stdin" if file is None or str(file) == "-" else file
        raise ValueError(f"{name} has no sentences; expected one per line, words separated by spaces.")
    indices, scores = language_model.rank([lowercase(line) for line in candidates])
    for index, score in zip(indices.tolist(), scores.tolist(), strict=True):
        if screen.as_json:
            value = score if math.isfinite(score) else None  # JSON has no infinity
            print(json.dumps({"mean_log_probability": value, "sentence": candidates[index]}))
        else:
            print(f"{score:.4f}\t{candidates[index]}")
