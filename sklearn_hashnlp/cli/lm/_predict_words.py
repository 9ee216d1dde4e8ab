"""``hashnlp lm predict`` and ``hashnlp lm test``: predict the next word, and test predictions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions
from sklearn_hashnlp.cli._screen import Screen, counted
from sklearn_hashnlp.cli.lm._load_language_model import LanguageModelFolder, opened


@reporting_errors
def predict(
    model: LanguageModelFolder,
    screen: Screen,
    reading: LineOptions,
    file: Path | None = typer.Argument(
        None, metavar="FILE", help="Beginnings of sentences, one a line. Default: stdin."
    ),
    top: int | None = typer.Option(
        None, "--top", "-k", metavar="K", min=1, help="Print the K most probable words."
    ),
    proba: bool = typer.Option(
        False, "--proba", "-p", help="Print the probability after each word."
    ),
) -> None:
    """Predict the next word after each line.

      echo "have a dream that" | hashnlp lm predict --model lm
      hashnlp lm predict --model lm beginnings.txt --top 5 --proba
      hashnlp lm predict --model checkpoints/epoch-00001 beginnings.txt --json

    Lines are the starts of sentences, written as for training; a blank line is the start of a
    sentence itself. The model reads only the last words of a longer line (four for a 5-gram model).

    Each line gets one line of output: the most probable next word, which is </s> at the end of a
    sentence. --top 5 prints the five most probable words, --proba the probability after each word;
    they are separated by tabs. With --json each line is an object with "word" and "probability",
    and with --top also "top", a list of such objects.

    hashnlp lm test counts correct predictions; hashnlp lm sample writes whole sentences.
    """
    with opened(screen, model, file, reading) as (language_model, lowercase, batches):
        for lines in batches:
            for row in language_model.predict_topk([lowercase(line) for line in lines], top or 1):
                if screen.as_json:
                    entries = [
                        {"word": word, "probability": probability} for word, probability in row
                    ]
                    screen.show_json(entries[0] if top is None else entries[0] | {"top": entries})
                else:
                    print(
                        *(
                            f"{word}\t{probability:.4f}" if proba else word
                            for word, probability in row
                        ),
                        sep="\t",
                    )
            sys.stdout.flush()


@reporting_errors
def evaluate(
    model: LanguageModelFolder,
    screen: Screen,
    reading: LineOptions,
    file: Path | None = typer.Argument(
        None, metavar="FILE", help="Lines as for training. Default: stdin."
    ),
    search: Literal["exact", "greedy"] = typer.Option(
        "exact",
        help="exact: the most probable word. greedy: the more probable branch at each node of the "
        "tree, which is "
        "faster and may give another word.",
    ),
    top: int | None = typer.Option(
        None,
        "--top",
        "-k",
        metavar="K",
        min=1,
        help="Print the K most probable words; a hit if the true word is among them.",
    ),
    summary: bool = typer.Option(False, "--summary", help="Print only the hit rate."),
) -> None:
    """Test a model: predict the last word of each line, and count how many are right.

      echo "have a dream that one" | hashnlp lm test --model lm
      hashnlp lm test --model checkpoints/epoch-00001 lines.txt
      hashnlp lm test --model lm lines.txt --summary
      hashnlp lm test --model lm lines.txt --top 5 --json

    Lines are written as for training. The last word of each line is the true word, predicted from
    the words before it: for "have a dream that one", a 5-gram model reads "have a dream that", and
    "one" is a hit. Of a longer context only the last words are read (four for a 5-gram model), and
    a shorter one is padded like the start of a sentence. A blank line gives a blank line.

    Output is one line per word: the predicted word (with --top K the K most probable words), a tab,
    and the true word. The last line is the hit rate: the fraction of hits. An unknown true word is
    <unk>. With --json each word is an object with "predicted" (with --top a list), "true" and
    "hit", and the last object has "hit_rate", "n_hits" and "n_words".
    """
    if top is not None and search == "greedy":
        raise typer.BadParameter("--top uses exact search; remove --search greedy.")
    n_hits = n_words = 0
    with opened(screen, model, file, reading) as (language_model, lowercase, batches):
        is_greedy = search == "greedy"
        if is_greedy and not hasattr(language_model, "most_similar"):  # not a network
            kind = type(language_model).__name__
            raise ValueError(
                f"--search greedy follows the tree of an HsigmoidLanguageModel, not {kind}."
            )
        vocabulary, unknown = language_model.vocabulary_, language_model.special_tokens_[2]
        for lines in batches:
            sentences = [lowercase(line).split() for line in lines]
            contexts = [words[:-1] for words in sentences if words]
            if is_greedy:
                predictions = iter(
                    [[word] for word in language_model.predict(contexts, search).tolist()]
                )
            else:
                predictions = (
                    [word for word, _ in row]
                    for row in language_model.predict_topk(contexts, top or 1)
                )
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
        results.show(
            f"Hit rate {rate:.4f} ({n_hits:,} of {counted(n_words, 'word')})", style="bold"
        )
    else:
        screen.note("No words to predict.")
