"""Write the tables and figures of docs/sentence_encoder.md and docs/experiments.md from the measured results.

python benchmarks/update_docs.py
"""

from __future__ import annotations

from common import experiment_tables, sentence_tables


def main() -> None:
    sentence_tables.update_page()
    experiment_tables.update_page()


if __name__ == "__main__":
    main()
