"""``hashnlp sentences`` and its subcommands: sentence embeddings and search by similarity."""

from __future__ import annotations

import typer

from sklearn_hashnlp.cli.sentences import _embed, _search_texts, _train_encoder

HELP = """\
Train a sentence encoder on a text file, compute sentence vectors, search texts by similarity.

\b
  hashnlp sentences train articles.txt -m encoder    train on paragraphs
  hashnlp sentences search -m encoder texts.txt "cats asleep"
                                                     find similar lines
  hashnlp sentences embed -m encoder texts.txt -o vectors.npy
                                                     compute vectors

No labels, no vocabulary and no downloaded model is needed: the encoder learns from your own text.
"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.command("train")(_train_encoder.train)
app.command("embed")(_embed.embed)
app.command("search")(_search_texts.search)
