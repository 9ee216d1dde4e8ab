// NgramEncoder with Python's strings as its texts. Only the files of the bindings include it.
#pragma once

#include <stdexcept>

#include "../strings/python_texts.hpp"
#include "ngram_encoder.hpp"

namespace hashnlp {

// An encoder, and the owners of the memory it refers to.
class PythonEncoder {
public:
    // `classes` is of CharacterClasses; `encode(text)` lowercases and encodes a text that is not
    // ASCII; `owner` keeps the other arguments.
    PythonEncoder(NgramEncoder encoder, nb::object classes, nb::object encode, nb::object owner)
        : slots_(fingerprint_slots(encoder.dictionary)),
          encoder_(encoder),
          classes_(classes),
          encode_(encode),
          owner_(owner) {
        const CoefficientTable& table = encoder.table;
        size_t n = encoder.dictionary.size, n_columns = encoder.mean.size;
        bool has_values = table.values.rows == n && table.values.columns == n_columns,
             has_codes = table.codes.rows == n && table.scales.size == n &&
                         table.codes.columns == (n_columns + 1) / 2;
        if (encoder.weights.size != n || !(has_values || (has_codes && table.values.rows == 0)))
            throw std::invalid_argument(
                "NgramEncoder: each n-gram needs a weight and a row of coefficients");
        encoder_.slots = slots_;
        encoder_.hash_ascii();
    }

    size_t n_columns() const { return encoder_.mean.size; }

    // Write the vectors of texts; return the largest number of words. No other thread may change
    // the list.
    size_t encode_texts(nb::typed<nb::list, nb::str> texts, Matrix<float> vectors) const {
        if (vectors.rows != texts.size() || vectors.columns != n_columns())
            throw std::invalid_argument("NgramEncoder.encode: vectors needs a row for each text");
        TextReader reader(true, encode_);
        EncoderMemory memory;
        size_t longest = 0;
        auto key = [&](size_t i) { return nb::object(texts[i]); };
        for_each_batch(reader, texts, key, [&](size_t first, size_t size) {
            size_t n = encode(reader, size, memory, vectors, first);
            longest = n > longest ? n : longest;
        });
        return longest;
    }

    // Write the vectors of a few texts.
    void encode_block(const nb::handle* texts, size_t n, EncoderMemory& memory,
                      Matrix<float> vectors) const {
        TextReader reader(true, encode_);
        size_t size = 0;
        for (size_t i = 0; i < n; i++) size += reader.add(texts[i], texts[i]);
        encode(reader, size, memory, vectors, 0);
    }

private:
    size_t encode(const TextReader& reader, size_t size, EncoderMemory& memory,
                  Matrix<float> vectors, size_t first) const {
        NgramEncoder encoder = encoder_;
        auto classes = classes_.of(reader);
        encoder.tokenizer.classes = classes.data();
        Vector<const Text> texts = reader.texts();
        Matrix<float> own{vectors[first], texts.size, vectors.columns};
        if (size <= SHORT) return encoder.encode(texts, memory, own);
        nb::gil_scoped_release unlocked;
        return encoder.encode(texts, memory, own);
    }

    Buffer<int32_t> slots_;
    NgramEncoder encoder_;
    CharacterClasses classes_;
    nb::object encode_, owner_;
};

}  // namespace hashnlp
