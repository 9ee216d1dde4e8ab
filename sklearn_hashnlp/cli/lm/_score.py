"""``hashnlp lm score`` and ``lm rank``: log-probabilities, perplexity, and the best sentence."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions
from sklearn_hashnlp.cli._screen import Screen, format_perplexity
from sklearn_hashnlp.cli.lm._load_language_model import LanguageModelFolder, no_sentences, opened


@reporting_errors
def score(
    model: LanguageModelFolder,
    screen: Screen,
    reading: LineOptions,
    file: Path | None = typer.Argument(
        None, metavar="FILE", help="Sentences, one per line. Default: stdin."
    ),
    perplexity: bool = typer.Option(
        False, "--perplexity", "-p", help="Print only the perplexity of all sentences."
    ),
) -> None:
    """Compute the log-probability of each sentence, or the perplexity of a file.

      hashnlp lm score --model lm sentences.txt
      echo "a dream have I" | hashnlp lm score --model lm
      hashnlp lm score --model lm test.txt --perplexity

    Input is one sentence per line. Output is one line for each: the natural logarithm of its
    probability, a tab, and the sentence. Closer to 0 is more probable; compare sentences of the
    same length, or others by hashnlp lm rank. The end of a sentence counts as a word; unknown words
    are <unk>, and are lowercased first if the training text was lowercase. A blank line gives a
    blank line. For models trained with --padding reference, the score of a sentence that is too
    short is nan. A mixture with a cache reads all lines as one text, in which a sentence is more
    probable after similar ones.

    --perplexity prints one number: exp of minus the mean log-probability of a word. Lower is
    better; a uniform guess among 100 words has perplexity 100. Compare only models with the same
    vocabulary.
    """
    with opened(screen, model, file, reading) as opened_lines:
        language_model, lowercase, batches = opened_lines
        if not perplexity:
            if language_model.reads_across_sentences_:
                batches = iter([[line for lines in batches for line in lines]])
            for lines in batches:
                texts = [lowercase(line) for line in lines if line.strip()]
                scores = iter(language_model.score_samples(texts).tolist() if texts else [])
                for line in lines:
                    value = next(scores) if line.strip() else None
                    if screen.as_json:  # which has no NaN
                        finite = None if value is None or math.isnan(value) else value
                        screen.show_json({"log_probability": finite, "sentence": line})
                    else:
                        print("" if value is None else f"{value:.4f}\t{line}")
                sys.stdout.flush()
            return
        sentences = [lowercase(line) for lines in batches for line in lines if line.strip()]
    if not sentences:
        raise ValueError(no_sentences(file))
    mean = language_model.score(sentences)
    if screen.as_json:
        screen.show_json({"perplexity": math.exp(min(-mean, 700.0)), "mean_log_probability": mean})
    else:
        print(format_perplexity(-mean, 4))


@reporting_errors
def rank(
    model: LanguageModelFolder,
    screen: Screen,
    reading: LineOptions,
    file: Path | None = typer.Argument(
        None, metavar="FILE", help="Candidates, one per line. Default: stdin."
    ),
) -> None:
    """Rank candidate sentences, the best first.

      hashnlp lm rank --model lm candidates.txt
      hashnlp lm rank --model lm candidates.txt | head -n 1

    Input is one candidate per line; blank lines are skipped. Output is one line for each, the best
    first: the mean log-probability of its words, a tab, and the sentence. Closer to 0 is better.
    The mean does not prefer short sentences, as hashnlp lm score does. Each sentence is read alone,
    also by a mixture with a cache.
    """
    with opened(screen, model, file, reading) as opened_lines:
        language_model, lowercase, batches = opened_lines
        candidates = [line for lines in batches for line in lines if line.strip()]
    if not candidates:
        raise ValueError(no_sentences(file))
    indices, scores = language_model.rank([lowercase(line) for line in candidates])
    for index, value in zip(indices.tolist(), scores.tolist(), strict=True):
        if screen.as_json:
            finite = value if math.isfinite(value) else None  # JSON has no infinity
            screen.show_json({"mean_log_probability": finite, "sentence": candidates[index]})
        else:
            print(f"{value:.4f}\t{candidates[index]}")
