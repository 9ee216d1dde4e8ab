"""
Which tree predicts words best, and which is the fastest?
=========================================================

The hierarchical softmax of a language model predicts a word by decisions on the
path from the root of a tree to the word. Every tree is a correct probability
distribution over all words; but the cost of a word is the length of its path,
and a decision is easy to learn if the words on the same side of it occur in
similar contexts. The same network with

- trees that do not look at the text: random, and complete in the order of
  frequency;
- Huffman's, which gives frequent words short paths, and two levels of words of
  similar frequency;
- trees of clusters of words: of co-occurrence, or learned from the hidden
  states of a small network;
- and no tree: the full softmax over all words, and the adaptive softmax.

The text is every second sentence of the docstrings of Python's standard library
or, if the environment variable ``HASHNLP_DATA`` names a folder with
``ptb/train.txt``, every tenth sentence of the Penn Treebank. It takes about a
minute.
"""

# %%
# The sentences: in lowercase, punctuation marks are words. Every tenth is a
# test sentence.
import os
import re
import time
from pathlib import Path

import matplotlib.pyplot as plt

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.text import split_sentences

QUICK = os.environ.get("HASHNLP_QUICK") == "1"
penn = Path(os.environ.get("HASHNLP_DATA", "")) / "ptb" / "train.txt"
if penn.exists():
    sentences = [
        line.split()
        for line in penn.read_text(encoding="utf-8").splitlines()[::10]
    ]
else:
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
    ][::2]
sentences = sentences[:: 30 if QUICK else 1]
train = [sentence for number, sentence in enumerate(sentences) if number % 10]
test = sentences[::10]

# %%
# The models; they differ in the output layer alone.
names = [
    "random",
    "complete",
    "huffman",
    "two_level",
    "binary_cluster",
    "cluster",
    "learned",
]
outputs = {f"tree: {name}": {"tree": name} for name in names}
outputs |= {
    "full softmax": {"output": "softmax"},
    "adaptive softmax": {"output": "adaptive"},
}
if QUICK:
    outputs = {
        name: outputs[name] for name in ("tree: random", "tree: cluster")
    }
size = (
    {"embedding_dim": 4, "hidden_size": 8}
    if QUICK
    else {"embedding_dim": 32, "hidden_size": 128}
)

# %%
# Train each, and measure its perplexity on the test sentences: the lower, the
# better. A first training, on few sentences, is not timed: it loads
# libraries.
perplexities, seconds = {}, {}
for name, parameters in outputs.items():
    model = HsigmoidLanguageModel(
        order=4, min_count=2, max_epochs=1 if QUICK else 3, random_state=0
    )
    model.set_params(**size, **parameters)
    model.fit(train[:50])
    started = time.process_time()
    model.fit(train)
    seconds[name] = time.process_time() - started
    perplexities[name] = model.perplexity(test)
    print(
        f"{name:22} perplexity {perplexities[name]:6.1f}, "
        f"{seconds[name]:5.1f} s of processor time"
    )
print(f"{len(train):,} sentences, {len(model.vocabulary_):,} words")

# %%
# Plot the perplexity against the time: the best models are at the lower left.
figure, axes = plt.subplots(figsize=(7.5, 5.0), layout="constrained")
for name, perplexity in perplexities.items():
    axes.plot(
        seconds[name],
        perplexity,
        "o" if name.startswith("tree") else "s",
        label=name,
    )
axes.set(
    xlabel="training, seconds of processor time",
    ylabel="test perplexity",
    xlim=(0, None),
)
axes.set_title(f"{len(train):,} sentences, {len(model.vocabulary_):,} words")
axes.grid(alpha=0.3)
axes.legend()
plt.show()

# %%
# Which words share a branch decides. On the docstrings of Python 3.11 the
# random tree is the worst, with a perplexity of 105; the complete and Huffman's
# tree, which know the frequencies, have 100, groups of similar frequency 94,
# clusters of words in a binary tree 92, and clusters as wide nodes 88
# ("cluster") and 87 ("learned"), as low as the full softmax. The slowest is the
# full softmax, which takes several times as long as most trees, with only 2,800
# words: its time grows with their number, and that of a tree with the length of
# its paths.
for measure, values in {"perplexity": perplexities, "time": seconds}.items():
    print(
        f"{measure}: the best is {min(values, key=values.get)}, "
        f"the worst {max(values, key=values.get)}"
    )
if not (QUICK or penn.exists()):
    of_trees = {name: perplexities[f"tree: {name}"] for name in names}
    wide = max(of_trees["cluster"], of_trees["learned"])
    assert (
        min(of_trees["random"], of_trees["complete"], of_trees["huffman"])
        > 1.05 * wide
    )
    assert of_trees["random"] == max(perplexities.values())
    assert abs(wide / perplexities["full softmax"] - 1) < 0.05
