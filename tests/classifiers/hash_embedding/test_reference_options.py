"""The guide's table names every option and every choice of the command line of the reference implementation."""

from __future__ import annotations

import re
from pathlib import Path

GUIDE = Path(__file__).parents[3] / "docs" / "experiments.md"
OPTIONS = (
    "-x -d --no-shuffle --no-checkpoint --val-loss-callback -e -b -v -s -p -V -P --no-cuda -w --dictionnary -g -f "
    "--no-hashembed --no-append-weight --old-hashembed -D -B -N -H -m"
)
CHOICES = {
    "-x": "custom std-embed-dict hash-embed-dict hash-embed-nodict std-embed-nodict ensemble-hash-embed-dict",
    "-d": "ag amazon amazon-polarity dbpedia sogou yahoo yelp yelp-polarity",
}


def test_every_option_and_every_choice_of_the_reference_is_in_the_table() -> None:
    section = GUIDE.read_text(encoding="utf-8").split("## Options of the reference implementation")[1].split("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    table = {option.strip().split("`")[1]: here for option, _, here in rows}
    assert " ".join(table) == OPTIONS
    for option, choices in CHOICES.items():
        commands = re.findall(r"`python -m benchmarks run ([^`]+)`", table[option])
        assert " ".join(command.split()[-1] for command in commands) == choices
