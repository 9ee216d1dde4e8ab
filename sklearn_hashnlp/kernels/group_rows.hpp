// Positions grouped by the row of a table that they refer to.
#pragma once

#include "memory.hpp"

namespace hashnlp {

struct RowGroups {
    Buffer<int32_t> order;     // (n_values,): the positions, sorted by row
    Buffer<int64_t> starts;    // (n_groups + 1,): start of each row's positions, and their end
    Buffer<int64_t> distinct;  // (n_groups,): the rows
};

// Sort positions by their row, by a radix sort: an item holds a row in its upper half and its
// position in the lower. Items are sorted digit by digit from the lowest, and each round keeps the
// order of the previous round.
inline RowGroups group_rows(Vector<const int32_t> rows, size_t n_rows) {
    constexpr int MAX_DIGIT_BITS = 12;  // 4096 counters stay in the first-level cache
    size_t largest = n_rows > 0 ? n_rows - 1 : 0, n_values = rows.size;
    int n_rounds = 1, n_bits = 1;
    while (largest >> (n_rounds * MAX_DIGIT_BITS)) n_rounds++;
    while (largest >> (n_rounds * n_bits)) n_bits++;
    size_t n_digits = size_t{1} << n_bits, mask = n_digits - 1;
    Buffer<int64_t> items(n_values), spare(n_values);
    Buffer<size_t> counts(n_rounds * n_digits, 0);
    for (size_t at = 0; at < n_values; at++) {
        items[at] = static_cast<int64_t>(rows[at]) << 32 | static_cast<int64_t>(at);
        for (int round = 0; round < n_rounds; round++)
            counts[round * n_digits +
                   ((static_cast<uint32_t>(rows[at]) >> (round * n_bits)) & mask)]++;
    }
    for (int round = 0; round < n_rounds; round++) {
        size_t *ends = counts.data() + round * n_digits, end = 0;
        int shift = 32 + round * n_bits;
        for (size_t digit = 0; digit < n_digits; digit++) {
            size_t count = ends[digit];
            ends[digit] = end;
            end += count;
        }
        for (size_t at = 0; at < n_values; at++) {
            size_t digit = (static_cast<uint64_t>(items[at]) >> shift) & mask;
            spare[ends[digit]++] = items[at];
        }
        std::swap(items, spare);
    }
    RowGroups groups{Buffer<int32_t>(n_values), Buffer<int64_t>(n_values + 1),
                     Buffer<int64_t>(n_values)};
    size_t n_groups = 0;
    int64_t last = -1;
    for (size_t at = 0; at < n_values; at++) {
        int64_t row = items[at] >> 32;
        groups.order[at] = static_cast<int32_t>(items[at]);
        if (row != last) {
            groups.starts[n_groups] = static_cast<int64_t>(at);
            groups.distinct[n_groups++] = row;
            last = row;
        }
    }
    groups.starts[n_groups] = static_cast<int64_t>(n_values);
    groups.starts.resize(n_groups + 1);
    groups.distinct.resize(n_groups);
    return groups;
}

}  // namespace hashnlp
