"""Losses over blocks of vectors, one pair at a time."""

import math

import numpy as np
from scipy.special import ive


def similarity_bxent(rows, blocks, balance):
    entries = {True: [], False: []}
    for one, block in zip(rows, blocks, strict=True):
        for other, other_block in zip(rows, blocks, strict=True):
            p = min(max((1 + float(one @ other)) / 2, 1e-7), 1 - 1e-7)
            target = float(block == other_block)
            entries[block == other_block].append(
                -(target * math.log(p) + (1 - target) * math.log(1 - p))
            )
    if balance:
        return sum(sum(part) / len(part) / 2 for part in entries.values() if part)
    return sum(map(sum, entries.values())) / len(rows) ** 2


def cosine_proximity(rows, blocks):
    same, different = [], []
    for i, (one, block) in enumerate(zip(rows, blocks, strict=True)):
        for j, (other, other_block) in enumerate(zip(rows, blocks, strict=True)):
            if block != other_block:
                different.append(max(0.0, float(one @ other)))
            elif i != j:
                same.append(1 - float(one @ other))
    return (np.mean(same) if same else 0.0) + (np.mean(different) if different else 0.0)


def info_nce(rows, blocks, temperature):
    losses = []
    for i, row in enumerate(rows):
        scores = {j: float(row @ other) / temperature for j, other in enumerate(rows) if j != i}
        total = sum(map(math.exp, scores.values()))
        own = [
            -math.log(math.exp(score) / total)
            for j, score in scores.items()
            if blocks[j] == blocks[i]
        ]
        if own:
            losses.append(sum(own) / len(own))
    return sum(losses) / len(losses) if losses else 0.0


def von_mises_fisher(rows, blocks, concentration, contrast):
    losses = []
    for i, row in enumerate(rows):
        log_densities = {}
        for block in set(blocks.tolist()):
            members = [rows[j] for j in range(len(rows)) if blocks[j] == block and j != i]
            if members:
                log_densities[block] = log_density(row, concentration * np.mean(members, axis=0))
        if blocks[i] in log_densities:
            losses.append(
                contrast * np.logaddexp.reduce(list(log_densities.values()))
                - log_densities[blocks[i]]
            )
    return np.mean(losses) if losses else 0.0


def log_density(row, prediction):
    """Return log f(row; prediction) by scipy's Bessel function; without concentration, by the area
    of the sphere.
    """
    d, k = len(row), float(np.linalg.norm(prediction))
    if k < 1e-9:
        return math.lgamma(d / 2) - math.log(2) - d / 2 * math.log(math.pi)
    log_bessel = math.log(ive(d / 2 - 1, k)) + k
    return (
        (d / 2 - 1) * math.log(k)
        - d / 2 * math.log(2 * math.pi)
        - log_bessel
        + float(row @ prediction)
    )
