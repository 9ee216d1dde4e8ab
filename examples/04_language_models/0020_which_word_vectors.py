"""
Which word vectors represent the meaning of words?
==================================================

Word vectors can be tested by analogies, "file is to files as object is to ...",
and by neighbors: are the vectors of "year" and "month" among the nearest? Four
kinds of vectors of the same words:

- the input vectors of a language model, ``embeddings_``;
- its context vectors, which it computes from all contexts in which a word
  occurs, ``context_vectors``;
- a truncated singular value decomposition of co-occurrence counts, with
  scikit-learn;
- projections of the characters of a word,
  :class:`~sklearn_hashnlp.text.SGNNWordProjector`, which learn nothing.

The text is the docstrings of Python's standard library. It takes about half a
minute.
"""

# %%
# The sentences, and the words that occur ten times or more.
import os
import re
from collections import Counter, defaultdict

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import normalize

from sklearn_hashnlp import (
    CharNgramFeaturizer,
    HsigmoidLanguageModel,
    SGNNProjector,
    SGNNWordProjector,
)
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.text import split_sentences

QUICK = os.environ.get("HASHNLP_QUICK") == "1"
docstrings, _ = load_stdlib_docstrings(return_X_y=True)
paragraphs = [
    " ".join(part.split())
    for docstring in docstrings
    for part in docstring.split("\n\n")
]
sentences = [
    re.findall(r"\w+|[^\w\s]", line.lower())
    for part in paragraphs
    for line in split_sentences(part)
]
sentences = sentences[:: 15 if QUICK else 1]
counts = Counter(word for sentence in sentences for word in sentence)
words = sorted(
    word for word, count in counts.items() if count >= 10 and word.isalpha()
)
print(
    f"{len(sentences):,} sentences, "
    f"{len(words):,} words that occur ten times or more"
)

# %%
# The vectors. The language model is trained on all words. scikit-learn counts,
# for each word, the words that stand one to three positions before and after
# it.
small = (
    {"embedding_dim": 8, "hidden_size": 16, "max_epochs": 1}
    if QUICK
    else {"tree": "cluster", "hidden_size": 128}
)
model = HsigmoidLanguageModel(
    order=5, min_count=3, random_state=0, **small
).fit(sentences)
ids = [model.vocabulary_[word] for word in words]

neighbors = defaultdict(list)
for sentence in sentences:
    for index, word in enumerate(sentence):
        neighbors[word] += (
            sentence[max(index - 3, 0) : index]
            + sentence[index + 1 : index + 4]
        )
counter = CountVectorizer(analyzer=list, max_features=2000)
shares = normalize(
    counter.fit_transform(neighbors[word] for word in words).astype(float),
    norm="l1",
).sqrt()

vectors = {
    "embeddings_": model.embeddings_[ids],
    "context_vectors": model.context_vectors(sentences)[ids],
    "co-occurrence": TruncatedSVD(
        8 if QUICK else 100, random_state=0
    ).fit_transform(shares),
    "characters": SGNNWordProjector(
        CharNgramFeaturizer(), SGNNProjector(output="float")
    ).transform(words),
}
vectors = {name: normalize(rows) for name, rows in vectors.items()}

# %%
# Analogies: all words that also occur with an "s", such as "file" and "files"
# or "return" and "returns". The answer is right if it is one of the five words,
# without the three of the question, nearest to ``second - first + third``.
index = {word: number for number, word in enumerate(words)}
pairs = [
    (index[word], index[word + "s"])
    for word in words
    if len(word) > 2 and word + "s" in index
]
questions = [
    (*pair, *other) for pair in pairs for other in pairs if other != pair
]
first, second, third, answer = np.array(questions).T


def analogy_accuracy(rows):
    similarities = (rows[second] - rows[first] + rows[third]) @ rows.T
    for asked in (first, second, third):
        similarities[np.arange(len(asked)), asked] = -np.inf
    of_answer = similarities[np.arange(len(answer)), answer]
    return float(np.mean((similarities > of_answer[:, None]).sum(axis=1) < 5))


# %%
# Neighbors: words of a kind. The mean over all words of the average precision
# with which the nearest words are of the same kind, among the words of all
# kinds.
KINDS = """
    year month week day hour minute second; one two three four;
    int float str bool tuple list dict set; width height size length;
    file directory path filename; server client socket connection;
    left right top bottom; should must may can might will; true false none;
    read write open close; thread process task; url host port;
    red green blue black white; first last next previous;
    bytes string text line; add remove insert delete; before after during;
    class function method module; he she they we you
"""
kind_of = {
    word: kind
    for kind, line in enumerate(KINDS.split(";"))
    for word in line.split()
    if word in index
}
listed = sorted(kind_of)
same = np.array(
    [[kind_of[one] == kind_of[other] for other in listed] for one in listed]
)


def neighbor_precision(rows):
    chosen = rows[[index[word] for word in listed]]
    scores = []
    for number, similarities in enumerate(chosen @ chosen.T):
        others = np.arange(len(listed)) != number
        if same[number, others].any():
            scores.append(
                average_precision_score(
                    same[number, others], similarities[others]
                )
            )
    return float(np.mean(scores))


# %%
# Plot both.
figure, both = plt.subplots(
    1, 2, figsize=(10, 3.6), sharey=True, layout="constrained"
)
measures = {
    f"Analogies, {len(pairs)} pairs: share of right answers": analogy_accuracy,
    f"Neighbors, {len(listed)} words: average precision": neighbor_precision,
}
results = []
for axes, (title, measure) in zip(both, measures.items(), strict=True):
    scores = {name: measure(rows) for name, rows in vectors.items()}
    results.append(scores)
    axes.bar_label(
        axes.barh(list(scores), list(scores.values())), fmt="%.2f", padding=3
    )
    axes.set(title=title, xlabel="score", xlim=(0, 1.1))
    print(
        f"{title}: the best is {max(scores, key=scores.get)}, "
        f"the worst {min(scores, key=scores.get)}"
    )
both[0].invert_yaxis()
plt.show()

# %%
# The neighbors of some words.
for word in ("month", "thread", "delete"):
    if word in index:
        for name, rows in vectors.items():
            nearest = np.argsort(-rows @ rows[index[word]])[1:6]
            print(
                f"{word:8} {name:16}",
                ", ".join(words[number] for number in nearest),
            )

# %%
# What a test measures decides who loses. That "file" is to "files" as "object"
# is to "objects" can be read off the spelling: the projections of characters,
# which have never read a text, are always right, and on the docstrings of
# Python 3.11 the three kinds of learned vectors once in eight or nine times.
#
# That "month" is like "day" cannot be read off: there the projections are the
# worst, with a precision of 11 %, and the context vectors of the language model
# the best, with 67 % against 60 % of the co-occurrence counts and 53 % of the
# input vectors. So take context vectors for the use of words, and characters
# for their forms, of unknown words, too. None of the learned vectors gets far
# on a hundred thousand words.
if not QUICK:
    analogies, precisions = results
    assert analogies.pop("characters") > 0.9
    assert max(analogies.values()) < 0.4
    assert precisions.pop("characters") < min(precisions.values()) - 0.1
    assert precisions.pop("context_vectors") > max(precisions.values())
