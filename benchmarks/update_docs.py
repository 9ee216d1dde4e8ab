"""Write the tables and figures of the docs and of the README from the measured results.

The pages are classifier, coming_from_fasttext, coming_from_gensim, coming_from_paddle, coming_from_scikit_learn,
coming_from_tensorflow, container, experiments, language_model, larger_than_one_machine, mixtures, probabilities,
reversal, sentence_encoder, serving, stream and tuning.

python -m benchmarks.update_docs
"""

from __future__ import annotations

from benchmarks.tables import (
    calibration_table,
    experiment_tables,
    fasttext_bridge_table,
    language_robustness_table,
    learning_on_table,
    machine_code_table,
    merge_table,
    pretrained_table,
    readme_tables,
    sentence_tables,
    serving_table,
    sgd_pipeline_table,
    small_sets_table,
    tune_table,
    word_vector_tables,
)


def main() -> None:
    sentence_tables.update_page()
    calibration_table.update_page()
    experiment_tables.update_pages()
    word_vector_tables.update_page()
    language_robustness_table.update_page()
    learning_on_table.update_page()
    machine_code_table.update_page()
    serving_table.update_page()
    small_sets_table.update_page()
    pretrained_table.update_page()
    fasttext_bridge_table.update_page()
    merge_table.update_page()
    sgd_pipeline_table.update_page()
    tune_table.update_page()
    readme_tables.update_page()


if __name__ == "__main__":
    main()
