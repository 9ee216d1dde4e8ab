"""
Texts in a Spark data frame
===========================

Pandas functions on the executors: hashed n-grams of a column of texts, labels
predicted by a saved model, and classifiers of parts of the rows, which are
merged into one on the driver.

Run it with ``python examples/07_larger_than_one_machine/0020_spark.py`` after
``pip install pyspark`` (which needs Java): the master is this process with two
cores, and it takes about a minute. ``HASHNLP_QUICK=1`` takes fewer texts.
"""

# %%
# The functions take and return pandas objects, so that they can be tried and
# tested without Spark.
import os
import pickle
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from sklearn_hashnlp import load_model, save_model
from sklearn_hashnlp.classifiers import TextClassifier, merge_classifiers
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.text import HashingNgramVectorizer

QUICK = os.environ.get("HASHNLP_QUICK") == "1"
N_PARTS = 2


# %%
# N-grams: the indices and values of each row. Hashing needs no fit, so
# that any executor can apply them.
def vectorize(texts: pd.Series) -> pd.DataFrame:
    rows = HashingNgramVectorizer(n_jobs=1).transform(texts)
    ends = rows.indptr[1:-1]
    return pd.DataFrame(
        {
            "indices": np.split(rows.indices, ends),
            "values": np.split(rows.data, ends),
        }
    )


# %%
# Labels: the model is loaded once for all batches of a partition. The folder
# must be readable on all machines.
def predict(batches: Iterator[pd.Series], folder: str) -> Iterator[pd.Series]:
    model = load_model(folder)
    for texts in batches:
        yield pd.Series(model.predict(texts), index=texts.index)


# %%
# A classifier of the rows of a part. All parts need the same labels, parameters
# and ``random_state``, an int, and ``features`` that do not depend on the
# texts. ``partial_fit`` trains by stochastic gradients, however few rows are
# left in a part, and with labels that it does not have.
def train(rows: pd.DataFrame, classes: list) -> pd.DataFrame:
    model = TextClassifier(features="words", n_jobs=1, random_state=0)
    model.partial_fit(rows["text"], rows["label"].to_numpy(), classes=classes)
    return pd.DataFrame({"model": [pickle.dumps(model)]})


def make_frame() -> pd.DataFrame:
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    frame = pd.DataFrame({"text": texts, "label": labels})
    frame = frame[frame.groupby("label")["label"].transform("size") >= 20]
    frame = frame.sample(
        600 if QUICK else len(frame), random_state=0, ignore_index=True
    )
    return frame.assign(
        part=np.arange(len(frame)) % N_PARTS,
        is_test=np.arange(len(frame)) % 5 == 0,
    )


def main():
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col, pandas_udf

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of the executors
    frame = make_frame()
    classes = sorted(frame["label"].unique())
    session = (
        SparkSession.builder.master("local[2]")
        .appName("texts")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    rows = session.createDataFrame(frame)

    schema = "indices array<int>, values array<double>"
    ngrams = pandas_udf(vectorize, schema)(col("text")).alias("ngrams")
    counts = rows.select(ngrams)
    n_ngrams = len(counts.first()["ngrams"]["indices"])
    print(f"{counts.count()} rows, of which the first has {n_ngrams} n-grams")

    # %% Training: a row for each part, with the pickled model. Unpickle only
    # what your own cluster made.
    parts = rows.where(~col("is_test")).groupBy("part")
    trained = parts.applyInPandas(
        lambda part: train(part, classes), "model binary"
    ).collect()
    merged = merge_classifiers([pickle.loads(row["model"]) for row in trained])
    print(f"merged from {len(trained)} parts")

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        save_model(merged, path)

        def predict_column(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
            return predict(batches, path)

        predicted = pandas_udf(predict_column, "string")(col("text")).alias(
            "predicted"
        )
        result = (
            rows.where(col("is_test")).select("label", predicted).toPandas()
        )
    print(
        f"test accuracy {(result['label'] == result['predicted']).mean():.3f}"
    )
    session.stop()


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/spark.svg"
