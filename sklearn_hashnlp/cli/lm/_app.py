"""``hashnlp lm``: language models, from a text file to the next word."""

from __future__ import annotations

import typer

from sklearn_hashnlp.cli.lm import _nearest, _predict, _sample, _score, _train

HELP = """\
Learn a language from a text file: predict next words, tell natural from odd sentences, find similar words.

\b
  hashnlp lm train train.txt -m lm              learn from sentences, one a line
  hashnlp lm score -m lm sentences.txt          which ones sound natural
  hashnlp lm score -m lm test.txt --perplexity  how good the model is
  hashnlp lm predict -m lm lines.txt            each line's last word, predicted
  hashnlp lm sample -m lm --number 5            sentences of its own
  hashnlp lm nearest -m lm monday               words that are used alike

Text is UTF-8, a sentence a line, words apart by blanks; write it as you want it learned (in lower case, punctuation \
apart).
"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.command("train", help=_train.HELP)(_train.train)
app.command("score", help=_score.HELP)(_score.score)
app.command("predict", help=_predict.HELP)(_predict.predict)
app.command("sample", help=_sample.HELP)(_sample.sample)
app.command("nearest", help=_nearest.HELP)(_nearest.nearest)
