// The functions of this folder for Python.
#include "../arrays.hpp"
#include "../modules.hpp"
#include "python_texts.hpp"
#include "tokenize.hpp"
#include "typos.hpp"

namespace hashnlp {

namespace {

using UnitArrays = std::tuple<Buffer<uint8_t>, Buffer<int64_t>, Buffer<int64_t>, Buffer<int64_t>>;

UnitArrays units_of(int analyzer, Vector<const uint8_t> documents, Vector<const int64_t> offsets,
                    Vector<const bool> is_ascii, Vector<const uint8_t> classes, bool lowercase,
                    size_t min_length, bool keep_punctuation, uint8_t before, uint8_t after,
                    Vector<const int64_t> slots, Vector<const uint8_t> stop_words,
                    Vector<const int64_t> stop_offsets) {
    Units<int64_t> units;
    split(static_cast<Analyzer>(analyzer), {documents, offsets, is_ascii},
          {classes.data, lowercase, min_length, keep_punctuation, before, after},
          {slots, stop_words, stop_offsets}, units);
    return {std::move(units.text), std::move(units.boundaries), std::move(units.segments),
            std::move(units.rows)};
}

std::tuple<Buffer<uint32_t>, Buffer<int64_t>> typos_of(Vector<const uint32_t> characters,
                                                       Vector<const int64_t> offsets, double rate,
                                                       Vector<const int64_t> kinds, uint64_t key) {
    Distorted out = distort_characters(characters, offsets, rate, kinds, key);
    return {std::move(out.characters), std::move(out.offsets)};
}

std::tuple<Buffer<uint8_t>, Buffer<int64_t>, Buffer<bool>> lines_of(
    nb::typed<nb::list, nb::str> texts, nb::bytes begin, nb::bytes end, bool reads_ascii,
    nb::object encode) {
    TextReader reader(reads_ascii, encode);
    for (size_t i = 0; i < texts.size(); i++) reader.add(texts[i], i);
    Lines lines;
    {
        nb::gil_scoped_release unlocked;
        join_lines(reader.texts(), view(begin), view(end), lines);
    }
    return {std::move(lines.bytes), std::move(lines.offsets), std::move(lines.is_ascii)};
}

}  // namespace

void define_strings(nb::module_& module) {
    module.def("split", unlocked<units_of>, nb::arg("analyzer"), nb::arg("documents"),
               nb::arg("offsets"), nb::arg("is_ascii"), nb::arg("classes"), nb::arg("lowercase"),
               nb::arg("min_length"), nb::arg("keep_punctuation"), nb::arg("before"),
               nb::arg("after"), nb::arg("slots"), nb::arg("stop_words"), nb::arg("stop_offsets"));
    module.def("distort_characters", unlocked<typos_of>, nb::arg("characters"), nb::arg("offsets"),
               nb::arg("rate"), nb::arg("kinds"), nb::arg("key"));
    module.def("join_lines", &lines_of, nb::arg("texts"), nb::arg("begin"), nb::arg("end"),
               nb::arg("reads_ascii"), nb::arg("encode"));
}

}  // namespace hashnlp
