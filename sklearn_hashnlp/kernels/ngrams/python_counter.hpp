// NgramCounter with Python's strings as its texts. Only the files of the bindings include it.
#pragma once

#include "../strings/python_texts.hpp"
#include "ngram_counter.hpp"

namespace hashnlp {

// A counter, and the owners of the memory it refers to.
class PythonCounter {
public:
    // `classes` returns the class of each of the first code points, as an array; `owner` keeps the
    // other arguments.
    PythonCounter(NgramCounter counter, bool reads_ascii, nb::object classes, nb::object owner)
        : counter_(counter), classes_(classes), owner_(owner), reads_ascii_(reads_ascii) {}

    // Append a row for each text; `encode(i)` preprocesses and encodes the i-th where it is not
    // ASCII.
    template <class T>
    void append_texts(Rows<T>& rows, nb::typed<nb::list, nb::str> texts, nb::object encode) const {
        TextReader reader(reads_ascii_, encode);
        CounterMemory memory;
        for_each_batch(
            reader, texts, [](size_t i) { return i; },
            [&](size_t, size_t size) { count(reader, size, memory, rows); });
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
    template <class T>
    void count(const TextReader& reader, size_t size, CounterMemory& memory, Rows<T>& rows) const {
        NgramCounter counter = counter_;
        auto classes = classes_.of(reader);
        counter.tokenizer.classes = classes.data();
        if (size <= SHORT) {
            counter.count(reader.texts(), memory, rows);
        } else {
            nb::gil_scoped_release unlocked;
            counter.count(reader.texts(), memory, rows);
        }
    }

    NgramCounter counter_;
    CharacterClasses classes_;
    nb::object owner_;
    bool reads_ascii_;
};

}  // namespace hashnlp
