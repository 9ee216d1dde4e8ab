"""
Which sentences say something similar?
======================================

A sentence encoder learns from the paragraphs of a text, and then finds the sentences nearest to a query, even
where they use other words. A picture shows vectors in two dimensions.

Run it with ``python examples/03_sentences/0010_nearest_sentences.py``: the text is then the docstrings of Python's
standard library, which are on every machine, the encoder is a small one, and it takes about a minute. A text of yours,
a paragraph a line, is its first argument, queries are the others; ``--model FOLDER`` takes an encoder that was saved::

    python examples/03_sentences/0010_nearest_sentences.py paragraphs.txt "Who won the match?" --model FOLDER
"""

# %%
# The text, and what is looked for.
import argparse
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from sklearn_hashnlp import SGNNSentenceEncoder, load_model
from sklearn_hashnlp.datasets import load_stdlib_docstrings, stream_paragraphs
from sklearn_hashnlp.text import split_sentences

parser = argparse.ArgumentParser()
parser.add_argument("text", nargs="?", type=Path, help="a file, a paragraph a line (default: docstrings)")
parser.add_argument("queries", nargs="*")
parser.add_argument("--model", type=Path, help="folder of a saved encoder (default: one is trained on the text)")
options = parser.parse_args()
if options.text is None:
    docstrings, _ = load_stdlib_docstrings(return_X_y=True)
    # The lines of a paragraph are one text: a new line would end a sentence.
    paragraphs = [" ".join(paragraph.split()) for docstring in docstrings for paragraph in docstring.split("\n\n")]
    queries = ["Delete a file.", "Send an e-mail message.", "Wait until the thread has ended.", "Compare two dates."]
else:
    paragraphs = list(stream_paragraphs(options.text))
    queries = ["He was a professional football player.", "The village has few inhabitants.", "The album was released."]
queries = options.queries or queries

# %%
# The encoder. Both parts of its vectors are left smaller than they are by default, so that it is trained soon.
if options.model is None:
    encoder = SGNNSentenceEncoder(width=128, spelling_width=256, table_bits=11, max_words=1000, random_state=0)
    encoder.fit(paragraphs)
else:
    encoder = load_model(options.model)

# %%
# The nearest sentences. Vectors are made once, whatever is looked for later; sentences of less than three words say
# little, and each is kept once.
sentences = [sentence for paragraph in paragraphs for sentence in split_sentences(paragraph)]
sentences = [sentence for sentence in dict.fromkeys(sentences) if len(sentence.split()) > 2]
vectors = encoder.transform(sentences)
places, cosines = encoder.most_similar(queries, vectors, k=5)
for query, row, similarities in zip(queries, places, cosines, strict=True):
    print(f"\n{query}")
    for place, cosine in zip(row, similarities, strict=True):
        print(f"  {cosine:.2f}  {sentences[place][:100]}")

# %%
# The picture: the sentences nearest to each query in a colour, and others by chance in grey. What is near in it is near
# in truth; distances far away mean little.
N_NEAREST, N_OTHERS = 40, 800
places, _ = encoder.most_similar(queries, vectors, k=N_NEAREST)
others = np.random.default_rng(0).permutation(len(sentences))[:N_OTHERS]
shown = np.concatenate([encoder.transform(queries), vectors[places.ravel()], vectors[others]])
shorter = PCA(min(50, *shown.shape), random_state=0).fit_transform(shown)
flat = TSNE(init="pca", perplexity=min(30, (len(shown) - 1) / 3), random_state=0).fit_transform(shorter)
stars, near, far = np.split(flat, [len(queries), len(queries) + places.size])

figure = Figure(figsize=(8.0, 6.4), layout="constrained")
FigureCanvasAgg(figure)
axes = figure.add_subplot()
axes.scatter(*far.T, color="0.8", s=6, linewidths=0)
for number, (query, star, points) in enumerate(zip(queries, stars, np.split(near, len(queries)), strict=True)):
    axes.scatter(*points.T, color=f"C{number}", s=14, linewidths=0)
    axes.scatter(*star, color=f"C{number}", marker="*", s=160, edgecolors="black", label=query)
axes.set(xticks=[], yticks=[], title=f"Queries, the {places.shape[1]} sentences nearest to each, and others")
axes.legend(fontsize=8)
picture = Path("nearest_sentences.png")
figure.savefig(picture, dpi=150)
print(f"\nsaved: {picture.resolve()}")
