"""``hashnlp lm`` and its subcommands: language models."""

from __future__ import annotations

import typer

from sklearn_hashnlp.cli.lm import _mix, _nearest, _predict_words, _sample, _score, _train_language_model

HELP = """\
Train a language model on a text file, predict and write next words, score and rank sentences, find similar words.

\b
  hashnlp lm train train.txt -m lm              train on a sentence per line
  hashnlp lm score -m lm sentences.txt          score each sentence
  hashnlp lm score -m lm test.txt --perplexity  perplexity of a test file
  hashnlp lm rank -m lm candidates.txt          the best of several sentences
  hashnlp lm predict -m lm lines.txt            predict the next words
  hashnlp lm continue -m lm lines.txt           continue each line
  hashnlp lm test -m lm test.txt                test it on last words
  hashnlp lm sample -m lm --samples 5           generate sentences
  hashnlp lm nearest -m lm monday               find similar words
  hashnlp lm mix lm1 lm2 --valid v.txt -m lm    mix models

Text files have one sentence per line, words separated by spaces. Words are used as they are written: separate \
punctuation first, and train with --lowercase unless capitals matter.
"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.command("train")(_train_language_model.train)
app.command("mix")(_mix.mix)
app.command("score")(_score.score)
app.command("rank")(_score.rank)
app.command("predict")(_predict_words.predict)
app.command("continue")(_sample.continue_lines)
app.command("test")(_predict_words.evaluate)
app.command("sample")(_sample.sample)
app.command("nearest")(_nearest.nearest)
