"""``hashnlp lm test``: test a language model on the last word of each line, or on every word."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions
from sklearn_hashnlp.cli._screen import Screen, counted
from sklearn_hashnlp.cli.lm._lm_options import LanguageModelFolder, Search, WordSearch, check_search
from sklearn_hashnlp.cli.lm._load_language_model import opened, predict_words
from sklearn_hashnlp.cli.reading._texts import BATCH_SIZE

if TYPE_CHECKING:
    from sklearn_hashnlp.language._base_language_model import BaseLanguageModel

_MAX_CONTEXT_WORDS = 2**22  # of the contexts in memory at once

HELP = """\
Test a model: predict the last word of each line, or every word, and count how many are right.

\b
  echo "have a dream that one" | hashnlp lm test --model lm
  hashnlp lm test --model checkpoints/epoch-00001 lines.txt
  hashnlp lm test --model lm test.txt --every-word --summary
  hashnlp lm test --model lm lines.txt --top 5 --json

Lines are written as for training. The last word of each line is the true word, predicted from the words before it: \
for "have a dream that one", a 5-gram model reads "have a dream that", and "one" is a hit. Of a longer context only \
the last words are read (four for a 5-gram model), and a shorter one is padded like the start of a sentence. A blank \
line gives a blank line.

With --every-word each line is a whole sentence, and every word that is predicted in training is predicted, including \
</s> at the end. A model that reads across sentences (across_sentences=True, lm mix --cache) then reads all lines as \
one text; without --every-word lines are independent.

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
    every_word: Annotated[
        bool, typer.Option("--every-word", help="Predict every word of each line, not only the last.")
    ] = False,
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
    batch_size: Annotated[int, typer.Option(min=1, help="Lines per batch.")] = BATCH_SIZE,
    summary: Annotated[bool, typer.Option("--summary", help="Print only the hit rate.")] = False,
) -> None:
    """Test a model; the parameters are the options of the command."""
    check_search(search, top)
    n_hits = n_words = 0
    with opened(screen, model, file, reading, action="Testing", unit="line", size=batch_size) as opened_lines:
        language_model, lowercase, batches = opened_lines
        unknown = language_model._tokenizer.special_tokens.unknown
        text = _Text(language_model, every_word=every_word)
        for lines in batches:
            windows = [text.add(lowercase(line)) for line in lines]
            contexts = (text.words[start:end] for line_windows in windows for start, end in line_windows)
            predictions = _predictions(language_model, contexts, search, top)
            outputs = []
            for line, line_windows in zip(lines, windows, strict=True):
                if not line.strip() and not screen.as_json:
                    outputs.append("\n")
                for _, end in line_windows:
                    predicted, true = next(predictions), text.words[end]
                    hit = (true if true in language_model.vocabulary_ else unknown) in predicted
                    n_hits, n_words = n_hits + hit, n_words + 1
                    if screen.as_json:
                        words = predicted[0] if top is None else list(predicted)
                        outputs.append(json.dumps({"predicted": words, "true": true, "hit": hit}) + "\n")
                    else:
                        outputs.append("\t".join([*predicted, true]) + "\n")
            if not summary:
                sys.stdout.writelines(outputs)
                sys.stdout.flush()
            text.forget()
    rate = n_hits / n_words if n_words else None
    if screen.as_json:
        screen.show_json({"hit_rate": rate, "n_hits": n_hits, "n_words": n_words})
    elif rate is not None:
        results = Screen(as_json=False, quiet=False)  # the hit rate is a result
        results.show(f"Hit rate {rate:.4f} ({n_hits:,} of {counted(n_words, 'word')})", style="bold")
    else:
        screen.note("No words to predict.")


class _Text:
    """Words of lines, and the start and the end of the context of each predicted word among them."""

    def __init__(self, model: BaseLanguageModel, *, every_word: bool) -> None:
        self.words: list[str] = []
        self._every_word = every_word
        self._across = every_word and model._reads_across_sentences()
        self._width = model._n_context_words()
        tokenizer = model._tokenizer
        self._special_tokens = tokenizer.special_tokens
        # With padding="reference" contexts have one <s> and no padding before it.
        self._n_first = 0 if tokenizer.padding == "full" else tokenizer.order - 2

    def add(self, line: str) -> list[tuple[int, int]]:
        """Add a line; return the start and the end of each context; the predicted word is at the end."""
        from sklearn_hashnlp.language._corpus import tokenize

        start = len(self.words)
        if not self._every_word:
            self.words += line.split()
            return [(start, len(self.words) - 1)] if len(self.words) > start else []
        if not line.strip():
            return []
        tokens = self._special_tokens
        sentence = tokenize(line, index=0, special_tokens=tokens, caller="lm test")
        # Only at its ends are the tokens of start and end more than unknown words.
        self.words += [tokens.unknown if word in (tokens.start, tokens.end) else word for word in sentence]
        self.words.append(tokens.end)
        first = 0 if self._across else start
        return [(max(first, end - self._width), end) for end in range(start + self._n_first, len(self.words))]

    def forget(self) -> None:
        """Drop the words that no later context holds."""
        n_kept = self._width if self._across else 0
        del self.words[: max(len(self.words) - n_kept, 0)]


def _predictions(
    model: BaseLanguageModel, contexts: Iterable[list[str]], search: Search, top: int | None
) -> Iterator[Sequence[str]]:
    """Yield the predicted words of each context, the most probable first."""
    for part in _parts(contexts):
        if top is None:
            yield from ([word] for word in predict_words(model, part, search))
        else:
            yield from ([word for word, _ in row] for row in model.predict_topk(part, top))


def _parts(contexts: Iterable[list[str]]) -> Iterator[list[list[str]]]:
    """Yield contexts in lists that fit into memory: each context holds most words of the one before again."""
    part: list[list[str]] = []
    n_words = 0
    for context in contexts:
        part.append(context)
        n_words += len(context)
        if n_words >= _MAX_CONTEXT_WORDS:
            yield part
            part, n_words = [], 0
    if part:
        yield part
