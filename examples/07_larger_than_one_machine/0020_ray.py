"""
Texts in a Ray data set
=======================

Batches of texts are turned into labels by actors that load a saved model once,
and into hashed n-grams by tasks.

Run it with ``python examples/07_larger_than_one_machine/0020_ray.py`` after
``pip install "ray[data]"``: Ray runs on two cores of this machine, and it takes
about a minute. ``HASHNLP_QUICK=1`` takes fewer texts.
"""

# %%
# The functions take and return pandas frames, so that they can be tried and
# tested without Ray.
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from sklearn_hashnlp import load_model, save_model
from sklearn_hashnlp.classifiers import TextClassifier
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.text import HashingNgramVectorizer

QUICK = os.environ.get("HASHNLP_QUICK") == "1"


# %%
# Tasks: the number of distinct n-grams of each text. Transformers learn
# nothing, so that any worker can apply them.
def count_ngrams(batch: pd.DataFrame) -> pd.DataFrame:
    rows = HashingNgramVectorizer(ngram_range=(1, 2), n_jobs=1).transform(
        batch["text"]
    )
    return batch.assign(n_ngrams=np.diff(rows.indptr))


# %%
# Actors: the model is loaded when an actor starts, and not for each batch.
class Predict:
    """An actor that predicts the labels of batches."""

    def __init__(self, folder: str):
        self.model = load_model(folder)

    def __call__(self, batch: pd.DataFrame) -> pd.DataFrame:
        """Add the column of predicted labels."""
        return batch.assign(predicted=self.model.predict(batch["text"]))


def make_frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    frame = pd.DataFrame({"text": texts, "label": labels}).sample(
        frac=1, random_state=0, ignore_index=True
    )
    frame = frame[:600] if QUICK else frame
    is_test = np.arange(len(frame)) % 4 == 0
    return frame[~is_test], frame[is_test]


def main():
    import ray

    train, test = make_frames()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        save_model(
            TextClassifier(random_state=0).fit(train["text"], train["label"]),
            path,
        )
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        try:
            rows = ray.data.from_pandas(test).map_batches(
                count_ngrams, batch_format="pandas", batch_size=256
            )
            rows = rows.map_batches(
                Predict,
                fn_constructor_args=(path,),
                batch_format="pandas",
                batch_size=256,
                compute=ray.data.ActorPoolStrategy(size=1),
            )
            result = rows.to_pandas()
        finally:
            ray.shutdown()
    print(f"{len(result)} texts with {result['n_ngrams'].sum()} n-grams")
    print(
        f"test accuracy {(result['label'] == result['predicted']).mean():.3f}"
    )


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/ray.svg"
