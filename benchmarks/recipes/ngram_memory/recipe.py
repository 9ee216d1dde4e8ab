"""The recipes ``ngram-memory-bytes`` and ``ngram-memory-words``: a transformer's hashed n-grams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from benchmarks.recipes.ngram_memory.report import plot, report
from benchmarks.recipes.texts import find_text
from benchmarks.runner.recipe import Recipe, Result, Run
from benchmarks.runner.settings import STDLIB, setting

_DESCRIPTION = """\
A causal transformer of three blocks and 256 columns (2.4 million parameters without its embedding)
is trained on Wikipedia for the same processor time of one thread: without a memory of n-grams, with
one, and with as many dense parameters instead; then one thing is changed at a time. Bits per byte
of unseen articles: of the validation text, on which learning rates were chosen, and of the test
text.

With --set device=cuda, the time is that of a GPU, where larger batches use it fully:
--set seconds=10 --set batch=128.

It needs paragraphs.txt: pass its folder by --set data=FOLDER, or name it wikipedia/ in the folder
that the environment variable HASHNLP_DATA names. Five minutes per variant and seed; run it with
--seeds 3 --processes 2, and the comparison of plain, hash and dense once more with
--set seconds=900 --set variants=plain,hash,dense and one process."""

_VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {"memory": "none"},
    "hash": {},
    # About as many parameters as "hash"
    "dense": {"memory": "none", "dim": 640, "n_blocks": 5, "learning_rate": 3e-3},
    "dictionary": {"memory": "dictionary"},
    "2**20 rows": {"rows": 2**20},
    "2**14 rows": {"rows": 2**14},
    "2**11 rows": {"rows": 2**11},
    "after block 1": {"place": 1},
    "after block 1 with gate": {"place": 1, "gate": True},
    "after block 1 with gate and convolution": {"place": 1, "gate": True, "convolution": True},
    "2**11 rows and signs": {"rows": 2**11, "signs": True},
    "4 heads": {"heads": 4, "rows": 2**15},
    "importance": {"hashes": 2, "importance": True, "table_lr": 0.3},
    "full state": {"full_state": True, "table_lr": 0.1},
    "xor with powers of two": {"scheme": "multiplicative_xor"},
    "xor with primes": {"scheme": "multiplicative_xor", "primes": True},
}
"""The variants: what differs from ``hash``, which has 2**17 rows of 64 columns for each order."""

VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "bytes": {name: {"orders": (2, 3, 4)} | changes for name, changes in _VARIANTS.items()}
    | {"orders 2 to 6": {"orders": (2, 3, 4, 5, 6)}},
    "words": {
        name: {"orders": (2, 3)} | _VARIANTS[name]
        for name in ("plain", "hash", "dense", "dictionary", "2**20 rows", "2**14 rows")
    }
    | {"dense": {"memory": "none", "dim": 640, "n_blocks": 3, "learning_rate": 3e-3}},
}


@dataclass(frozen=True)
class NgramMemorySettings:
    """Settings of the experiment; the metadata of each field describe it."""

    unit: Literal["bytes", "words"] = setting("bytes", "bytes or words")
    data: str = setting(
        "",
        "folder with paragraphs.txt; empty: wikipedia in the folder HASHNLP_DATA",
        recorded=False,
    )
    variants: tuple[str, ...] = setting((), "names of variants; none: all")
    device: Literal["cpu", "cuda"] = setting("cpu", "cpu: one thread; cuda: a GPU")
    seconds: int = setting(300, "seconds of training, of the thread or the GPU")
    batch: int = setting(4, "sequences per step")
    context: int = setting(128, "tokens of a sequence")
    learning_rate: float = setting(
        0.0, "learning rate of AdamW for a network of 256 columns; 0: that of the variant"
    )
    table_lr: float = setting(0.0, "learning rate of the tables; 0: that of the variant")
    vocabulary_size: int = setting(8192, "words; others are one unknown word")
    n_eval: int = setting(2**17, "tokens of the validation and of the test text")
    n_characters: int = setting(0, "characters of the text; 0: all")


def variants_of(settings: NgramMemorySettings) -> list[str]:
    """Return the names of the variants of a run."""
    names = settings.variants or VARIANTS[settings.unit]
    # The dictionary is searched in numpy, on the CPU only.
    return [name for name in names if settings.device == "cpu" or name != "dictionary"]


def _n_results(settings: NgramMemorySettings) -> int:
    return len(variants_of(settings))


def _run(settings: NgramMemorySettings, run: Run) -> Iterator[Result]:
    import torch

    from benchmarks.recipes.ngram_memory.networks import Variant
    from benchmarks.recipes.ngram_memory.training import Budget, read_corpus, train_variant

    needed = f"ngram-memory-{settings.unit} needs a folder with paragraphs.txt, a text"
    folder = find_text(settings.data, "wikipedia", needed, run.folder)
    corpus = read_corpus(
        folder / "paragraphs.txt", settings.unit, settings.vocabulary_size, settings.n_characters
    )
    budget = Budget(
        settings.seconds, settings.batch, settings.context, settings.n_eval, settings.device
    )
    where = {} if settings.device == "cpu" else {"gpu": torch.cuda.get_device_name()}
    rates = {
        name: rate for name in ("learning_rate", "table_lr") if (rate := getattr(settings, name))
    }
    names = variants_of(settings)
    for index, name in enumerate(names[len(run.previous) :], len(run.previous)):
        run.log(f"{settings.unit}: {name}")
        variant = Variant(**VARIANTS[settings.unit][name] | rates)

        def progress(share: float, done: int = index) -> None:
            run.progress(round(1000 * (done + share)), 1000 * len(names))

        measured = train_variant(
            variant, corpus, budget, seed=run.seed, log=run.log, progress=progress
        )
        yield {
            "part": "test",
            "unit": settings.unit,
            "variant": name,
            "unknown": corpus.unknown,
            **where,
            **measured,
        }


def _recipe(unit: Literal["bytes", "words"]) -> Recipe:
    settings = NgramMemorySettings(unit=unit)
    return Recipe(
        name=f"ngram-memory-{unit}",
        summary=(
            f"A small transformer on {unit} with and without hashed n-grams, at equal processor "
            "time"
        ),
        description=_DESCRIPTION,
        settings=settings,
        quick=replace(
            settings,
            data=STDLIB,
            seconds=1,
            n_eval=2048,
            n_characters=200_000,
            variants=("plain", "hash"),
        ),
        run=_run,
        n_results=_n_results,
        report=report,
        plot=plot,
        packages=("sklearn-hashnlp", "numpy", "torch"),
    )


NGRAM_MEMORY: Sequence[Recipe] = (_recipe("bytes"), _recipe("words"))
