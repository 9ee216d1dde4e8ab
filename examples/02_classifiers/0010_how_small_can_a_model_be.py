"""
How small can a text model be?
==============================

One corpus (the docstrings of Python's standard library, which are on every machine), one question (which module does
a docstring stand in?) and three ways to spend a budget of parameters:

- a hash embedding, whose n-grams share a pool of vectors and have weights of their own;
- the plain hashing trick, whose n-grams share whole vectors;
- a linear model on hashed n-grams.

Run it with ``python examples/02_classifiers/0010_how_small_can_a_model_be.py``; it takes about a minute.
"""

# %%
# The corpus, and a quarter of it held out.
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from sklearn_hashnlp.classifiers import make_text_classifier
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.text import HashingNgramVectorizer

texts, labels = load_stdlib_docstrings(return_X_y=True)
train_texts, test_texts, train_labels, test_labels = train_test_split(
    texts, labels, test_size=0.25, stratify=labels, random_state=0
)
n_classes = len(np.unique(labels))
budgets = [10_000, 30_000, 100_000, 300_000, 1_000_000]

# %%
# Each way gets the same number of parameters. Two thirds of a hash embedding's go into the pool of vectors, the rest
# into importance, two weights a row.
DIM = 10


def hash_embedding(budget):
    model = make_text_classifier(random_state=0)
    return model.set_params(
        classifier__embedding_dim=DIM,
        classifier__n_buckets=budget * 2 // 3 // DIM,
        classifier__n_embeddings=budget // 3 // 2,
        classifier__max_epochs=5,
    )


def hashing_trick(budget):
    model = make_text_classifier(random_state=0)
    return model.set_params(
        classifier__variant="standard",
        classifier__embedding_dim=DIM,
        classifier__n_embeddings=budget // DIM,
        classifier__max_epochs=5,
    )


def linear(budget):
    vectorizer = HashingNgramVectorizer(
        token_pattern=r"\w+|[^\w\s]", ngram_range=(1, 2), n_features=budget // n_classes, alternate_sign=False
    )
    return make_pipeline(vectorizer, LinearSVC(random_state=0))


# %%
# The same rows for all of them.
accuracies = {}
for name, make in {"hash embedding": hash_embedding, "hashing trick": hashing_trick, "linear": linear}.items():
    accuracies[name] = [
        make(budget).fit(train_texts, train_labels).score(test_texts, test_labels) for budget in budgets
    ]
    print(f"{name:15}", *(f"{accuracy:.3f}" for accuracy in accuracies[name]))

# %%
# The picture.
figure = Figure(figsize=(6.4, 4.0), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.add_subplot()
for name, found in accuracies.items():
    axes.semilogx(budgets, found, marker="o", label=name)
axes.set(xlabel="parameters", ylabel="held-out accuracy", title=f"{n_classes} modules, {len(train_texts):,} docstrings")
axes.grid(alpha=0.3)
axes.legend()
picture = Path("how_small_can_a_model_be.png")
figure.savefig(picture, dpi=150)
print(f"saved: {picture.resolve()}")

# %%
# Of the docstrings of Python 3.11 the hash embedding makes more than the hashing trick at every size: two n-grams that
# share a vector of the pool still have weights of their own. The linear model is its equal from 100,000 parameters on
# and falls behind where there are fewer. The hashing trick, which shares whole vectors, loses everywhere.
