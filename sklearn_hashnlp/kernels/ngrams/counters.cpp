// n-grams hashed and counted, for Python.
#include "../arrays.hpp"
#include "../modules.hpp"
#include "ngram_counter.hpp"

namespace hashnlp {

namespace {

using Hashes = std::tuple<Buffer<int32_t>, Buffer<int64_t>>;

Hashes hashes_of(Vector<const uint8_t> text, Vector<const int64_t> boundaries, Vector<const int64_t> segments,
                 Vector<const int64_t> rows, size_t separator_width, size_t min_n, size_t max_n, bool short_whole) {
    NgramHashes out;
    UnitsView<int64_t> units{text, boundaries, segments, rows, separator_width};
    at_best_level([&] { hash_ngrams(units, {min_n, max_n, short_whole}, out); });
    out.hashes.resize(out.hashes.size() - N_COPIED);
    return {std::move(out.hashes), std::move(out.offsets)};
}

Hashes skipgrams_of(Vector<const uint8_t> text, Vector<const int64_t> boundaries, Vector<const int64_t> segments,
                    Vector<const int64_t> rows, size_t min_n, size_t max_n, size_t max_skip) {
    NgramHashes out;
    hash_skipgrams({text, boundaries, segments, rows, 1}, min_n, max_n, max_skip, out);
    return {std::move(out.hashes), std::move(out.offsets)};
}

template <class T>
std::tuple<Buffer<int32_t>, Buffer<T>, Buffer<int64_t>> count(Vector<const int32_t> hashes, Vector<const int64_t> offsets,
                                                              uint32_t n_features, bool alternate_sign, bool binary, int norm,
                                                              bool damped) {
    KeyBuffers memory;
    Rows<T> rows;
    rows.reserve(hashes.size);
    CountOptions options{n_features, alternate_sign, binary, norm, damped};
    at_best_level([&] { count_hashes(hashes.data, offsets, options, memory, rows); });
    return {std::move(rows.indices), std::move(rows.data), std::move(rows.indptr)};
}

}  // namespace

void define_counters(nb::module_& module) {
    module.def("hash_ngrams", unlocked<hashes_of>, nb::arg("text"), nb::arg("boundaries"), nb::arg("segments"),
               nb::arg("rows"), nb::arg("separator_width"), nb::arg("min_n"), nb::arg("max_n"), nb::arg("short_whole"));
    module.def("hash_skipgrams", unlocked<skipgrams_of>, nb::arg("text"), nb::arg("boundaries"), nb::arg("segments"),
               nb::arg("rows"), nb::arg("min_n"), nb::arg("max_n"), nb::arg("max_skip"));
    module.def("count_float32", unlocked<count<float>>, nb::arg("hashes"), nb::arg("offsets"), nb::arg("n_features"),
               nb::arg("alternate_sign"), nb::arg("binary"), nb::arg("norm"), nb::arg("damped"));
    module.def("count_float64", unlocked<count<double>>, nb::arg("hashes"), nb::arg("offsets"), nb::arg("n_features"),
               nb::arg("alternate_sign"), nb::arg("binary"), nb::arg("norm"), nb::arg("damped"));
}

}  // namespace hashnlp
