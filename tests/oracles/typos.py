"""Random typos of one text at a time."""

from collections.abc import Iterator

from sklearn_hashnlp.kernels.strings._typos import DELETION, INSERTION


def random_words(text: str, key: int) -> Iterator[tuple[int, int]]:
    """Yield the random stream of a text, halves of 64-bit words, with Python's integers."""
    gamma, limit = 0x9E3779B97F4A7C15, 2**64

    def mix(word: int) -> int:
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % limit
        word = (word ^ word >> 27) * 0x94D049BB133111EB % limit
        return word ^ word >> 31

    state = key
    for character in text:
        state = mix((state + gamma) % limit ^ ord(character))
    while True:
        state = (state + gamma) % limit
        yield divmod(mix(state), 2**32)


def distort(text: str, rate: float, kinds: list[int], key: int) -> str:
    """Return a text with typos, one character after the other."""
    stream = random_words(text, key)
    n_edits = min(int(rate * len(text) + next(stream)[0] / 2**32), len(text))
    before, rest = "", text
    while rest:
        here, rest = rest[0], rest[1:]
        if n_edits:
            high, low = next(stream)
            if high * (len(rest) + 1) // 2**32 < n_edits:
                n_edits -= 1
                kind = kinds[low * len(kinds) // 2**32]
                if kind == DELETION:
                    here = ""
                elif kind == INSERTION:
                    high, low = next(stream)
                    inserted = text[high * len(text) // 2**32]
                    here = here + inserted if low % 2 == 0 else inserted + here
                elif rest:
                    here, rest = rest[0] + here, rest[1:]
                elif before:
                    before, here = before[:-1], here + before[-1]
        before += here
    return before
