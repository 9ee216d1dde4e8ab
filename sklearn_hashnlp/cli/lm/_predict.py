"""``hashnlp lm predict``: the last word of each line, from those before it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._lines import BATCH, check_lines, line_batches
from sklearn_hashnlp.cli._options import Json, Quiet
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.lm._options import LanguageModelFolder, Search

if TYPE_CHECKING:
    from sklearn_hashnlp import HsigmoidLanguageModel


HELP = """\
Predict words from the words before them, and tell how many are right.

\b
  echo "have a dream that one" | hashnlp lm predict --model lm
  hashnlp lm predict --model passes/pass-00001 lines.txt
  hashnlp lm predict --model lm test.txt --every-word --summary
  hashnlp lm predict --model lm lines.txt --top 5 --json

Lines are written as for training. The last word of each is the true one, and is predicted from the words before it: \
of "have a dream that one", a 5-gram model reads "have a dream that" and is right if it predicts "one". Of longer \
lines the model reads the last words that its order allows (four, for a 5-gram); what a shorter line lacks counts as \
before the beginning of the sentence. A blank line gets a blank line.

With --every-word each line is a whole sentence, and every word that training on it would have learned is predicted, \
</s> at its end as well: the way to measure a model on a test file.

One line out for each word: the predicted word, a tab, the true word; with --top K the K most probable words before \
it. At the end stands the hit rate. A true word that the model does not know counts as <unk>. With --json each word is \
an object with "predicted" (with --top a list), "true" and "hit", and the last one holds "hit_rate", "n_hits" and \
"n_words".
"""


@reporting_errors
def predict(
    model: LanguageModelFolder,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Lines as for training; without it, stdin.", show_default=False),
    ] = None,
    every_word: Annotated[
        bool, typer.Option("--every-word", help="Predict every word of each line, not only the last.")
    ] = False,
    search: Annotated[
        Search,
        typer.Option(
            help="exact finds the most probable word; greedy follows the more probable branch at each node of the "
            "tree, which is faster and not always the same."
        ),
    ] = Search.exact,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            "-k",
            metavar="K",
            min=1,
            help="Print the K most probable words; right if the true one is among them.",
            show_default=False,
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Lines that are predicted at once.")] = BATCH,
    summary: Annotated[bool, typer.Option("--summary", help="Only the hit rate, not the words.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict words; the parameters are the command's options."""
    screen = Screen(as_json=as_json, quiet=quiet and not summary)
    if top is not None and search is Search.greedy:
        raise typer.BadParameter("--top finds the most probable words exactly; leave --search greedy out.")
    check_lines(file)  # told before torch is loaded
    from sklearn_hashnlp.cli.lm._loading import load_language_model

    language_model = load_language_model(model)
    n_hits = n_words = 0
    with line_batches(screen, file, doing="Predicting", what="line", size=batch_size) as batches:
        for lines in batches:
            asked = [_windows(language_model, line, every_word=every_word) for line in lines]
            found = iter(_predictions(language_model, [context for each in asked for context, _ in each], search, top))
            answers = []
            for line, windows in zip(lines, asked, strict=True):
                if not line.strip() and not as_json:
                    answers.append("\n")
                for _, true in windows:
                    predicted = next(found)
                    hit = (true if true in language_model.vocabulary_ else "<unk>") in predicted
                    n_hits, n_words = n_hits + hit, n_words + 1
                    answers.append(_answer(predicted, true, hit=hit, as_list=top is not None, as_json=as_json))
            if not summary:
                sys.stdout.writelines(answers)
                sys.stdout.flush()
    rate = n_hits / n_words if n_words else None
    if as_json:
        screen.put_json({"hit_rate": rate, "n_hits": n_hits, "n_words": n_words})
    elif rate is not None:
        screen.show(f"Hit rate {rate:.4f} ({n_hits:,} of {n_words:,} words)", style="bold")
    else:
        screen.note("No words to predict.")


def _windows(model: HsigmoidLanguageModel, line: str, *, every_word: bool) -> list[tuple[list[str], str]]:
    """Return contexts and the words after them."""
    from sklearn_hashnlp.language._windows import sentence_windows

    words = line.split()
    if not words:
        return []
    if every_word:
        return sentence_windows(words, order=model.order, padding=model.padding)
    return [(words[:-1], words[-1])]


def _predictions(
    model: HsigmoidLanguageModel, contexts: list[list[str]], search: Search, top: int | None
) -> Iterator[Sequence[str]]:
    """Yield for each context the words that are predicted, the most probable first."""
    if not contexts:
        return
    if top is None:
        yield from ([word] for word in model.predict(contexts, search.value).tolist())
    else:
        yield from ([word for word, _ in row] for row in model.predict_topk(contexts, top))


def _answer(predicted: Sequence[str], true: str, *, hit: bool, as_list: bool, as_json: bool) -> str:
    if as_json:
        found = list(predicted) if as_list else predicted[0]
        return json.dumps({"predicted": found, "true": true, "hit": hit}) + "\n"
    return "\t".join([*predicted, true]) + "\n"
