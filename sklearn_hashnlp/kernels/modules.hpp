// The functions that add the kernels of each folder to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace hashnlp {

void define_embeddings(nanobind::module_& module);
void define_hashes(nanobind::module_& module);
void define_trees(nanobind::module_& module);
void define_projections(nanobind::module_& module);
void define_ngram_models(nanobind::module_& module);
void define_vector_math(nanobind::module_& module);
void define_linear(nanobind::module_& module);
void define_rows(nanobind::module_& module);
void define_strings(nanobind::module_& module);
void define_counters(nanobind::module_& module);
void define_ngram_encoder(nanobind::module_& module);
void define_text_model(nanobind::module_& module);

}  // namespace hashnlp
