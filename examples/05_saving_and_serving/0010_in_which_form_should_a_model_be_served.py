"""
In which form should a model be saved and served?
=================================================

The same classifier of texts, trained once, in five forms:

- a pickle;
- a folder by ``save_model``, with tables of numbers of four bytes, of two
  (``"float16"``) or of one (``"int8"``);
- a Python file by ``export_predictor``, which depends on numpy only.

How large is it, how long does it take until the first label, from the start of
a process, and does it predict the same labels? A pickle runs code when it is
loaded, so it must come from somebody you trust; the folder never does.

The texts are the docstrings of Python's standard library; the label is the
module. It takes about half a minute.
"""

# %%
# Train a classifier, and save it in all forms.
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from sklearn_hashnlp import TextClassifier, export_predictor, save_model
from sklearn_hashnlp.datasets import load_stdlib_docstrings

QUICK = os.environ.get("HASHNLP_QUICK") == "1"
texts, labels = load_stdlib_docstrings(return_X_y=True)
texts, labels = (texts[::10], labels[::10]) if QUICK else (texts, labels)
X_train, X_test, y_train, y_test = train_test_split(
    texts, labels, test_size=0.25, random_state=0
)
model = TextClassifier(features="words", random_state=0).fit(X_train, y_train)
expected = model.predict(X_test)
print(f"test accuracy {np.mean(expected == y_test):.3f}")

folder = tempfile.TemporaryDirectory()
base = Path(folder.name)
(base / "model.pickle").write_bytes(pickle.dumps(model))
save_model(model, base / "float32")
save_model(model, base / "float16", precision="float16")
save_model(model, base / "int8", precision="int8")
export_predictor(model, base / "predictor.py", precision="int8")
(base / "texts.txt").write_text(
    "\n".join(" ".join(text.split()) for text in X_test), encoding="utf-8"
)

# %%
# A program for each form: it loads the model and predicts the first text,
# prints the processor time since it began, and then the labels of all texts.
PROGRAM = """
import time
{load}
texts = open({texts!r}, encoding="utf-8").read().split("\\n")
model.predict(texts[:1])
print(time.process_time(), *model.predict(texts), sep="\\n")
"""
LOAD = "from sklearn_hashnlp import load_model; model = load_model({!r})"
programs = {
    "pickle": "import pickle; "
    f"model = pickle.load(open({str(base / 'model.pickle')!r}, 'rb'))",
    "folder, float32": LOAD.format(str(base / "float32")),
    "folder, float16": LOAD.format(str(base / "float16")),
    "folder, int8": LOAD.format(str(base / "int8")),
    "exported file, int8": f"import sys; sys.path.insert(0, {folder.name!r}); "
    "import predictor as model",
}
if QUICK:
    programs = {
        name: programs[name] for name in programs if name.startswith("exported")
    }

# %%
# Run them. The time of the first label counts from the start of the process;
# the labels are compared with the labels of the model that was trained.
files = {
    "pickle": "model.pickle",
    "folder, float32": "float32",
    "folder, float16": "float16",
    "folder, int8": "int8",
    "exported file, int8": "predictor.py",
}


def size(path):
    files = [path] if path.is_file() else path.iterdir()
    return sum(file.stat().st_size for file in files) / 1e6


megabytes = {}
starts = {}
agreements = {}
for name, load in programs.items():
    program = PROGRAM.format(texts=str(base / "texts.txt"), load=load)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    start, *predicted = done.stdout.splitlines()
    megabytes[name], starts[name] = size(base / files[name]), float(start)
    agreements[name] = float(np.mean(np.array(predicted) == expected))
    figures = (
        f"{megabytes[name]:5.2f} MB, first label after {starts[name]:.2f} s"
    )
    print(f"{name:20} {figures}, {agreements[name]:.2%} same labels")

# %%
# Plot size and start.
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 3.4), sharey=True, layout="constrained"
)
for axes, values, label in (
    (left, megabytes, "size, MB"),
    (right, starts, "first label, seconds of processor time"),
):
    bars = axes.barh(
        list(values),
        list(values.values()),
        color=[f"C{number}" for number in range(len(values))],
    )
    axes.bar_label(bars, fmt="%.2f", padding=3)
    axes.set_xlabel(label)
    axes.margins(x=0.15)
left.invert_yaxis()
left.set_title(f"Size of a classifier of {len(model.classes_)} labels")
right.set_title("Start of a process that predicts")
plt.show()
folder.cleanup()

# %%
# The exported file wins on both counts: it is the smallest, and its process has
# the first label in a fraction of a second, since it loads numpy alone. The
# other four load the whole package and its dependencies, which takes seconds
# and nearly the same time for all of them. The largest are the folder of
# float32 and the pickle, which also runs code when it is loaded. ``"int8"``
# makes the folder little more than a third of that, with another label for one
# text in a thousand. The file predicts only, and fewer texts a second; to train
# further or to predict millions of texts, load a folder.
print(
    f"size: the best is {min(megabytes, key=megabytes.get)}, "
    f"the worst {max(megabytes, key=megabytes.get)}"
)
assert agreements["exported file, int8"] > 0.98
if not QUICK:
    assert all(share > 0.98 for share in agreements.values())
    assert min(agreements["pickle"], agreements["folder, float32"]) > 0.995
    assert megabytes["exported file, int8"] == min(megabytes.values())
    assert megabytes["folder, int8"] < 0.5 * megabytes["folder, float32"]
winner = min(starts, key=starts.get)
others = [seconds for name, seconds in starts.items() if name != winner]
if others:
    print(
        f"start: the best is {winner}, {starts[winner]:.2f} s; "
        f"the others: {min(others):.1f} to {max(others):.1f} s"
    )
