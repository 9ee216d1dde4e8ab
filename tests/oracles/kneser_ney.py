"""Slow truths about Kneser-Ney smoothing: dicts of tuples of words, and the recursion as it is
defined.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

Ngram = tuple[str, ...]


class KneserNey:
    """Interpolated modified Kneser-Ney over lists of words, all of them in the vocabulary."""

    def __init__(
        self,
        sentences: list[list[str]],
        *,
        order: int,
        words: set[str],
        discounts: Sequence[Sequence[float]],
        min_counts: Sequence[int],
    ) -> None:
        self.words = words - {"<s>"} | {"</s>", "<unk>"}
        self.discounts = discounts
        self.occurrences = Counter(
            ngram for sentence in sentences for ngram in ngrams_of(sentence, order)
        )
        self.kept = {
            ngram
            for ngram, count in self.occurrences.items()
            if count >= min_counts[len(ngram) - 1]
        }
        self.counts = adjusted_counts(self.occurrences, order)
        self.followers: defaultdict[Ngram, dict[str, int]] = defaultdict(dict)
        for ngram, count in self.counts.items():
            self.followers[ngram[:-1]][ngram[-1]] = count

    def prob(self, context: Ngram, word: str) -> float:
        """Return the probability of a word after a context of at most ``order - 1`` words."""
        counts = self.followers.get(context, {})
        lower = self.prob(context[1:], word) if context else 1 / len(self.words)
        if not counts:
            return lower
        total = sum(counts.values())
        own, left = 0.0, 0.0
        for follower, count in counts.items():
            kept = not context or (*context, follower) in self.kept
            discount = self.discounts[len(context)][min(count, 3) - 1] if kept else count
            left += discount
            if follower == word:
                own = count - discount
        return own / total + left / total * lower


def ngrams_of(sentence: list[str], order: int) -> Iterator[Ngram]:
    """Yield all n-grams up to an order that end in a word or ``</s>``, with one ``<s>`` before the
    sentence.
    """
    words = ["<s>", *sentence, "</s>"]
    for end in range(2, len(words) + 1):
        for begin in range(max(end - order, 0), end):
            yield tuple(words[begin:end])


def adjusted_counts(occurrences: Counter[Ngram], order: int) -> dict[Ngram, int]:
    """Return the number of distinct words before each n-gram, or occurrences: of the longest, and
    behind ``<s>``.
    """
    before = Counter(ngram[1:] for ngram in occurrences)
    return {
        ngram: count if len(ngram) == order or ngram[0] == "<s>" else before[ngram]
        for ngram, count in occurrences.items()
    }


def discounts(counts: dict[Ngram, int], n: int) -> tuple[float, float, float]:
    """Return the discounts of the n-grams of one order by the formula of Chen and Goodman, with its
    fallbacks.
    """
    n1, n2, n3, n4 = (
        sum(len(ngram) == n and c == k for ngram, c in counts.items()) for k in (1, 2, 3, 4)
    )
    if not n1 or not n2:
        return 0.5, 1.0, 1.5
    y = n1 / (n1 + 2 * n2)
    found = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3 if n3 else 0.0)
    return found if n3 and n4 and min(found) > 0 else (y, y, y)
