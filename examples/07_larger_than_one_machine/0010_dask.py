"""
Texts on a dask cluster
=======================

Two things on the workers of a cluster: hashed n-grams of a bag of texts, and
classifiers of parts of the texts, which are merged into one.

Run it with ``python examples/07_larger_than_one_machine/0010_dask.py`` after
``pip install "dask[distributed]"``: the cluster is two processes of this
machine, and it takes about a minute. With the address of a scheduler the same
code runs on other machines: ``Client("tcp://...")``. ``HASHNLP_QUICK=1`` takes
fewer texts.
"""

# %%
# The texts are the docstrings of Python's standard library; the label is the
# module.
import os

import numpy as np
from scipy.sparse import vstack
from sklearn.model_selection import train_test_split

from sklearn_hashnlp.classifiers import TextClassifier, merge_classifiers
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.text import HashingNgramVectorizer

QUICK = os.environ.get("HASHNLP_QUICK") == "1"
N_PARTS = 4


# %%
# Hashing needs no fit, so that any worker can apply them to any part of a
# bag.
def vectorize(texts):
    return [HashingNgramVectorizer(ngram_range=(1, 2)).transform(texts)]


# %%
# A part is trained in batches, as it would be read from files. Every worker
# needs all labels, the same parameters and the same ``random_state``, an int;
# ``features`` that do not depend on the texts; and stochastic gradients, by
# ``partial_fit`` or by a number of epochs.
def train(part, classes):
    texts, labels = part
    model = TextClassifier(features="words", n_jobs=1, random_state=0)
    for start in range(0, len(texts), 256):
        model.partial_fit(
            texts[start : start + 256],
            labels[start : start + 256],
            classes=classes,
        )
    return model


def main():
    from dask import bag
    from distributed import Client, LocalCluster

    texts, labels = load_stdlib_docstrings(return_X_y=True)
    if QUICK:
        texts, labels = texts[:800], labels[:800]
    names, counts = np.unique(labels, return_counts=True)
    common = np.flatnonzero(np.isin(labels, names[counts >= 20]))
    texts, labels = [texts[i] for i in common], labels[common]
    X_train, X_test, y_train, y_test = train_test_split(
        texts, labels, stratify=labels, random_state=0
    )

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        # %% N-grams of a bag: the same as without a cluster.
        parts = (
            bag.from_sequence(X_train, npartitions=N_PARTS)
            .map_partitions(vectorize)
            .compute()
        )
        rows = vstack(parts)
        assert (rows != vectorize(X_train)[0]).nnz == 0
        print(f"{rows.shape[0]} rows with {rows.nnz} n-grams")

        # %% A classifier of each part, merged in pairs on the workers: only one
        # model travels to this process.
        order = np.random.default_rng(0).permutation(len(X_train))
        shards = [
            ([X_train[i] for i in rows], y_train[rows])
            for rows in np.array_split(order, N_PARTS)
        ]
        models = client.map(train, shards, classes=np.unique(labels))
        while len(models) > 1:
            models = [
                client.submit(merge_classifiers, models[i : i + 2])
                for i in range(0, len(models), 2)
            ]
        merged = models[0].result()
        print(
            f"merged from {N_PARTS} parts: "
            f"test accuracy {merged.score(X_test, y_test):.3f}"
        )

    whole = train((X_train, y_train), np.unique(labels))
    print(
        "one model of all texts:  "
        f"test accuracy {whole.score(X_test, y_test):.3f}"
    )


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/dask.svg"
