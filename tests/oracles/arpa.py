"""A slow reader of ARPA files, from the definition of the format: dicts of tuples of words."""

Ngram = tuple[str, ...]


class Arpa:
    """log10 P(w | h) is the entry of h w or, without one, the backoff weight of h (or 0) plus log10
    P(w | h[1:]).
    """

    def __init__(self, text: str) -> None:
        self.log_probs: dict[Ngram, float] = {}
        self.backoffs: dict[Ngram, float] = {}
        n = 0
        for line in text[text.index("\\data\\") :].splitlines():
            if line.endswith("-grams:"):
                n = int(line[1:].split("-")[0])
            elif n and line and not line.startswith("\\"):
                fields = line.split()
                ngram = tuple(fields[1 : n + 1])
                self.log_probs[ngram] = float(fields[0])
                if len(fields) > n + 1:
                    self.backoffs[ngram] = float(fields[n + 1])

    def log_prob(self, context: Ngram, word: str) -> float:
        """Return the decimal logarithm of the probability of a known word after a context."""
        if (*context, word) in self.log_probs:
            return self.log_probs[*context, word]
        return self.backoffs.get(context, 0.0) + self.log_prob(context[1:], word)

    def score(self, sentence: list[str], order: int) -> float:
        """Return the decimal logarithm of the probability of a sentence of known words and of its
        end.
        """
        words = ["<s>", *sentence, "</s>"]
        return sum(
            self.log_prob(tuple(words[max(end - order + 1, 0) : end]), words[end])
            for end in range(1, len(words))
        )
