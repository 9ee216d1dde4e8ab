// Ids hashed to rows of tables.
#pragma once

#include "hashes.hpp"

namespace hashnlp {

enum Variant : int64_t { IMPROVED = 0, PAPER = 1, STANDARD = 2 };  // the order of nn's VARIANTS

// Mix the low 32 bits of an id by MurmurHash3's `fmix32`: all bits of a column or a feature.
template <class Id>
inline uint64_t mix_id(Id id) {
    return fmix32(static_cast<uint32_t>(id));
}

// Return the slot of a mixed id in a table of `size` rows.
inline int32_t slot_of(uint64_t mixed, uint64_t a, uint64_t b, uint64_t size) {
    return static_cast<int32_t>((((mixed * a + b) >> 32) * size) >> 32);
}

// Return the row of an id in the importance table: its slot, or the id itself where both constants are zero.
template <class Id>
inline int32_t row_of(Id id, uint64_t mixed, uint64_t a, uint64_t b, uint64_t n_rows) {
    return a == 0 && b == 0 ? static_cast<int32_t>(id) : slot_of(mixed, a, b, n_rows);
}

}  // namespace hashnlp
