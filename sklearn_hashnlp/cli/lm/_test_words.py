"""``hashnlp lm test``: test a language model on the last word of each line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions
from sklearn_hashnlp.cli._screen import Screen, counted
from sklearn_hashnlp.cli.lm._lm_options import LanguageModelFolder, Search, WordSearch, check_search
from sklearn_hashnlp.cli.lm._load_language_model import opened, predict_words

HELP = """\
Test a model: predict the last word of each line, and count how many are right.

\b
  echo "have a dream that one" | hashnlp lm test --model lm
  hashnlp lm test --model checkpoints/epoch-00001 lines.txt
  hashnlp lm test --model lm lines.txt --summary
  hashnlp lm test --model lm lines.txt --top 5 --json

Lines are written as for training. The last word of each line is the true word, predicted from the words before it: \
for "have a dream that one", a 5-gram model reads "have a dream that", and "one" is a hit. Of a longer context only \
the last words are read (four for a 5-gram model), and a shorter one is padded like the start of a sentence. A blank \
line gives a blank line.

Output is one line per word: the predicted word (with --top K the K most probable words), a tab, and the true word. \
The last line is the hit rate: the fraction of hits. An unknown true word is <unk>. With --json each word is an object \
with "predicted" (with --top a list), "true" and "hit", and the last object has "hit_rate", "n_hits" and "n_words".
"""


@reporting_errors
def evaluate(
    model: LanguageModelFolder,
    screen: Screen,
    reading: LineOptions,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Lines as for training. Default: stdin.")] = None,
    search: WordSearch = "exact",
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            "-k",
            metavar="K",
            min=1,
            help="Print the K most probable words; a hit if the true word is among them.",
        ),
    ] = None,
    summary: Annotated[bool, typer.Option("--summary", help="Print only the hit rate.")] = False,
) -> None:
    """Test a model; the parameters are the options of the command."""
    check_search(search, top)
    n_hits = n_words = 0
    with opened(screen, model, file, reading, action="Testing", unit="line") as (language_model, lowercase, batches):
        vocabulary, unknown = language_model.vocabulary_, language_model.special_tokens_[2]
        for lines in batches:
            sentences = [lowercase(line).split() for line in lines]
            contexts = [words[:-1] for words in sentences if words]
            predictions = iter(_predictions(language_model, contexts, search, top))
            for words in sentences:
                if not words:
                    output = "" if screen.as_json else "\n"
                else:
                    predicted, true = next(predictions), words[-1]
                    hit = (true if true in vocabulary else unknown) in predicted
                    n_hits, n_words = n_hits + hit, n_words + 1
                    output = "\t".join([*predicted, true]) + "\n"
                    if screen.as_json:
                        shown = predicted[0] if top is None else predicted
                        output = json.dumps({"predicted": shown, "true": true, "hit": hit}) + "\n"
                if not summary:
                    sys.stdout.write(output)
            sys.stdout.flush()
    rate = n_hits / n_words if n_words else None
    if screen.as_json:
        screen.show_json({"hit_rate": rate, "n_hits": n_hits, "n_words": n_words})
    elif rate is not None:
        results = Screen(as_json=False, quiet=False)  # the hit rate is a result
        results.show(f"Hit rate {rate:.4f} ({n_hits:,} of {counted(n_words, 'word')})", style="bold")
    else:
        screen.note("No words to predict.")


def _predictions(model: Any, contexts: list[list[str]], search: Search, top: int | None) -> list[list[str]]:
    """Return the predicted words of each context, the most probable first."""
    if top is None:
        return [[word] for word in predict_words(model, contexts, search)]
    return [[word for word, _ in row] for row in model.predict_topk(contexts, top)]
