// Python's strings read by the interpreter's stable interface. Only the files of the bindings
// include it.
#pragma once

#include <nanobind/nanobind.h>

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

inline Vector<const uint8_t> view(const nb::bytes& bytes) {
    return {static_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace hashnlp
