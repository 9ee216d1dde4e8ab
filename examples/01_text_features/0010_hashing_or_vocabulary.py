"""
Does hashing lose accuracy against a vocabulary?
================================================

A vocabulary gives each n-gram a separate column: it must be collected from the
training texts and stored, and an n-gram that is not in it is lost. Hashing
computes the column: nothing is stored, but n-grams share columns. Both with the
same number of columns, and the same linear classifier on them:

- the vocabulary of the most frequent n-grams, counted by ``CountVectorizer``;
- hashed n-grams, counted by ``HashingNgramVectorizer``.

The texts are the docstrings of Python's standard library; the label is the
module. It takes about 20 seconds.
"""

# %%
# Texts, and three splits of them into training and test texts.
import os
import pickle

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.text import HashingNgramVectorizer

QUICK = os.environ.get("HASHNLP_QUICK") == "1"
texts, labels = load_stdlib_docstrings(return_X_y=True)
texts = np.array(texts, dtype=object)
n_splits = 3
n_train = 2800
widths = 2 ** np.arange(8, 19, 2)
if QUICK:
    n_splits = 1
    n_train = 100
    widths = 2 ** np.array([8, 14])
splits = StratifiedShuffleSplit(
    n_splits, train_size=n_train, test_size=n_train // 3, random_state=0
)

# %%
# Both count words and pairs of words. The rest of the pipeline is the same.
NGRAMS = {"token_pattern": r"\w+|[^\w\s]", "ngram_range": (1, 2)}


def vocabulary(width):
    return CountVectorizer(max_features=width, **NGRAMS)


def hashing(width):
    return HashingNgramVectorizer(
        n_features=width, alternate_sign=False, norm=None, **NGRAMS
    )


def classifier(vectorizer):
    return make_pipeline(
        vectorizer,
        TfidfTransformer(sublinear_tf=True),
        LinearSVC(random_state=0),
    )


# %%
# Accuracy, and the stored bytes of the vectorizer. The number of weights of the
# classifier is the same for both.
answers = {"vocabulary": vocabulary, "hashing": hashing}
accuracies = {name: np.zeros((n_splits, len(widths))) for name in answers}
sizes = {name: np.zeros(len(widths)) for name in answers}
for split, (train, test) in enumerate(splits.split(texts, labels)):
    for name, make in answers.items():
        for column, width in enumerate(widths):
            model = classifier(make(int(width)))
            model.fit(texts[train], labels[train])
            accuracy = model.score(texts[test], labels[test])
            accuracies[name][split, column] = accuracy
            sizes[name][column] = len(pickle.dumps(model[0]))

print(
    f"{'columns':>10}{'vocabulary':>12}{'hashing':>10}"
    f"{'lead of the vocabulary':>25}"
)
lead = accuracies["vocabulary"] - accuracies["hashing"]
for column, width in enumerate(widths):
    means = [accuracies[name][:, column].mean() for name in answers]
    print(
        f"{width:10,}{means[0]:12.3f}{means[1]:10.3f}"
        f"{lead[:, column].mean():+25.3f}"
    )

# %%
# Plot both against the number of columns; bands are one standard deviation over
# the splits.
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4), layout="constrained"
)
for name, values in accuracies.items():
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    left.semilogx(widths, mean, base=2, marker="o", label=name)
    left.fill_between(widths, mean - deviation, mean + deviation, alpha=0.2)
    right.loglog(widths, sizes[name] / 1024, marker="o", label=name)
    right.set_xscale("log", base=2)
left.set(
    xlabel="columns",
    ylabel="test accuracy",
    title=f"{n_train:,} docstrings, {len(set(labels))} modules",
)
right.set(
    xlabel="columns",
    ylabel="stored by the vectorizer, KiB",
    title="What the vectorizer stores",
)
for axes in (left, right):
    axes.grid(alpha=0.3)
    axes.legend()
plt.show()

# %%
# With few columns hashing loses: with 256 it is 6 points less accurate on the
# docstrings of Python 3.11, since frequent n-grams share columns, while the
# vocabulary drops the rare ones. The lead shrinks to less than a point with
# 65,536 columns and more. There the worst is the vocabulary: it stores 1.5 MB
# that the hashing vectorizer does without, and no training text must be seen
# before the first is counted. So hash to many columns, or not at all.
assert QUICK or lead[:, 0].mean() > 0.03
assert QUICK or lead[:, -1].mean() < 0.02
assert sizes["vocabulary"][-1] > 20 * sizes["hashing"][-1]
for column in (0, -1):
    points = 100 * lead[:, column].mean()
    worst = (
        "hashing"
        if points > 1
        else "the vocabulary: no more accurate, and it must be stored"
    )
    print(
        f"{widths[column]:,} columns: "
        f"lead of the vocabulary {points:.1f} points; the worst is {worst}"
    )
