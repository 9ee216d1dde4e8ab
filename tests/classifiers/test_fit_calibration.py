"""The inverse temperature a and the length h of :func:`fit_calibration`, against plain formulas and
drawn labels.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit, softmax
from sklearn.metrics import log_loss

from sklearn_hashnlp.classifiers._calibration import (
    Calibration,
    Numbers,
    Scored,
    fit_calibration,
    least_cross_entropy,
)
from sklearn_hashnlp.classifiers._losses import Loss, LossName, make_loss
from tests.trainings import assert_near

NO_COUNTS = np.zeros(0)


def fitted(
    loss: Loss, scored: Scored, counts: NDArray[np.float64] = NO_COUNTS, **options: Any
) -> Numbers:
    """Return a and h; without counts of the classes they are uniform."""
    uniform = np.append(np.ones(scored.scores.shape[1]), scored.scores.shape[1])
    calibration = Calibration(counts if len(counts) else uniform, 1)
    fit_calibration(loss, calibration, scored, **options)
    return Numbers(loss.inverse_temperature, calibration.half)


def whole_rows(
    scores: NDArray[np.float64], targets: NDArray[Any], weights: NDArray[np.float64] | None = None
) -> Scored:
    n_rows = len(scores)
    weights = np.ones(n_rows) if weights is None else weights
    return Scored(targets, weights, scores, np.full(n_rows, np.inf), np.zeros(n_rows, dtype=bool))


class Example(NamedTuple):
    """Rows, half of them crops, with labels that were drawn from probabilities, and the shares of
    the labels.
    """

    loss: Loss
    scored: Scored
    counts: NDArray[np.float64]

    @classmethod
    def drawn(
        cls,
        name: LossName,
        a: float,
        h: float,
        *,
        n_rows: int = 40,
        n_classes: int = 3,
        multilabel: bool = False,
        seed: int = 0,
    ) -> Example:
        rng = np.random.default_rng(seed)
        scores = rng.normal(0, 2, (n_rows, n_classes))
        is_crop = np.arange(n_rows) >= n_rows // 2
        lengths = np.where(is_crop, 0.4, 1.0) * rng.lognormal(0, 0.5, n_rows)
        lengths[-1] = 0.0  # an empty crop
        shares = np.linspace(1, 2, n_classes) / (
            n_classes if multilabel else np.linspace(1, 2, n_classes).sum()
        )
        counts = 1000 * np.append(shares * (0.4 if multilabel else 1), 1)
        probabilities = np.exp(
            log_probabilities(name, multilabel, Numbers(a, h), scores, lengths, counts)[0]
        )
        if multilabel:
            targets = (rng.random((n_rows, n_classes)) < probabilities).astype(np.int64)
        else:
            targets = (
                (probabilities.cumsum(axis=1) < rng.random((n_rows, 1)))
                .sum(axis=1)
                .clip(max=n_classes - 1)
            )
        loss = make_loss(name, multilabel=multilabel)
        return cls(
            loss, Scored(targets, rng.random(n_rows) + 0.5, scores, lengths, is_crop), counts
        )


def log_probabilities(
    name: LossName,
    multilabel: bool,
    numbers: Numbers,
    scores: NDArray[np.float64],
    lengths: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the logarithms of the probabilities of each label, and of not having it, by the
    formulas.
    """
    a, h = numbers
    shares = (counts[:-1] + 1 / len(counts)) / (counts[-1] + 1)
    g = np.array(
        [1.0 if e == np.inf else 0.0 if e == 0 else 1 / (1 + (h / e) ** 3) for e in lengths]
    )[:, np.newaxis]
    if multilabel:
        logits = a * (g * scores + (1 - g) * logit(shares) / a)
        return log_expit(logits), log_expit(-logits)
    # each label has its sigmoid to the power of a; for a length of zero these are the shares
    if name == "ova":
        logits = a * log_expit(g * scores + (1 - g) * logit(shares ** (1 / a)))
    else:
        logits = a * g * scores + (1 - g) * np.log(shares)
    own = np.log(softmax(logits, axis=1))
    return own, np.zeros_like(own)


def objective(
    numbers: Numbers,
    example: Example,
    *,
    n_uniform: int = 1,
    earlier: Numbers | None = None,
    n_earlier: int = 0,
) -> float:
    """Return the mean cross-entropy of the smoothed labels, and the penalty on h."""
    (loss, (targets, row_weights, scores, lengths, is_crop), counts), n_rows = (
        example,
        len(example.scored.scores),
    )
    n_classes = scores.shape[1]
    has_label = np.eye(n_classes)[targets] if targets.ndim == 1 else targets.astype(float)
    if loss.multilabel:  # n_uniform further decisions, half of them for the label
        n_decisions = n_classes * (n_rows + n_earlier)
        aim = (n_decisions * has_label + n_uniform / 2) / (n_decisions + n_uniform)
    else:  # n_uniform further rows, of uniform labels
        aim = ((n_rows + n_earlier) * has_label + n_uniform / n_classes) / (
            n_rows + n_earlier + n_uniform
        )
    if earlier is not None:  # the labels of n_earlier further rows are drawn by the earlier numbers
        before = np.exp(
            log_probabilities(loss.name, loss.multilabel, earlier, scores, lengths, counts)[0]
        )
        n_whole = np.count_nonzero(~is_crop)
        aim = (n_whole * aim + n_earlier * before) / (n_whole + n_earlier)
    weights = row_weights.copy()
    if is_crop.any():  # all crops weigh a ninth of all whole rows
        weights[is_crop] *= weights[~is_crop].sum() / weights[is_crop].sum() / 9
    weights /= weights.sum()
    own, other = log_probabilities(loss.name, loss.multilabel, numbers, scores, lengths, counts)
    entropy = -float((weights[:, np.newaxis] * (aim * own + (1 - aim) * other)).sum())
    if earlier is not None or not is_crop.any():
        return entropy
    median = np.median(lengths[~is_crop])  # 40 imagined rows: the logarithm of h is normal
    return entropy + 40 / 2 * (np.log(numbers.half / median) + 1.5) ** 2 / np.count_nonzero(
        ~is_crop
    )


def brute_force(example: Example, **options: Any) -> tuple[Numbers, float]:
    """Return the best of a grid, improved, and its objective; with earlier numbers no step is over
    the limit.
    """
    lengths, is_crop = example.scored.lengths, example.scored.is_crop
    limits, center = np.log([1e3, 1e3]), np.array([0.0, np.log(np.median(lengths[~is_crop]))])

    def value(point: NDArray[np.float64]) -> float:
        return objective(Numbers(*np.exp(point)), example, **options)

    grid = [center + limits * part for part in product(np.linspace(-0.5, 0.5, 15), repeat=2)]
    best = minimize(
        value, min(grid, key=value), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-10}
    )
    return Numbers(*np.exp(best.x)), float(best.fun)


@pytest.mark.parametrize(
    ("name", "multilabel"),
    [("softmax", False), ("hinge", False), ("ova", False), ("ova", True)],
    ids=str,
)
@pytest.mark.parametrize(
    "options", [{}, {"n_uniform": 4}, {"earlier": Numbers(1.5, 0.3), "n_earlier": 25}], ids=str
)
def test_both_numbers_are_the_best_of_plain_formulas(name, multilabel, options):
    for seed in range(2):
        example = Example.drawn(name, 0.7, 0.4, multilabel=multilabel, seed=seed)
        found = fitted(example.loss, example.scored, example.counts, **options)
        expected, smallest = brute_force(example, **options)
        assert objective(found, example, **options) < smallest + 1e-5
        assert_near(np.log(found), np.log(expected), atol=0.03)


@pytest.mark.parametrize("name", ["softmax", "hinge", "ova"])
@pytest.mark.parametrize(("a", "h"), [(0.3, 0.3), (1.0, 0.8), (2.0, 0.2)])
def test_numbers_that_drew_the_labels_are_found(name, a, h):
    example = Example.drawn(name, a, h, n_rows=10_000)
    assert fitted(example.loss, example.scored, example.counts) == pytest.approx((a, h), rel=0.15)


def test_numbers_that_drew_several_labels_are_found():
    example = Example.drawn("ova", 0.5, 0.4, n_rows=20_000, multilabel=True)
    assert fitted(example.loss, example.scored, example.counts) == pytest.approx(
        (0.5, 0.4), rel=0.15
    )


@pytest.mark.parametrize("inverse_temperature", [0.3, 1.0, 8.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_without_crops_only_the_inverse_temperature_is_fitted(inverse_temperature, n_classes):
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 1, (20_000, n_classes))
    targets = (
        softmax(inverse_temperature * scores, axis=1).cumsum(axis=1) < rng.random((20_000, 1))
    ).sum(axis=1)
    assert fitted(make_loss("softmax"), whole_rows(scores, targets)) == (
        pytest.approx(inverse_temperature, rel=0.05),
        0,
    )


def test_weights_of_zero_are_equal_ones_and_others_count():
    rng = np.random.default_rng(0)
    scores, targets = rng.normal(0, 2, (300, 3)), rng.integers(0, 3, 300)
    targets[:150] = scores[:150].argmax(axis=1)
    plain, none, first = (
        fitted(make_loss("softmax"), whole_rows(scores, targets)._replace(row_weights=weights))
        for weights in (np.ones(300), np.zeros(300), (np.arange(300) < 150).astype(float))
    )
    assert plain == none
    assert first.inverse_temperature > 3 * plain.inverse_temperature


@pytest.mark.parametrize("n_uniform", [1, 3])
def test_scores_that_tell_all_rows_right_have_a_finite_inverse_temperature(n_uniform):
    scores, targets = np.repeat(np.eye(3), 100, axis=0), np.repeat(np.arange(3), 100)
    found = fitted(make_loss("softmax"), whole_rows(scores, targets), n_uniform=n_uniform)
    odds = (300 + n_uniform / 3) / (n_uniform / 3)  # of the row's class against another
    assert found.inverse_temperature == pytest.approx(np.log(odds), rel=0.01)
    indicators = np.eye(3, dtype=np.int64)[targets]
    several = fitted(
        make_loss("ova", multilabel=True),
        whole_rows(2 * scores - 1, indicators),
        n_uniform=n_uniform,
    )
    odds = (900 + n_uniform / 2) / (n_uniform / 2)
    assert several.inverse_temperature == pytest.approx(np.log(odds), rel=0.01)


def test_probabilities_of_zero_and_one_are_labels():
    scores, targets = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50) % 5 % 2
    soft, hard = (
        fitted(make_loss(name), whole_rows(scores, labels))
        for name, labels in (("soft_softmax", np.eye(2)[targets]), ("softmax", targets))
    )
    assert soft == pytest.approx(hard)


@pytest.mark.parametrize("multilabel", [False, True])
def test_fitting_row_by_row_converges_to_the_fit_of_all_rows(multilabel):
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 1, (500, 3))
    if multilabel:
        targets = (rng.random((500, 3)) < expit(3 * scores)).astype(np.int64)
    else:
        targets = (softmax(3 * scores, axis=1).cumsum(axis=1) < rng.random((500, 1))).sum(axis=1)
    rows, loss = (
        whole_rows(scores, targets),
        make_loss("ova" if multilabel else "softmax", multilabel=multilabel),
    )
    found = fitted(loss, rows.select(slice(50)))
    for row in range(50, 500):
        found = fitted(loss, rows.select(slice(row, row + 1)), earlier=found, n_earlier=row)
    whole = fitted(make_loss(loss.name, multilabel=multilabel), rows)
    assert found.inverse_temperature == pytest.approx(whole.inverse_temperature, rel=0.1)


def test_fitting_part_by_part_converges_to_the_fit_of_all_rows():
    example = Example.drawn("softmax", 0.5, 0.3, n_rows=8000)
    order = np.random.default_rng(0).permutation(8000)
    found = None
    n_rows = 0
    for part in np.split(order, 40):
        found = fitted(
            example.loss,
            example.scored.select(part),
            example.counts,
            earlier=found,
            n_earlier=n_rows,
        )
        n_rows += len(part)
    assert found == pytest.approx((0.5, 0.3), rel=0.2)


def test_a_row_moves_the_numbers_of_many_a_little():
    scores = np.array([[5.0, -5.0]])
    for target in (0, 1):
        found = fitted(
            make_loss("softmax"),
            whole_rows(scores, np.array([target])),
            earlier=Numbers(2.0, 0.0),
            n_earlier=400,
        )
        assert abs(np.log(found.inverse_temperature / 2)) <= np.log(1e3) / 401 + 1e-12


def test_a_temperature_that_is_kept():
    example = Example.drawn("softmax", 3.0, 0.4, n_rows=1000)
    example.loss.inverse_temperature = 0.5
    a, h = fitted(example.loss, example.scored, example.counts, keeps_temperature=True)
    assert a == pytest.approx(0.5)
    assert h > 0
    grid = np.median(example.scored.lengths[:500]) * np.exp(np.linspace(-3, 3, 601))
    assert_near(
        np.log(h),
        np.log(min(grid, key=lambda one: objective(Numbers(0.5, one), example))),
        atol=0.03,
    )
    rows = example.scored.select(slice(500))
    # without crops there is no h
    assert fitted(example.loss, rows, example.counts, keeps_temperature=True) == (a, 0)


def test_h_is_lower_where_it_would_cost_labels_of_whole_rows():
    """Crops of wrong labels ask for a large h, and whole rows of a rare class, which are short, for
    a small one.
    """
    rng = np.random.default_rng(0)
    n_rows = 600
    targets = np.repeat([0, 1, 0], [540, 60, n_rows])
    scores = np.eye(2)[targets] * 0.5 + rng.normal(0, 0.05, (2 * n_rows, 2))
    scores[n_rows:] = scores[n_rows:, ::-1] * 20  # of crops: of the other class
    lengths = np.repeat([1.0, 0.3, 0.3], [540, 60, n_rows])
    scored = Scored(targets, np.ones(2 * n_rows), scores, lengths, np.arange(2 * n_rows) >= n_rows)
    counts = np.array([540.0, 60.0, 600.0])
    found = fitted(make_loss("softmax"), scored, counts)

    def labels(numbers: Numbers) -> NDArray[np.int64]:
        own = log_probabilities(
            "softmax", False, numbers, scores[:n_rows], lengths[:n_rows], counts
        )[0]
        return np.asarray(own.argmax(axis=1))

    best, _ = brute_force(Example(make_loss("softmax"), scored, counts))
    assert np.count_nonzero(labels(best) != targets[:n_rows]) > 30
    assert found.half < best.half
    # two of two are no significant difference
    assert np.count_nonzero(labels(found) != targets[:n_rows]) <= 2


def test_the_least_cross_entropy_is_of_the_best_temperature():
    rng = np.random.default_rng(0)
    targets, weights = rng.integers(0, 3, 200), rng.random(200)
    scores = rng.normal(size=(200, 3)) + np.eye(3)[targets]
    losses = [
        log_loss(targets, softmax(scores / temperature, axis=1), sample_weight=weights)
        for temperature in np.geomspace(0.01, 100, 2000)
    ]
    found = least_cross_entropy(scores, targets, weights)
    assert found == pytest.approx(min(losses), abs=1e-4)
    assert found < 0.9 * losses[-1]
