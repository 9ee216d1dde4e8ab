"""The networks of a sentence encoder, one sentence and one word at a time, in double precision."""

import math

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.float64]


def normalize(vector: Array) -> Array:
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector


def linear(x: Array, layer: torch.nn.Linear) -> Array:
    bias = 0.0 if layer.bias is None else layer.bias.detach().double().numpy()
    return x @ layer.weight.detach().double().numpy().T + bias


def layer_norm(x: Array, norm: torch.nn.Module) -> Array:
    if isinstance(norm, torch.nn.Identity):
        return x
    standard = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(
        x.var(axis=1, keepdims=True) + norm.eps
    )
    return standard * norm.weight.detach().numpy() + norm.bias.detach().numpy()


def attention(x: Array, layer: torch.nn.MultiheadAttention) -> Array:
    inside = x @ layer.in_proj_weight.detach().numpy().T + layer.in_proj_bias.detach().numpy()
    width = x.shape[1] // layer.num_heads
    heads = []
    for head in range(layer.num_heads):
        query, key, value = (
            part[:, head * width : (head + 1) * width] for part in np.split(inside, 3, axis=1)
        )
        weights = np.exp(query @ key.T / math.sqrt(width))
        heads.append(weights / weights.sum(axis=1, keepdims=True) @ value)
    return linear(np.concatenate(heads, axis=1), layer.out_proj)


def sinusoid(position: int, column: int, width: int) -> float:
    wave = position / 10000 ** (column // 2 * 2 / width)
    return math.cos(wave) if column % 2 else math.sin(wave)


def encode(network, projections: Array, hidden: list[int]) -> list[Array]:
    """Return the first layer's input and each layer's output for one sentence without padding."""
    x = linear(projections, network.linear)
    x[hidden] = 0
    if network.position_gain is not None:
        gain, (length, width) = network.position_gain.item(), x.shape
        x = x + gain * np.array(
            [[sinusoid(t, column, width) for column in range(width)] for t in range(length)]
        )
    outputs = [x]
    for layer in network.layers:
        x = x + attention(layer_norm(x, layer.norm1), layer.self_attn)
        x = x + linear(
            np.maximum(linear(layer_norm(x, layer.norm2), layer.linear1), 0), layer.linear2
        )
        outputs.append(x)
    return outputs


def pool(pooling, vectors: Array, weights: Array) -> Array:
    """Pool the words of one sentence, without padding."""
    if not len(vectors):
        return np.zeros(vectors.shape[1])
    if not any(weights) or pooling.pooling == "mean":
        weights = np.ones(len(vectors))
    if pooling.pooling == "max":
        return normalize(vectors.max(axis=0))
    if pooling.pooling == "attention":
        scores = [math.exp(pooling.score.weight.detach().numpy()[0] @ vector) for vector in vectors]
        weights = [weight * score for weight, score in zip(weights, scores, strict=True)]
    return normalize(sum(weight * vector for weight, vector in zip(weights, vectors, strict=True)))


def transformer_vector(network, projections: Array, weights: Array) -> Array:
    """Return the vector of one sentence, without padding."""
    outputs = encode(network, projections, [])
    pooled = [outputs[-1]] if len(network.norms) == 1 else [outputs[len(outputs) // 2], outputs[-1]]
    x = np.concatenate(
        [layer_norm(part, norm) for part, norm in zip(pooled, network.norms, strict=True)], axis=1
    )
    if isinstance(network.widen, torch.nn.Linear):
        x = linear(x, network.widen)
    return pool(network.pooling, x, weights)


def sentence_vectors(network, batch) -> Array:
    """Return the vectors of a SentenceNetwork by its docstring; its Transformer computes its own
    part.
    """
    rows = []
    common, context_common = (
        network.common.double().numpy(),
        network.context_common.double().numpy(),
    )
    projections = batch.projections.double().numpy()
    if batch.projections.dtype == torch.uint8:
        projections = 2 * projections - 1
    for row in range(len(batch.words)):
        parts = []
        n_words = int((batch.words[row] >= 0).sum())
        many = n_words / (n_words + 50)
        removed = n_words**2 / (n_words**2 + 35**2)
        weight = many if network.context_weight == "auto" else network.context_weight
        if network.spelling is not None:
            spelled = np.zeros(network.spelling.out_features)
            for word, word_weight in zip(
                batch.words[row].tolist(), batch.weights[row].tolist(), strict=True
            ):
                if word >= 0:
                    spelled += word_weight * linear(projections[word], network.spelling)
            spelled = normalize(spelled)
            for direction in common:
                spelled = spelled - (spelled @ direction) * direction
            parts.append(math.sqrt(1 - weight) * normalize(spelled))
        if network.transformer is not None:
            sentence = type(batch)(
                batch.projections, batch.words[row : row + 1], batch.weights[row : row + 1]
            )
            vector = network.transformer(sentence)[0].detach().double().numpy()
            for direction in context_common:
                vector = vector - removed * (vector @ direction) * direction
            parts.append(math.sqrt(weight) * normalize(vector))
        rows.append(normalize(np.concatenate(parts)))
    return np.array(rows)
