// The functions of this folder for Python.
#include "../arrays.hpp"
#include "../levels.hpp"
#include "../modules.hpp"
#include "python_texts.hpp"
#include "tokenize.hpp"
#include "typos.hpp"

namespace hashnlp {

namespace {

using UnitArrays = std::tuple<Buffer<uint8_t>, Buffer<int64_t>, Buffer<int64_t>, Buffer<int64_t>>;

UnitArrays arrays(Units<int64_t>& units) {
    return {std::move(units.text), std::move(units.boundaries), std::move(units.segments), std::move(units.rows)};
}

UnitArrays words_of(Vector<const uint8_t> documents, Vector<const int64_t> offsets, Vector<const bool> is_ascii,
                    Vector<const uint8_t> classes, bool lowercase, size_t min_length, bool keep_punctuation,
                    Vector<const int64_t> slots, Vector<const uint8_t> stop_words, Vector<const int64_t> stop_offsets) {
    Units<int64_t> units;
    Tokenizer tokenizer{classes.data, lowercase, min_length, keep_punctuation};
    at_best_level([&] { split_words<int64_t>({documents, offsets, is_ascii}, tokenizer, units); });
    drop_stop_words({slots, stop_words, stop_offsets}, units);
    return arrays(units);
}

UnitArrays characters_of(Vector<const uint8_t> documents, Vector<const int64_t> offsets, Vector<const bool> is_ascii,
                         Vector<const uint8_t> classes, bool lowercase) {
    Units<int64_t> units;
    at_best_level([&] { split_characters<int64_t>({documents, offsets, is_ascii}, {classes.data, lowercase}, units); });
    return arrays(units);
}

UnitArrays word_characters_of(Vector<const uint8_t> documents, Vector<const int64_t> offsets, Vector<const bool> is_ascii,
                              Vector<const uint8_t> classes, bool lowercase, uint8_t before, uint8_t after) {
    Units<int64_t> units;
    Tokenizer tokenizer{classes.data, lowercase, 1, true, before, after};
    at_best_level([&] { split_word_characters<int64_t>({documents, offsets, is_ascii}, tokenizer, units); });
    return arrays(units);
}

std::tuple<Buffer<uint32_t>, Buffer<int64_t>> typos_of(Vector<const uint32_t> characters, Vector<const int64_t> offsets,
                                                       double rate, Vector<const int64_t> kinds, uint64_t key) {
    Distorted out = distort_characters(characters, offsets, rate, kinds, key);
    return {std::move(out.characters), std::move(out.offsets)};
}

std::tuple<Buffer<uint8_t>, Buffer<int64_t>, Buffer<bool>> lines_of(nb::list texts, nb::bytes begin, nb::bytes end,
                                                                    bool reads_ascii, nb::object encode) {
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
    module.def("split_words", unlocked<words_of>, nb::arg("documents"), nb::arg("offsets"), nb::arg("is_ascii"),
               nb::arg("classes"), nb::arg("lowercase"), nb::arg("min_length"), nb::arg("keep_punctuation"),
               nb::arg("slots"), nb::arg("stop_words"), nb::arg("stop_offsets"));
    module.def("split_characters", unlocked<characters_of>, nb::arg("documents"), nb::arg("offsets"), nb::arg("is_ascii"),
               nb::arg("classes"), nb::arg("lowercase"));
    module.def("split_word_characters", unlocked<word_characters_of>, nb::arg("documents"), nb::arg("offsets"),
               nb::arg("is_ascii"), nb::arg("classes"), nb::arg("lowercase"), nb::arg("before"), nb::arg("after"));
    module.def("distort_characters", unlocked<typos_of>, nb::arg("characters"), nb::arg("offsets"), nb::arg("rate"),
               nb::arg("kinds"), nb::arg("key"));
    module.def("join_lines", &lines_of, nb::arg("texts"), nb::arg("begin"), nb::arg("end"),
               nb::arg("reads_ascii"), nb::arg("encode"));
}

}  // namespace hashnlp
