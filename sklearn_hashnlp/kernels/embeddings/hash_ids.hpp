// Ids hashed to rows of tables, and counts of rows.
#pragma once

#include "hashes.hpp"
#include "levels.hpp"
#include "memory.hpp"

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

// Return the row of an id in the importance table: its slot, or the id itself where both constants
// are zero.
template <class Id>
inline int32_t row_of(Id id, uint64_t mixed, uint64_t a, uint64_t b, uint64_t n_rows) {
    return a == 0 && b == 0 ? static_cast<int32_t>(id) : slot_of(mixed, a, b, n_rows);
}

// Hash ids of 32 or 64 bits to rows of the importance table and of the pool, (n_values, k).
// `constants` are those of the hash functions, (k + 1, 3).
template <class Id>
void locate_ids(Vector<const Id> ids, Matrix<const uint64_t> constants, uint64_t n_rows,
                uint64_t n_slots, int64_t variant, Vector<int32_t> rows, Matrix<int32_t> slots) {
    constexpr size_t BLOCK =
        4096;  // ids that are hashed together: their words stay in the first cache
    Buffer<uint32_t> words(2 * BLOCK);
    Buffer<int32_t> column(BLOCK);
    at_best_level([&] {
        uint32_t* __restrict mixed = words.data(), * __restrict high = mixed + BLOCK;
        for (size_t start = 0; start < ids.size; start += BLOCK) {
            size_t n = ids.size - start < BLOCK ? ids.size - start : BLOCK;
            const Id* __restrict own = ids.data + start;
            int32_t* __restrict own_rows = rows.data + start;
            Id bits = 0;
            for (size_t j = 0; j < n; j++) {
                bits |= own[j];
                mixed[j] = fmix32(static_cast<uint32_t>(own[j]));
            }
            bool is_wide = sizeof(Id) > 4 && static_cast<uint64_t>(bits) >>
                                                 32;  // then high bits are mixed in as well
            if (is_wide) {
                for (size_t j = 0; j < n; j++) {
                    high[j] = fmix32(static_cast<uint32_t>(static_cast<uint64_t>(own[j]) >> 32));
                    mixed[j] = fmix32(static_cast<uint32_t>(own[j]) ^ high[j]);
                }
            }
            auto hash = [&](const uint64_t* of, uint64_t size, bool has_high,
                            int32_t* __restrict out) {
                uint64_t a = of[0], b = of[1], c = of[2];
                if (has_high)
                    for (size_t j = 0; j < n; j++)
                        out[j] = slot_of(mixed[j], a, b + c * high[j], size);
                else
                    for (size_t j = 0; j < n; j++) out[j] = slot_of(mixed[j], a, b, size);
            };
            if (constants[0][0] == 0 &&
                constants[0][1] == 0)  // ids that are not hashed, see row_of
                for (size_t j = 0; j < n; j++) own_rows[j] = static_cast<int32_t>(own[j]);
            else
                hash(constants[0], n_rows, is_wide, own_rows);
            if (variant == STANDARD) continue;
            if (variant == PAPER)
                for (size_t j = 0; j < n; j++)
                    mixed[j] = fmix32(static_cast<uint32_t>(own_rows[j]));
            for (size_t i = 0; i < slots.columns; i++) {
                hash(constants[i + 1], n_slots, is_wide && variant != PAPER, column.data());
                for (size_t j = 0; j < n; j++) slots[start + j][i] = column[j];
            }
        }
    });
}

// Count the ids of each row of a table, in counts that are zeros before, and list the rows that
// have any.
template <class Id>
size_t count_rows(Vector<const Id> ids, uint64_t a, uint64_t b, Vector<int32_t> counts,
                  Vector<int32_t> distinct) {
    constexpr size_t AHEAD = 32;  // ids between the prefetch of a counter and its use
    Buffer<int32_t> rows(ids.size);
    at_best_level([&] {
        for (size_t i = 0; i < ids.size; i++)
            rows[i] = row_of(ids[i], mix_id(ids[i]), a, b, counts.size);
    });
    size_t n_distinct = 0;
    for (size_t i = 0; i < ids.size; i++) {
        prefetch(counts.data + rows[i + AHEAD < ids.size ? i + AHEAD : ids.size - 1]);
        int32_t& count = counts[static_cast<size_t>(rows[i])];
        distinct[n_distinct] = rows[i];  // without a branch, as no processor can predict it;
                                         // overwritten if seen before
        n_distinct += count == 0;
        count++;
    }
    return n_distinct;
}

}  // namespace hashnlp
