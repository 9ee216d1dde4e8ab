"""
Hash embeddings on several GPUs
===============================

Data-parallel training of a torch module of this package: a skorch net with
``AccelerateMixin``, which averages the gradients of all processes, so that they
have the same weights after each step.

Run it with ``python examples/07_larger_than_one_machine/0040_several_gpus.py``
after ``pip install accelerate``: it trains in two processes on the CPU, and
takes about a minute. On a machine with GPUs, each of which gets a process::

    accelerate launch examples/07_larger_than_one_machine/0040_several_gpus.py

``HashEmbeddingClassifier`` and ``TextClassifier`` have a training loop of their
own, which is compiled and trains in one process: train one on each device, and
merge them by ``sklearn_hashnlp.classifiers.merge_classifiers``.
"""

# %%
# The texts are the docstrings of Python's standard library; the label is the
# module. A text is the list of the hashed columns of its n-grams.
import os
import tempfile
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator, debug_launcher
from skorch import NeuralNetClassifier
from skorch.hf import AccelerateMixin
from torch import nn
from torch.nn import functional
from torch.utils.data import Dataset

from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.nn import HashEmbeddingBag
from sklearn_hashnlp.text import HashingNgramVectorizer

QUICK = os.environ.get("HASHNLP_QUICK") == "1"
N_PROCESSES = 2


def make_data():
    texts, labels = load_stdlib_docstrings(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(texts))
    order = order[: 600 if QUICK else None]
    rows = HashingNgramVectorizer(
        ngram_range=(1, 2), alternate_sign=False, n_jobs=1
    ).transform(texts)[order]
    names, targets = np.unique(labels[order], return_inverse=True)
    pairs = list(
        zip(
            np.split(rows.indices, rows.indptr[1:-1]),
            targets.tolist(),
            strict=True,
        )
    )
    n_test = len(pairs) // 4
    return pairs[n_test:], pairs[:n_test], len(names)


class Pairs(Dataset):
    """Columns and label of each text."""

    def __init__(self, pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        return self.pairs[index]


# %%
# A batch has a row for each text, filled up by -1: skorch and accelerate count
# its rows.
def collate(pairs):
    columns, targets = zip(*pairs, strict=True)
    ids = torch.full((len(columns), max(map(len, columns))), -1)
    for row, values in zip(ids, columns, strict=True):
        row[: len(values)] = torch.from_numpy(values)
    return ids, torch.tensor(targets)


class Network(nn.Module):
    """A bag of hash embeddings and a linear layer."""

    def __init__(self, n_classes):
        super().__init__()
        self.bag = HashEmbeddingBag(
            2**16, 16, num_buckets=2**14, num_hashes=1, normalize="l2"
        )
        self.scores = nn.Linear(self.bag.output_dim, n_classes)

    def forward(self, ids):
        """Compute the scores of all classes."""
        is_column = ids >= 0
        offsets = functional.pad(is_column.sum(dim=1).cumsum(dim=0), (1, 0))
        return self.scores(self.bag(ids[is_column], offsets))


class AcceleratedNet(AccelerateMixin, NeuralNetClassifier):
    """A skorch classifier trained in several processes."""


# %%
# The loss is a function, not a module: torch refuses to distribute modules
# without parameters.
def make_loss():
    return functional.cross_entropy


# %%
# Each process trains on every ``num_processes``-th batch; with half the batch
# size in two processes a step is that of one process.
def train(folder):
    accelerator = Accelerator(cpu=not torch.cuda.is_available())
    train_pairs, test_pairs, n_classes = make_data()
    torch.manual_seed(0)
    net = AcceleratedNet(
        Network,
        module__n_classes=n_classes,
        accelerator=accelerator,
        device=None,
        criterion=make_loss,
        optimizer=torch.optim.Adam,
        lr=0.02,
        max_epochs=4 if QUICK else 8,
        batch_size=32 // accelerator.num_processes,
        iterator_train__shuffle=True,
        iterator_train__collate_fn=collate,
        train_split=None,
        verbose=0,
    )
    net.fit(Pairs(train_pairs), None)
    module = net.module_.cpu().eval()
    X, targets = collate(test_pairs)
    with torch.inference_mode():
        accuracy = float((module(X).argmax(dim=1) == targets).float().mean())
    name = f"{accelerator.process_index}-of-{accelerator.num_processes}.pt"
    torch.save(
        {"accuracy": accuracy, "weights": module.state_dict()},
        Path(folder) / name,
    )


def main():
    if "LOCAL_RANK" in os.environ:  # by accelerate launch
        with tempfile.TemporaryDirectory() as folder:
            train(folder)
            print(torch.load(next(Path(folder).iterdir()))["accuracy"])
        return
    with tempfile.TemporaryDirectory() as folder:
        debug_launcher(train, (folder,), num_processes=N_PROCESSES)
        train(folder)
        one = torch.load(Path(folder) / "0-of-1.pt")
        several = [
            torch.load(Path(folder) / f"{index}-of-{N_PROCESSES}.pt")
            for index in range(N_PROCESSES)
        ]
    for name, weights in several[0]["weights"].items():
        assert all(
            torch.equal(weights, other["weights"][name]) for other in several
        )
    print(f"{N_PROCESSES} processes have the same weights")
    print(
        f"test accuracy of {N_PROCESSES} processes "
        f"{several[0]['accuracy']:.3f}, of one {one['accuracy']:.3f}"
    )


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/several_gpus.svg"
