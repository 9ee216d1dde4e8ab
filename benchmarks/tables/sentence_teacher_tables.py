"""The table and the plot of bench_sentence_teacher.py: size against quality."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SETS = ("trec", "sst2", "imdb")
MEGABYTE = 2**20
PLOT = Path(__file__).parents[2] / "docs" / "images" / "sentence_teacher.png"


def table(result: dict[str, Any]) -> str:
    """Return the models in Markdown."""
    heads = ["", "columns", "MB", "MB, int8", "STS", "STS, int8", *SETS, "sentences/s"]
    lines = [heads, ["---"] * len(heads)]
    lines += [[name, *_cells(run)] for name, run in result.get("models", {}).items()]
    return "\n".join(f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in line)}|" for line in lines)


def section(result: dict[str, Any]) -> str:
    """Return the table, the cosine on held-out sentences, and the plot."""
    cosines = [run["held-out cosine"] for run in result["models"].values() if "held-out cosine" in run]
    parts = [table(result)]
    parts += [
        f"On held-out sentences, the mean cosine of vectors in the teacher's coordinates and its own is {cosine:.3f}."
        for cosine in cosines
    ]
    return "\n\n".join([*parts, f"![Size of the folder against rank correlation](images/{PLOT.name})"])


def _cells(run: dict[str, Any]) -> list[str]:
    sizes = [f"{run[kind]['bytes'] / MEGABYTE:.0f}" if kind in run else "" for kind in ("float32", "int8")]
    scores = [f"{run[kind]['whole']:.1f}" if kind in run else "" for kind in ("similarity", "int8")]
    accuracies = [f"{run[one]['C chosen']:.1f}" if one in run else "" for one in SETS]
    rate = f"{run['sentences/s']:,.0f}" if "sentences/s" in run else ""
    return [f"{run['columns']:,}" if "columns" in run else "", *sizes, *scores, *accuracies, rate]


def draw(result: dict[str, Any], path: Path) -> None:
    """Plot size of the folder against rank correlation, in float32 and int8."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    models = {name: run for name, run in result.get("models", {}).items() if "int8" in run}
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for kind, marker in (("float32", "o"), ("int8", "s")):
        sizes = [run[kind]["bytes"] / MEGABYTE for run in models.values()]
        axes.scatter(sizes, [run[kind]["whole"] for run in models.values()], marker=marker, label=kind)
    for name, run in models.items():
        place = run["int8"]["bytes"] / MEGABYTE, run["int8"]["whole"]
        axes.annotate(name, place, xytext=(5, -9), textcoords="offset points", fontsize=7)
    if "similarity" in result["models"].get("teacher", {}):
        axes.axhline(result["models"]["teacher"]["similarity"]["whole"], linestyle=":", label="teacher")
    axes.set(xscale="log", xlabel="size of the folder, MB", ylabel="STS benchmark, dev: Spearman x 100")
    axes.legend()
    figure.savefig(path, dpi=100)
    plt.close(figure)
