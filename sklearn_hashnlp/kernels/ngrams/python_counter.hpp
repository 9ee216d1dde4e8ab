// NgramCounter with Python's strings as its texts. Only the files of the bindings include it.
#pragma once

#include <nanobind/ndarray.h>

#include "../strings/python_texts.hpp"
#include "ngram_counter.hpp"

namespace hashnlp {

constexpr size_t SHORT =
    10'000;  // bytes, or n-grams, for which the lock is kept: others would wait for it for longer

// A counter, and the owners of the memory it refers to.
class PythonCounter {
public:
    // `classes` returns the class of each of the first code points, as an array; `owner` keeps the
    // other arguments.
    PythonCounter(NgramCounter counter, bool reads_ascii, nb::object classes, nb::object owner)
        : counter_(counter),
          ascii_classes_(table(classes, 0x80)),
          classes_(classes),
          owner_(owner),
          reads_ascii_(reads_ascii) {
        counter_.tokenizer.classes = ascii_classes_.data();
    }

    // Append a row for each text; `encode(i)` preprocesses and encodes the i-th where it is not
    // ASCII.
    template <class T>
    void append_texts(Rows<T>& rows, nb::typed<nb::list, nb::str> texts, nb::object encode) const {
        constexpr size_t BATCH = size_t{1} << 21;  // bytes between two looks for an interrupt
        TextReader reader(reads_ascii_, encode);
        CounterMemory memory;
        for (size_t i = 0, n = texts.size(); i < n;) {
            size_t size = 0;
            for (reader.clear(); i < n && size < BATCH; i++) size += reader.add(texts[i], i);
            count(reader, size, memory, rows);
            if (i < n && PyErr_CheckSignals() != 0) throw nb::python_error();
        }
    }

    // Append the rows of a few texts; `encode(text)` preprocesses and encodes one where it is not
    // ASCII.
    void append_block(Rows<float>& rows, const nb::handle* texts, size_t n, nb::handle encode,
                      CounterMemory& memory) const {
        TextReader reader(reads_ascii_, encode);
        size_t size = 0;
        for (size_t i = 0; i < n; i++) size += reader.add(texts[i], texts[i]);
        count(reader, size, memory, rows);
    }

private:
    using Table = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

    static Table table(nb::handle classes, size_t n) { return nb::cast<Table>(classes(n)); }

    template <class T>
    void count(const TextReader& reader, size_t size, CounterMemory& memory, Rows<T>& rows) const {
        NgramCounter counter = counter_;
        Table all;  // of all code points, kept as long as it is used; ASCII does without
        if (!reader.is_all_ascii()) {
            all = table(classes_, 0x110000);
            counter.tokenizer.classes = all.data();
        }
        if (size <= SHORT) {
            counter.count(reader.texts(), memory, rows);
        } else {
            nb::gil_scoped_release unlocked;
            counter.count(reader.texts(), memory, rows);
        }
    }

    NgramCounter counter_;
    Table ascii_classes_;
    nb::object classes_, owner_;
    bool reads_ascii_;
};

}  // namespace hashnlp
