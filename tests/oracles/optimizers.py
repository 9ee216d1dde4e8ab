"""Steps of row-wise optimizers, one number at a time, in place."""

import math


def adagrad_rows(table, sums, rows, gradients, lr, eps) -> None:
    """Take a step of row-wise AdaGrad."""
    for row, gradient in zip(rows.tolist(), gradients.tolist(), strict=True):
        sums[row, 0] += sum(g * g for g in gradient) / len(gradient)
        for column, g in enumerate(gradient):
            table[row, column] -= lr * g / (math.sqrt(sums[row, 0]) + eps)


def adam_rows(table, means, squares, steps, rows, gradients, lr, beta_1, beta_2, eps) -> None:
    """Take a step of row-wise Adam."""
    for row, gradient in zip(rows.tolist(), gradients.tolist(), strict=True):
        steps[row, 0] += 1
        t = steps[row, 0]
        squares[row, 0] = beta_2 * squares[row, 0] + (1 - beta_2) * sum(
            g * g for g in gradient
        ) / len(gradient)
        for column, g in enumerate(gradient):
            means[row, column] = beta_1 * means[row, column] + (1 - beta_1) * g
            size = math.sqrt(squares[row, 0] / (1 - beta_2**t)) + eps
            table[row, column] -= lr * (means[row, column] / (1 - beta_1**t)) / size


def sgd_rows(table, steps, rows, gradients, lr) -> None:
    """Take a step of stochastic gradient descent, and count the steps of each row."""
    for row, gradient in zip(rows.tolist(), gradients.tolist(), strict=True):
        steps[row, 0] += 1
        for column, g in enumerate(gradient):
            table[row, column] -= lr * g
