"""Seconds of a training step of a small torch network, in a process of its own, on a number of torch threads.

    python load_worker.py SIZE THREADS SECONDS

It prints JSON: the steps, and the milliseconds of clock and of processor that a step took.
"""

from __future__ import annotations

import json
import sys
import time

import torch

from sklearn_hashnlp.nn import AttentionSeq2Seq, FullSoftmax

N_WORDS, BATCH_SIZE, LENGTH = 300, 32, 3  # as the example of the gallery that reverses words


def main(size: int, n_threads: int, seconds: float) -> None:
    torch.set_num_threads(n_threads)
    torch.manual_seed(0)
    network = AttentionSeq2Seq(N_WORDS + 1, size, size, size, output=FullSoftmax(size, N_WORDS + 1))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.005)
    symbols = torch.randint(0, N_WORDS, (BATCH_SIZE, LENGTH))

    def step() -> None:
        optimizer.zero_grad()
        network(symbols, symbols)[1].backward()
        optimizer.step()

    for _ in range(3):
        step()
    n_steps, began, processor = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        step()
        n_steps += 1
    milliseconds = [1000 * (time.perf_counter() - began), 1000 * (time.process_time() - processor)]
    print(json.dumps({"steps": n_steps, "ms": milliseconds[0] / n_steps, "processor ms": milliseconds[1] / n_steps}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
