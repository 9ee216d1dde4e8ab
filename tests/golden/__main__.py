"""Compare, print or store golden outputs: ``make golden``, or ``python -m tests.golden --help``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import sklearn_hashnlp
from tests.golden._compare import ROOT, compare_commits
from tests.golden._register import DIGESTS, THREADS

_DESCRIPTION = """\
Compare what all golden configurations compute in two commits, to the last bit, at one thread and
at two, each in a fresh process of its own. The exit code is 1 where digests differ. Without options
the working tree is compared with HEAD: run it before each commit of a change that must not change
results.
"""


def main() -> int:
    """Run the script and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=_DESCRIPTION)
    parser.add_argument(
        "--base", default="HEAD", metavar="COMMIT", help="compare with this commit (default: HEAD)"
    )
    parser.add_argument(
        "--head", metavar="COMMIT", help="compare this commit (default: the working tree)"
    )
    parser.add_argument(
        "--digests", action="store_true", help="only print the digests of this tree, as JSON"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="only store this tree's digests of the exact configurations, for the tests. Do so "
        "when these are meant to change or one is new, and say why in the commit.",
    )
    options = parser.parse_args()
    if options.digests or options.write:
        return _compute(write=options.write)
    return 0 if compare_commits(options.base, options.head) else 1


def _compute(*, write: bool) -> int:
    """Compute configurations, and store or print their digests."""
    # These load torch, which a comparison does not need.
    import torch

    from tests.golden._configurations import NAMES, digests_of

    assert Path(sklearn_hashnlp.__file__).is_relative_to(ROOT), (
        f"{sklearn_hashnlp.__file__} is not of this tree"
    )
    torch.set_num_threads(int(os.environ.get(THREADS, "1")))
    names = NAMES["exact"] if write else [name for names in NAMES.values() for name in names]
    digests = json.dumps({name: digests_of(name) for name in names}, indent=1) + "\n"
    if write:
        DIGESTS.write_text(digests, encoding="utf-8")
    else:
        sys.stdout.write(digests)
    return 0


if __name__ == "__main__":
    sys.exit(main())
