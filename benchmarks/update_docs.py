"""Write the tables and figures of the docs from the measured results.

The pages are coming_from_gensim, experiments, mixtures, probabilities and sentence_encoder.

python benchmarks/update_docs.py
"""

from __future__ import annotations

from common import calibration_table, experiment_tables, sentence_tables, word_vector_tables


def main() -> None:
    sentence_tables.update_page()
    calibration_table.update_page()
    experiment_tables.update_pages()
    word_vector_tables.update_page()


if __name__ == "__main__":
    main()
