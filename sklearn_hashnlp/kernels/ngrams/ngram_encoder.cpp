// Vectors of texts by n-grams, for Python.
#include <nanobind/stl/pair.h>

#include "../arrays.hpp"
#include "../modules.hpp"
#include "python_encoder.hpp"

namespace hashnlp {

namespace {

void make_encoder(PythonEncoder* self, nb::object classes, nb::object encode, size_t max_words,
                  std::pair<size_t, size_t> ngram_range, Vector<const uint64_t> dictionary,
                  Vector<const float> weights, size_t n_words, float unknown_weight,
                  double character_weight, double norm_power, Matrix<const float> values,
                  Matrix<const uint8_t> codes, Vector<const float> scales, Vector<const float> mean,
                  nb::object owner) {
    Tokenizer tokenizer{nullptr, true, 1, true, '<', '>'};
    NgramEncoder encoder{tokenizer,
                         max_words,
                         ngram_range.first,
                         ngram_range.second,
                         dictionary,
                         {},
                         weights,
                         n_words,
                         unknown_weight,
                         character_weight,
                         norm_power,
                         {values, codes, scales},
                         mean,
                         {}};
    new (self) PythonEncoder(encoder, classes, encode, owner);
}

}  // namespace

void define_ngram_encoder(nb::module_& module) {
    nb::class_<PythonEncoder>(module, "NgramEncoder")
        .def("__init__", &make_encoder, nb::kw_only(), nb::arg("classes"), nb::arg("encode"),
             nb::arg("max_words"), nb::arg("ngram_range"), nb::arg("dictionary"),
             nb::arg("weights"), nb::arg("n_words"), nb::arg("unknown_weight"),
             nb::arg("character_weight"), nb::arg("norm_power"), nb::arg("values"),
             nb::arg("codes"), nb::arg("scales"), nb::arg("mean"), nb::arg("owner"))
        .def("encode", &PythonEncoder::encode_texts, nb::arg("texts"), nb::arg("vectors"))
        .def_prop_ro("n_columns", &PythonEncoder::n_columns);
}

}  // namespace hashnlp
