"""The recipes ``reversal`` and ``reversal-sgd``: string reversal by full softmax or random tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from benchmarks.recipes.reversal.settings import ReversalSettings
from benchmarks.runner.recipe import Log, Progress, Recipe, Result, Run
from benchmarks.runner.settings import same_settings
from benchmarks.runner.table import Table, tables_by_settings, without_column

_DESCRIPTION = """\
A sequence-to-sequence network with additive attention reverses strings of 1 to 4 symbols out of
1,000, once with a full softmax over the symbols and once with a hierarchical softmax over a random
binary tree. The reference implementation is Baumel's notebook "Scaling-Up Neural Networks"
(https://github.com/talbaumel/RNN_tutorial), with the same sizes.

fixed strings: 20 epochs on 3,000 strings, one epoch of each output layer in turn; training time,
and the loss on 50 validation strings, summed over all their symbols as in the reference.
fresh strings: each epoch has 3,000 new strings, until 98 % of 1,000 validation strings are reversed
exactly; then exact match on 1,000 test strings. Strings are generated greedily by argmax, or by
exact search in the tree.

embeddings=tree tests why the tree learns more slowly: symbols below a node of the tree then have a
part of their initial embeddings in common. With other_tree the parts are those of another tree.

Differences: batches of 16 strings instead of single ones, Adam instead of gradient descent, torch's
LSTM, one thread. About three minutes on one core. reversal-sgd trains as the reference does."""

_SGD_DESCRIPTION = """\
The experiment reversal in the form of the reference implementation: one string at a time,
stochastic gradient descent with learning rate 0.1 on the loss summed over the symbols of a string,
gradients clipped to a norm of 5, initial weights as in the library of the reference, and 20 epochs
on 3,000 fixed strings, one epoch of each output layer in turn. Each epoch has its own random order.

Difference: torch's LSTM, which has no peephole connections. About a quarter of an hour for each
seed on one core."""

# Printed by the reference for 20 epochs of single strings, on its machine.
_REFERENCE = {
    "softmax": {"seconds": 513.3, "valid_loss": 3.177},
    "hsigmoid": {"seconds": 448.2, "valid_loss": 1.706},
}


_SIZES = (  # of the reference; its figures are printed only next to runs of these sizes
    "arity",
    "n_symbols",
    "max_length",
    "n_train",
    "n_validation",
    "epochs",
    "embedding_dim",
    "encoder_size",
    "decoder_size",
    "encoder_layers",
    "decoder_layers",
    "embeddings",
)


_QUICK = ReversalSettings(
    n_symbols=20,
    n_train=60,
    n_validation=10,
    n_test=20,
    epochs=2,
    max_epochs=2,
    embedding_dim=8,
    encoder_size=12,
    decoder_size=12,
    layer_repeats=5,
)


def _run(settings: ReversalSettings, run: Run) -> Iterator[Result]:
    # The networks are trained in turns, so an interrupted run starts again; its previous results
    # are repeated.
    return islice(_run_whole(settings, run), len(run.previous), None)


def _run_whole(settings: ReversalSettings, run: Run) -> Iterator[Result]:
    yield from _run_fixed(settings, run.seed, run.log, run.progress)
    if settings.max_epochs:
        yield from _run_fresh(settings, run.seed, run.log, run.progress)
    yield _run_layers(settings, run.seed)


def _n_results(settings: ReversalSettings) -> int:
    if settings.epochs < 1 or settings.max_epochs < 0:
        raise ValueError(
            "epochs must be 1 or more, and max_epochs 0 or more, "
            f"got epochs={settings.epochs}, max_epochs={settings.max_epochs}."
        )
    return (2 if settings.max_epochs else 1) * len(settings.outputs) + 1


def _run_fixed(
    settings: ReversalSettings, seed: int, log: Log, progress: Progress
) -> Iterator[Result]:
    """Train all networks in turns, so that other load on the machine affects each alike."""
    from benchmarks.recipes.reversal.training import Purpose, Trainer, draw_strings, generator_for

    shape = (settings.n_symbols, settings.max_length)
    train = draw_strings(settings.n_train, *shape, generator=generator_for(seed, Purpose.fixed))
    validation = draw_strings(
        settings.n_validation, *shape, generator=generator_for(seed, Purpose.validation)
    )
    trainers = {output: Trainer(output, settings, seed) for output in settings.outputs}
    for trainer in trainers.values():
        trainer.warm_up(*train)
    seconds: dict[str, list[float]] = {output: [] for output in trainers}
    losses: dict[str, list[float]] = {output: [] for output in trainers}
    total = len(trainers) * (settings.epochs + settings.max_epochs)
    for epoch in range(1, settings.epochs + 1):
        for output, trainer in trainers.items():
            seconds[output].append(trainer.train_epoch(*train))
            losses[output].append(trainer.loss(*validation))
            _log_epoch(
                log,
                f"fixed strings, {output}",
                epoch,
                settings.epochs,
                f"loss {losses[output][-1]:.2f}",
            )
        progress(len(trainers) * epoch, total)
    for output, trainer in trainers.items():
        yield {
            "part": "fixed strings",
            "output": output,
            "epochs": settings.epochs,
            "seconds": round(sum(seconds[output]), 3),
            "valid_loss": losses[output][-1],
            "valid_exact_match": trainer.exact_match(*validation)[0],
            "seconds_per_epoch": [round(value, 4) for value in seconds[output]],
            "valid_loss_per_epoch": losses[output],
        }


def _run_fresh(
    settings: ReversalSettings, seed: int, log: Log, progress: Progress
) -> Iterator[Result]:
    """Train each network on new strings until it reverses the validation strings."""
    from benchmarks.recipes.reversal.training import Purpose, Trainer, draw_strings, generator_for

    shape = (settings.n_symbols, settings.max_length)
    validation = draw_strings(
        settings.n_test, *shape, generator=generator_for(seed, Purpose.exact_match)
    )
    test = draw_strings(settings.n_test, *shape, generator=generator_for(seed, Purpose.test))
    before = len(settings.outputs) * settings.epochs
    total = before + len(settings.outputs) * settings.max_epochs
    for index, output in enumerate(settings.outputs):
        trainer = Trainer(output, settings, seed)
        seconds, matches = 0.0, [0.0]
        while matches[-1] < settings.stop_at and trainer.epochs < settings.max_epochs:
            generator = generator_for(seed, Purpose.fresh, trainer.epochs)
            seconds += trainer.train_epoch(
                *draw_strings(settings.n_train, *shape, generator=generator)
            )
            matches.append(trainer.exact_match(*validation)[0])
            score = f"exact match {matches[-1]:.3f}"
            _log_epoch(log, f"fresh strings, {output}", trainer.epochs, settings.max_epochs, score)
            progress(before + index * settings.max_epochs + trainer.epochs, total)
        exact_match, generating = trainer.exact_match(*test)
        yield {
            "part": "fresh strings",
            "output": output,
            "epochs": trainer.epochs,
            "seconds": round(seconds, 3),
            "exact_match": exact_match,
            "seconds_generating": round(generating, 4),
            "exact_match_per_epoch": matches[1:],
        }
    progress(total, total)


def _run_layers(settings: ReversalSettings, seed: int) -> Result:
    """Time the output layers alone, on the average number of rows of a training step."""
    from benchmarks.recipes.reversal.training import make_output, time_layers

    n_classes = settings.n_symbols + 1
    rows = max(round(settings.batch_size * ((1 + settings.max_length) / 2 + 1)), 1)
    layers = {
        output: make_output(output, settings.decoder_size, n_classes, seed, arity=settings.arity)
        for output in settings.outputs
    }
    times = time_layers(
        layers,
        in_features=settings.decoder_size,
        n_classes=n_classes,
        rows=rows,
        repeats=settings.layer_repeats,
    )
    return {"part": "output layer alone", "rows": rows, "seconds_per_step": times}


def _log_epoch(log: Log, name: str, epoch: int, total: int, score: str) -> None:
    if epoch % 5 == 0 or epoch in (1, total):
        log(f"{name}: epoch {epoch} of {total}, {score}")


def _report(results: Sequence[Result]) -> list[Table]:
    return tables_by_settings(results, _tables)


def _tables(results: Sequence[Result]) -> list[Table]:
    def rows(part: str, last: Callable[[Result], list[str]]) -> list[list[str]]:
        return [
            [
                result["output"],
                str(result["seed"]),
                str(result["epochs"]),
                f"{result['seconds']:.1f}",
                *last(result),
            ]
            for result in _of_part(results, part)
        ]

    def losses(result: Result) -> list[str]:
        known = _REFERENCE[result["output"]]
        return [
            f"{result['valid_loss']:.2f}",
            f"{known['seconds']:.0f} s, {known['valid_loss']:.2f}",
        ]

    fixed = rows("fixed strings", losses)
    fresh = rows(
        "fresh strings",
        lambda row: [f"{row['exact_match']:.1%}", f"{row['seconds_generating']:.3f} s"],
    )
    ratios = [
        [what, str(seed), f"{ratio:.2f}"]
        for seed in dict.fromkeys(result["seed"] for result in results)
        for what, ratio in _speed_ratios(
            [result for result in results if result["seed"] == seed]
        ).items()
    ]
    reference = _REFERENCE["softmax"]["seconds"] / _REFERENCE["hsigmoid"]["seconds"]
    header = ["output", "seed", "epochs", "seconds"]
    tables = [
        Table("Fixed strings", [*header, "validation loss", "reference"], fixed),
        Table("Fresh strings", [*header, "exact match", "generation time"], fresh),
        Table(
            "Speed ratio, full softmax / tree",
            ["measured", "seed", "ratio"],
            ratios,
            [f"Reference, training: {reference:.2f}"],
        ),
    ]
    if not same_settings(results[0]["settings"], REVERSAL.settings, _SIZES):
        tables[0] = without_column(tables[0], "reference")
        tables[2] = tables[2]._replace(notes=[])
    return [table for table in tables if table.rows]


def _speed_ratios(results: Sequence[Result]) -> dict[str, float]:
    """Return the ratio of the times of softmax and tree, where both were measured."""
    times: dict[str, dict[str, float]] = {}
    for result in _of_part(results, "fixed strings"):
        times.setdefault("training, fixed strings", {})[result["output"]] = result["seconds"]
    for result in _of_part(results, "output layer alone"):
        times["output layer alone, training"] = result["seconds_per_step"]
    for result in _of_part(results, "fresh strings"):
        times.setdefault("generating", {})[result["output"]] = result["seconds_generating"]
    return {
        what: both["softmax"] / both["hsigmoid"] for what, both in times.items() if len(both) == 2
    }


def _of_part(results: Sequence[Result], part: str) -> list[Result]:
    return [result for result in results if result["part"] == part]


REVERSAL = Recipe(
    name="reversal",
    summary="Strings reversed by a sequence-to-sequence network: full softmax vs. a random tree",
    description=_DESCRIPTION,
    settings=ReversalSettings(),
    quick=_QUICK,
    run=_run,
    n_results=_n_results,
    report=_report,
)


def _as_in_the_reference(settings: ReversalSettings) -> ReversalSettings:
    return replace(
        settings, optimizer="sgd", learning_rate=0.1, init="glorot", batch_size=1, max_epochs=0
    )


REVERSAL_SGD = replace(
    REVERSAL,
    name="reversal-sgd",
    summary="The same, trained as in the reference: one string at a time, by gradient descent",
    description=_SGD_DESCRIPTION,
    settings=_as_in_the_reference(REVERSAL.settings),
    quick=_as_in_the_reference(_QUICK),
)
