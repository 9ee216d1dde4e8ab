"""Layers of integers, one row and one number at a time."""

from fractions import Fraction

from sklearn_hashnlp.classifiers.sgnn._integer_layers import MAX_ACTIVATION, ONE


def integer_scores_of_row(layers, row) -> list[float]:
    """Return the scores of a row by the definition, in Python's integers, which have no largest
    one.
    """
    numbers = [round(Fraction(float(x)) * ONE) for x in row]
    for place, layer in enumerate(layers):
        sums = [
            int(bias) + sum(int(w) * q for w, q in zip(weights, numbers, strict=True))
            for weights, bias in zip(layer.weight, layer.bias, strict=True)
        ]
        assert all(abs(value) < 2**53 for value in sums)
        if place == len(layers) - 1:
            return [
                float(value) * float(scale) for value, scale in zip(sums, layer.scale, strict=True)
            ]
        products = [
            value * int(factor) for value, factor in zip(sums, layer.multiplier, strict=True)
        ]
        assert all(abs(value) + 2 ** (layer.shift - 1) < 2**63 for value in products)
        numbers = [max(0, (value + 2 ** (layer.shift - 1)) >> layer.shift) for value in products]
        assert all(value <= MAX_ACTIVATION for value in numbers)
    raise AssertionError
