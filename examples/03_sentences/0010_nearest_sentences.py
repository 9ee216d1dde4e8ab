"""
Semantic search with sentence embeddings
========================================

A sentence encoder is trained on the paragraphs of a text, and then finds the
sentences most similar to a query, even if they have no words in common. A plot
shows the embeddings in two dimensions.

Run it with ``python examples/03_sentences/0010_nearest_sentences.py``: the text
is the docstrings of Python's standard library, which are on every machine, the
encoder is small, and it takes about 20 seconds. Pass your own text, a paragraph
per line, as first argument, and queries as the others; ``--model FOLDER`` loads
a saved encoder::

    cd examples/03_sentences
    python 0010_nearest_sentences.py TEXT "Who won the match?" --model FOLDER
"""

# %%
# The text and the queries.
import argparse
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from sklearn_hashnlp import SGNNSentenceEncoder, load_model
from sklearn_hashnlp.datasets import load_stdlib_docstrings, stream_paragraphs
from sklearn_hashnlp.sentences import Network
from sklearn_hashnlp.text import split_sentences

parser = argparse.ArgumentParser()
parser.add_argument(
    "text",
    nargs="?",
    type=Path,
    help="text file, a paragraph per line (default: docstrings)",
)
parser.add_argument("queries", nargs="*")
parser.add_argument(
    "--model",
    type=Path,
    help="folder of a saved encoder (default: train one on the text)",
)
options = parser.parse_args()
QUICK = os.environ.get("HASHNLP_QUICK") == "1"
if options.text is None:
    docstrings, _ = load_stdlib_docstrings(return_X_y=True)
    docstrings = docstrings[:: 40 if QUICK else 1]
    # Join the lines of a paragraph: a line break would end a sentence.
    paragraphs = [
        " ".join(paragraph.split())
        for docstring in docstrings
        for paragraph in docstring.split("\n\n")
    ]
    queries = [
        "Delete a file.",
        "Send an e-mail message.",
        "Wait until the thread has ended.",
        "Compare two dates.",
    ]
else:
    paragraphs = list(stream_paragraphs(options.text))
    queries = [
        "He was a professional football player.",
        "The village has few inhabitants.",
        "The album was released.",
    ]
queries = options.queries or queries

# %%
# The encoder. Both parts of its vectors are smaller than by default, for a
# short training.
if options.model is None:
    size = (
        {"network": Network(16), "projection_dim": 32}
        if QUICK
        else {"projection_dim": 256}
    )
    encoder = SGNNSentenceEncoder(
        **size, table_bits=6 if QUICK else 11, max_words=1000, random_state=0
    )
    encoder.fit(paragraphs)
else:
    encoder = load_model(options.model)

# %%
# The most similar sentences. Embeddings are computed once for all queries;
# duplicates and sentences of less than three words are dropped.
sentences = [
    sentence
    for paragraph in paragraphs
    for sentence in split_sentences(paragraph)
]
sentences = [
    sentence
    for sentence in dict.fromkeys(sentences)
    if len(sentence.split()) > 2
]
vectors = encoder.transform(sentences)
indices, similarities = encoder.most_similar(queries, vectors, k=5)
for query, row, scores in zip(queries, indices, similarities, strict=True):
    print(f"\n{query}")
    for index, score in zip(row, scores, strict=True):
        print(f"  {score:.2f}  {sentences[index][:100]}")

# %%
# The plot: the sentences most similar to each query in color, and a random
# sample of others in gray. t-SNE preserves small distances; large ones mean
# little.
N_NEAREST, N_OTHERS = (10, 20) if QUICK else (40, 800)
indices, _ = encoder.most_similar(queries, vectors, k=N_NEAREST)
others = np.random.default_rng(0).permutation(len(sentences))[:N_OTHERS]
shown = np.concatenate(
    [encoder.transform(queries), vectors[indices.ravel()], vectors[others]]
)
shorter = PCA(min(50, *shown.shape), random_state=0).fit_transform(shown)
# several threads would wait for each other while other programs use the cores
with threadpool_limits(1):
    flat = TSNE(
        init="pca", perplexity=min(30, (len(shown) - 1) / 3), random_state=0
    ).fit_transform(shorter)
stars, near, far = np.split(flat, [len(queries), len(queries) + indices.size])

figure, axes = plt.subplots(figsize=(8.0, 6.4), layout="constrained")
axes.scatter(*far.T, color="0.8", s=6, linewidths=0)
for number, (query, star, points) in enumerate(
    zip(queries, stars, np.split(near, len(queries)), strict=True)
):
    axes.scatter(*points.T, color=f"C{number}", s=14, linewidths=0)
    axes.scatter(
        *star,
        color=f"C{number}",
        marker="*",
        s=160,
        edgecolors="black",
        label=query,
    )
axes.set(
    xticks=[],
    yticks=[],
    title=f"Queries, the {indices.shape[1]} most similar sentences of each, "
    "and others",
)
axes.legend(fontsize=8)
plt.show()

# %%
# Sentences of the same topic are found in other words, too: for "Delete a
# file." the files to delete when rolling over. The worst on the docstrings of
# Python 3.11 is "Wait until the thread has ended.": its first five sentences
# wait, for a process or a widget, but none is about a thread. The encoder has
# read a hundred thousand words only; the next example compares it with TF-IDF.
