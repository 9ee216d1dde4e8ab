// The hash functions for Python.
#include "hashes.hpp"

#include "arrays.hpp"
#include "modules.hpp"

namespace hashnlp {

namespace {

void hash_rows(Vector<const uint8_t> text, Vector<const int64_t> offsets, uint32_t seed,
               Vector<int32_t> hashes) {
    for (size_t row = 0; row < hashes.size; row++)
        hashes[row] = murmur3(text.data + offsets[row],
                              static_cast<size_t>(offsets[row + 1] - offsets[row]), seed);
}

}  // namespace

void define_hashes(nb::module_& module) {
    module.def("hash_rows", unlocked<hash_rows>, nb::arg("text"), nb::arg("offsets"),
               nb::arg("seed"), nb::arg("hashes"));
}

}  // namespace hashnlp
