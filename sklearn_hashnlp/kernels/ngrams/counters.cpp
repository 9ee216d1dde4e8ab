// n-grams hashed and counted, for Python.
#include "../arrays.hpp"
#include "../modules.hpp"
#include "python_counter.hpp"

namespace hashnlp {

namespace {

using Hashes = std::tuple<Buffer<int32_t>, Buffer<int64_t>>;

Hashes hashes_of(Vector<const uint8_t> text, Vector<const int64_t> boundaries,
                 Vector<const int64_t> segments, Vector<const int64_t> rows, size_t separator_width,
                 size_t min_n, size_t max_n, bool short_whole) {
    NgramHashes out;
    UnitsView<int64_t> units{text, boundaries, segments, rows, separator_width};
    hash_at_best_level(units, {min_n, max_n, short_whole}, out);
    out.hashes.resize(out.hashes.size() - N_COPIED);
    return {std::move(out.hashes), std::move(out.offsets)};
}

Hashes skipgrams_of(Vector<const uint8_t> text, Vector<const int64_t> boundaries,
                    Vector<const int64_t> segments, Vector<const int64_t> rows, size_t min_n,
                    size_t max_n, size_t max_skip) {
    NgramHashes out;
    hash_skipgrams({text, boundaries, segments, rows, 1}, min_n, max_n, max_skip, out);
    return {std::move(out.hashes), std::move(out.offsets)};
}

// Append a row for each span of hashes.
template <class T>
void append_hashes(Rows<T>& rows, Vector<const int32_t> hashes, Vector<const int64_t> offsets,
                   const CountOptions& options) {
    nb::gil_scoped_release unlocked;
    KeyBuffers memory;
    rows.reserve(hashes.size);
    count_at_best_level(hashes.data, offsets, options, memory, rows);
}

template <class T>
void append_texts(Rows<T>& rows, nb::typed<nb::list, nb::str> texts, const PythonCounter& counter,
                  nb::object encode) {
    counter.append_texts(rows, texts, encode);
}

// Make room for the values of n rows, estimated from the rows so far: not for many more, as the
// first may be the longest.
template <class T>
void plan(Rows<T>& rows, size_t n_rows) {
    constexpr size_t MAX_SPARE = size_t{1} << 25;  // memory that is not written is not committed
    size_t size = rows.indices.size();
    double expected = 1.1 * static_cast<double>(size) / static_cast<double>(rows.size()) *
                      static_cast<double>(n_rows);
    if (rows.size() == 0 || expected <= static_cast<double>(rows.indices.capacity())) return;
    size_t spare = size > MAX_SPARE ? size : MAX_SPARE;
    rows.reserve(expected < static_cast<double>(size + spare) ? static_cast<size_t>(expected) - size
                                                              : spare);
}

template <class T>
std::tuple<Buffer<int32_t>, Buffer<T>, Buffer<int64_t>> release(Rows<T>& rows) {
    Rows<T> released = std::move(rows);
    rows = Rows<T>();
    return {std::move(released.indices), std::move(released.data), std::move(released.indptr)};
}

template <class T>
void define_rows(nb::module_& module, const char* name) {
    nb::class_<Rows<T>>(module, name)
        .def(nb::init<>())
        .def("__len__", &Rows<T>::size)
        .def("append", &Rows<T>::append, nb::arg("rows"), nb::call_guard<nb::gil_scoped_release>())
        .def("clear", &Rows<T>::clear)
        .def("plan", &plan<T>, nb::arg("n_rows"))
        .def("release", &release<T>)
        .def("append_texts", &append_texts<T>, nb::arg("texts"), nb::arg("counter"),
             nb::arg("encode"))
        .def("append_hashes", &append_hashes<T>, nb::arg("hashes"), nb::arg("offsets"),
             nb::arg("options"));
}

void make_counter(PythonCounter* self, int analyzer, nb::object classes, bool lowercase,
                  size_t min_length, bool keep_punctuation, uint8_t before, uint8_t after,
                  Vector<const int64_t> slots, Vector<const uint8_t> stop_words,
                  Vector<const int64_t> stop_offsets, nb::bytes begin, nb::bytes end,
                  bool reads_ascii, size_t min_n, size_t max_n, bool short_whole,
                  const CountOptions& options, nb::object owner) {
    NgramCounter counter{static_cast<Analyzer>(analyzer),
                         {nullptr, lowercase, min_length, keep_punctuation, before, after},
                         {slots, stop_words, stop_offsets},
                         {min_n, max_n, short_whole},
                         options,
                         view(begin),
                         view(end)};
    new (self) PythonCounter(counter, reads_ascii, classes, nb::make_tuple(begin, end, owner));
}

}  // namespace

void define_counters(nb::module_& module) {
    module.def("hash_ngrams", unlocked<hashes_of>, nb::arg("text"), nb::arg("boundaries"),
               nb::arg("segments"), nb::arg("rows"), nb::arg("separator_width"), nb::arg("min_n"),
               nb::arg("max_n"), nb::arg("short_whole"));
    module.def("hash_skipgrams", unlocked<skipgrams_of>, nb::arg("text"), nb::arg("boundaries"),
               nb::arg("segments"), nb::arg("rows"), nb::arg("min_n"), nb::arg("max_n"),
               nb::arg("max_skip"));
    nb::class_<CountOptions>(module, "CountOptions")
        .def(nb::init<uint32_t, bool, bool, int, bool, double>(), nb::arg("n_features"),
             nb::arg("alternate_sign"), nb::arg("binary"), nb::arg("norm"), nb::arg("damped"),
             nb::arg("weight"));
    nb::class_<PythonCounter>(module, "NgramCounter")
        .def("__init__", &make_counter, nb::kw_only(), nb::arg("analyzer"), nb::arg("classes"),
             nb::arg("lowercase"), nb::arg("min_length"), nb::arg("keep_punctuation"),
             nb::arg("before"), nb::arg("after"), nb::arg("slots"), nb::arg("stop_words"),
             nb::arg("stop_offsets"), nb::arg("begin"), nb::arg("end"), nb::arg("reads_ascii"),
             nb::arg("min_n"), nb::arg("max_n"), nb::arg("short_whole"), nb::arg("options"),
             nb::arg("owner"));
    define_rows<float>(module, "RowsFloat32");
    define_rows<double>(module, "RowsFloat64");
}

}  // namespace hashnlp
