"""
Hashed n-grams in a transformer: how much do they lower the loss?
=================================================================

A small causal transformer reads Python's docstrings byte by byte.
:class:`~sklearn_hashnlp.nn.NgramHashEmbedding` adds the rows of the last two,
three and four bytes to the embedding of each byte: local patterns are looked
up, and need not be computed by attention. The guide on :doc:`hashed n-grams
</ngram_memory>` has the measurements on other text, and what changes with
longer training. It takes about a minute.
"""

# %%
# The text as bytes, with a byte 0 before each docstring: n-grams do not reach
# over it.
import os
import time

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from sklearn_hashnlp.datasets import load_stdlib_docstrings
from sklearn_hashnlp.nn import NgramHashEmbedding
from sklearn_hashnlp.optim import RowwiseAdagrad

QUICK = os.environ.get("HASHNLP_QUICK") == "1"
STEPS, SIZE, CONTEXT, BATCH, PROBES = (
    (10, 16, 32, 4, 2) if QUICK else (400, 96, 128, 8, 8)
)
docstrings, _ = load_stdlib_docstrings(return_X_y=True)
text = torch.tensor(
    list("".join(f"\0{docstring}" for docstring in docstrings).encode())
)
train, test = text[: len(text) * 9 // 10], text[len(text) * 9 // 10 :]
print(f"{len(train):,} bytes of training text, {len(test):,} of test text")


# %%
# The model. The memory is two lines of it: one in the constructor, and one in
# ``forward``.
class Transformer(nn.Module):
    """A causal transformer of two blocks."""

    def __init__(self, memory):
        super().__init__()
        self.tokens = nn.Embedding(256, SIZE)
        self.positions = nn.Embedding(CONTEXT, SIZE)
        self.memory = memory
        layer = nn.TransformerEncoderLayer(
            SIZE, 4, 4 * SIZE, dropout=0.0, batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(
            layer, 2, nn.LayerNorm(SIZE), enable_nested_tensor=False
        )
        self.head = nn.Linear(SIZE, 256)

    def forward(self, ids):
        """Compute the scores of the next byte."""
        hidden = self.tokens(ids) + self.positions.weight
        if self.memory is not None:
            hidden = hidden + self.memory(ids)
        mask = nn.Transformer.generate_square_subsequent_mask(CONTEXT)
        return self.head(self.blocks(hidden, mask=mask, is_causal=True))


def bits(model, batch):
    scores = model(batch[:, :-1])
    targets = batch[:, 1:].flatten()
    nats = nn.functional.cross_entropy(scores.flatten(0, 1), targets)
    return nats / np.log(2)


# %%
# Both models see the same batches. The rows of the tables have an optimizer of
# their own, which updates only the rows of the n-grams in a batch.
# several threads would wait for each other while other programs use the cores
torch.set_num_threads(1)
test_batch = test[: 64 * (CONTEXT + 1)].view(-1, CONTEXT + 1)
memories = {
    "transformer": None,
    "with hashed n-grams": NgramHashEmbedding(
        2**16, SIZE, orders=(2, 3, 4), boundary=0
    ),
}
curves, seconds = {}, {}
for name, memory in memories.items():
    torch.manual_seed(0)
    model = Transformer(memory)
    tables = [] if memory is None else [memory.weight]
    others = [
        parameter
        for parameter in model.parameters()
        if all(parameter is not table for table in tables)
    ]
    optimizers = [torch.optim.AdamW(others, lr=0.002)]
    if tables:
        optimizers.append(RowwiseAdagrad(tables, lr=0.2))
        model(test_batch[:2, :-1])  # what a first call loads
    generator, curve = torch.Generator().manual_seed(0), []
    start = time.process_time()
    for step in range(STEPS):
        first = torch.randint(
            len(train) - CONTEXT, (BATCH,), generator=generator
        )
        places = first.unsqueeze(1) + torch.arange(CONTEXT + 1)
        loss = bits(model, train[places])
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        if (step + 1) % (STEPS // PROBES) == 0:
            with torch.no_grad():
                curve.append(float(bits(model, test_batch)))
    seconds[name] = time.process_time() - start
    curves[name] = curve
    rows = 0 if memory is None else int((memory.weight != 0).any(dim=1).sum())
    print(
        f"{name:20} {curve[-1]:.3f} bits per byte, "
        f"{rows:,} rows used, {1000 * seconds[name] / STEPS:.0f} ms per step"
    )

# %%
# Bits per byte of the test text during training.
figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
for name, curve in curves.items():
    axes.plot(
        np.arange(1, PROBES + 1) * (STEPS // PROBES),
        curve,
        marker="o",
        label=name,
    )
axes.set(
    xlabel="training steps",
    ylabel="bits per byte of the test text",
    title="Two blocks on docstrings",
)
axes.grid(alpha=0.3)
axes.legend()
plt.show()

# %%
# With hashed n-grams the loss falls much faster, and a step takes hardly
# longer: a row is read for each n-gram, whatever the size of the table. The
# highest loss, and so the worst model, is that of the transformer alone. 400
# steps are few: what longer training leaves of the difference is not measured
# here.
print("the worst:", max(curves, key=lambda name: curves[name][-1]))
assert (
    QUICK or curves["with hashed n-grams"][-1] < curves["transformer"][-1] - 0.2
)
print(
    "time per step with n-grams / without: "
    f"{seconds['with hashed n-grams'] / seconds['transformer']:.2f}"
)
