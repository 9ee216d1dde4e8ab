// Python's strings read by the interpreter's stable interface. Only the files of the bindings
// include it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "join_lines.hpp"

namespace hashnlp {

namespace nb = nanobind;

// Reads strings while the interpreter's lock is held. Their bytes stay valid as long as the strings
// and the reader exist.
class TextReader {
public:
    // Without `reads_ascii`, `encode` makes the bytes of each text; else it makes those of the
    // texts that are not ASCII.
    TextReader(bool reads_ascii, nb::handle encode)
        : is_ascii_(nb::handle(reinterpret_cast<PyObject*>(&PyUnicode_Type)).attr("isascii")),
          encode_(encode),
          reads_ascii_(reads_ascii) {}

    // Read a text; return the number of its bytes. `encode` is called with the key.
    template <class Key>
    size_t add(nb::handle text, const Key& key) {
        Py_ssize_t size = 0;
        if (reads_ascii_ &&
            is_ascii_(text).ptr() == Py_True) {  // of any other, CPython would keep the encoding
            const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
            if (bytes == nullptr) throw nb::python_error();
            texts_.push_back(
                {reinterpret_cast<const uint8_t*>(bytes), static_cast<size_t>(size), true});
        } else {
            nb::object encoded = encode_(key);
            char* bytes = nullptr;
            if (PyBytes_AsStringAndSize(encoded.ptr(), &bytes, &size) != 0)
                throw nb::python_error();
            texts_.push_back(
                {reinterpret_cast<const uint8_t*>(bytes), static_cast<size_t>(size), false});
            encoded_.append(encoded);
        }
        return static_cast<size_t>(size);
    }

    Vector<const Text> texts() const { return texts_; }
    bool is_all_ascii() const { return encoded_.size() == 0; }

    void clear() {
        texts_.resize(0);
        encoded_ = nb::list();
    }

private:
    nb::object is_ascii_;
    nb::handle encode_;
    nb::list encoded_;
    Buffer<Text> texts_;
    bool reads_ascii_;
};

// The classes of characters: `classes` returns those of the first code points, as an array.
class CharacterClasses {
public:
    using Table = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

    explicit CharacterClasses(nb::object classes)
        : classes_(classes), of_ascii_(nb::cast<Table>(classes(0x80))) {}

    // Return those of all code points, if any text of the reader is not ASCII.
    Table of(const TextReader& reader) const {
        return reader.is_all_ascii() ? of_ascii_ : nb::cast<Table>(classes_(0x110000));
    }

private:
    nb::object classes_;
    Table of_ascii_;
};

constexpr size_t SHORT =
    10'000;  // bytes, or n-grams, for which the lock is kept: others would wait for it for longer

// Read the texts of a list in batches, with the keys of their encoding; call a function after each
// with the index of its first text and the number of bytes.
template <class Key, class Function>
void for_each_batch(TextReader& reader, nb::list texts, Key key, Function function) {
    constexpr size_t BATCH = size_t{1} << 21;  // bytes between two looks for an interrupt
    for (size_t i = 0, n = texts.size(); i < n;) {
        size_t first = i, size = 0;
        for (reader.clear(); i < n && size < BATCH; i++) size += reader.add(texts[i], key(i));
        function(first, size);
        if (i < n && PyErr_CheckSignals() != 0) throw nb::python_error();
    }
}

inline Vector<const uint8_t> view(const nb::bytes& bytes) {
    return {static_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace hashnlp
