"""``hashnlp lm`` and its subcommands: language models."""

from __future__ import annotations

import typer

from sklearn_hashnlp.cli.lm import _nearest, _predict, _sample, _score, _train

HELP = """\
Train a language model on a text file, predict next words, score sentences, find similar words.

\b
  hashnlp lm train train.txt -m lm              train on sentences, one per line
  hashnlp lm score -m lm sentences.txt          log-probability of each sentence
  hashnlp lm score -m lm test.txt --perplexity  perplexity of a test file
  hashnlp lm predict -m lm lines.txt            predict the last word of each line
  hashnlp lm sample -m lm --number 5            generate sentences
  hashnlp lm nearest -m lm monday               find similar words

Text files are UTF-8, one sentence per line, words separated by spaces. Words are used as they are written: lowercase \
them and separate punctuation first.
"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.command("train", help=_train.HELP)(_train.train)
app.command("score", help=_score.HELP)(_score.score)
app.command("predict", help=_predict.HELP)(_predict.predict)
app.command("sample", help=_sample.HELP)(_sample.sample)
app.command("nearest", help=_nearest.HELP)(_nearest.nearest)
