"""Write tables and figures of the docs from the results of experiments, calibration and sentences.

python benchmarks/update_docs.py
"""

from __future__ import annotations

from common import calibration_table, experiment_tables, sentence_tables


def main() -> None:
    sentence_tables.update_page()
    calibration_table.update_page()
    experiment_tables.update_pages()


if __name__ == "__main__":
    main()
