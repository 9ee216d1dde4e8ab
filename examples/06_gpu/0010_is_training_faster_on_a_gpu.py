"""
Is training faster on a GPU?
============================

The same classifier is trained on the CPU and, if torch finds a CUDA device, on
the GPU, with batches of different sizes. On the CPU the default classifier
trains on few texts by another solver, so ``loss="softmax"`` and a number of
epochs ask for stochastic gradients on both.

Each step of a training on a GPU starts many small programs there, which takes
time whatever the size of the batch; on the CPU a step is compiled as a whole.
Large batches are therefore the favorable case for the GPU, and small ones for
the CPU.

Without a CUDA device this example measures and reports the CPU alone. The texts
are the docstrings of Python's standard library; the label is the module. It
takes about half a minute.
"""

# %%
# Texts, and the devices that there are.
import os

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.model_selection import train_test_split

from sklearn_hashnlp import make_text_classifier
from sklearn_hashnlp.datasets import load_stdlib_docstrings

QUICK = os.environ.get("HASHNLP_QUICK") == "1"
texts, labels = load_stdlib_docstrings(return_X_y=True)
texts, labels = (texts[::20], labels[::20]) if QUICK else (texts, labels)
X_train, X_test, y_train, y_test = train_test_split(
    texts, labels, test_size=0.25, random_state=0
)
devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
if devices == ["cpu"]:
    print(
        "torch finds no CUDA device: "
        "the GPU is not measured, and the devices are not compared."
    )
else:
    print(f"GPU: {torch.cuda.get_device_name()}")

# %%
# Train on each device. An epoch is the median of all but the first, which also
# copies the tables to the device.
batch_sizes = [32, 512] if QUICK else [32, 128, 512, 2048]
seconds, accuracies = {}, {}
for device in devices:
    for batch_size in batch_sizes:
        model = make_text_classifier(
            features="words",
            loss="softmax",
            max_epochs=2 if QUICK else 10,
            learning_rate=0.2 * np.sqrt(batch_size / 32),
            device=device,
            random_state=0,
        )
        model.set_params(classifier__batch_size=batch_size).fit(
            X_train, y_train
        )
        seconds[device, batch_size] = float(
            np.median([epoch["dur"] for epoch in model[-1].history_[1:]])
        )
        accuracies[device, batch_size] = model.score(X_test, y_test)
        print(
            f"{device:5} batches of {batch_size:5}: "
            f"{1000 * seconds[device, batch_size]:8.1f} ms an epoch, "
            f"test accuracy {accuracies[device, batch_size]:.3f}"
        )

# %%
# Plot the time of an epoch, and the accuracy.
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4), layout="constrained"
)
for device in devices:
    left.semilogx(
        batch_sizes,
        [1000 * seconds[device, size] for size in batch_sizes],
        marker="o",
        label=device,
    )
    right.semilogx(
        batch_sizes,
        [accuracies[device, size] for size in batch_sizes],
        marker="o",
        label=device,
    )
left.set(
    ylabel="milliseconds of an epoch",
    ylim=(0, None),
    title=f"Training on {len(X_train):,} docstrings",
)
right.set(ylabel="test accuracy", title="Accuracy of the same trainings")
for axes in (left, right):
    axes.set_xticks(batch_sizes, batch_sizes)
    axes.minorticks_off()
    axes.set_xlabel("batch size")
    axes.grid(alpha=0.3)
    axes.legend()
plt.show()

# %%
# Whichever device is faster, a large batch has its price: on the docstrings of
# Python 3.11 batches of 512 cost about 4 points of accuracy on the CPU, and
# batches of 2,048 one more. The devices are compared for each batch size, if
# there are two; the figures of this page are of a machine without a GPU, so
# they do not name the faster device.
for batch_size in batch_sizes if len(devices) == 2 else []:
    ratio = seconds["cpu", batch_size] / seconds["cuda", batch_size]
    worst = "the CPU" if ratio > 1 else "the GPU"
    print(
        f"time, batches of {batch_size}: "
        f"the worst is {worst}, by a factor of {max(ratio, 1 / ratio):.1f}"
    )
device, batch_size = min(accuracies, key=accuracies.get)
print(
    f"accuracy: the worst is batches of {batch_size} on {device}, "
    f"{accuracies[device, batch_size]:.3f}"
)
assert (
    QUICK
    or accuracies["cpu", 32]
    > max(accuracies["cpu", 512], accuracies["cpu", 2048]) + 0.01
)
