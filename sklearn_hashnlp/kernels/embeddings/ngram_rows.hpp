// The n-grams that end at each token of a sequence, hashed to rows of tables.
#pragma once

#include <tuple>

#include "hash_ids.hpp"

namespace hashnlp {

enum Scheme : int64_t {
    MULTIPLY_SHIFT = 0,
    MULTIPLICATIVE_XOR = 1,
    POLYNOMIAL = 2
};  // the order of nn's SCHEMES

// The tables of n-grams in one array of rows, ordered by order and head, and their hash functions.
struct NgramTables {
    int64_t scheme;
    Vector<const int64_t> orders;  // ascending
    size_t n_heads;                // tables of each order
    size_t n_hashes;               // rows of an n-gram in a table
    bool importance;               // whether an n-gram has a row of importance weights
    bool signs;
    Vector<const int64_t> sizes;   // (n_tables,): their rows
    Vector<const int64_t> starts;  // (n_tables,): their first rows
    Cube<const uint64_t>
        constants;  // (n_tables, n_hashes + 2, 3): of hash functions; rows, importance, sign
    Vector<const int64_t>
        multipliers;   // (largest order,): of a token by its distance; or one number, the base
    int64_t padding;   // an id in no n-gram, or -1
    int64_t boundary;  // an id that starts a new history, or -1
};

// Return the row of the n-gram that ends at a token, by a published scheme.
inline int64_t published_row(const NgramTables& tables, const int64_t* last, int64_t order,
                             int64_t size) {
    if (tables.scheme == MULTIPLICATIVE_XOR) {
        uint64_t bits = 0;  // of large ids they wrap around
        for (int64_t j = 0; j < order; j++)
            bits ^= static_cast<uint64_t>(last[-j]) *
                    static_cast<uint64_t>(tables.multipliers[static_cast<size_t>(j)]);
        int64_t row = static_cast<int64_t>(bits) % size;
        return row < 0 ? row + size : row;
    }
    int64_t row = 0;
    for (int64_t j = order - 1; j >= 0; j--)  // Horner's rule, modulo the size
        row = (row * (tables.multipliers[0] % size) + last[-j] % size) % size;
    return row;
}

// The signs, rows of importance weights and rows of vectors of all n-grams, and where those of each
// bag start.
using NgramRows = std::tuple<Buffer<float>, Buffer<int32_t>, Buffer<int32_t>, Buffer<int64_t>>;

// Hash the n-grams that end at each token from the `first` of a sequence on; a history does not
// reach over padding, a boundary or a start. Each table of a token has a bag, or the token has one.
inline NgramRows locate_ngrams(Matrix<const int64_t> ids, Matrix<const bool> starts, size_t first,
                               bool bag_per_table, const NgramTables& tables) {
    size_t n_tables = tables.sizes.size, n_hashes = tables.n_hashes;
    int64_t largest = tables.orders[tables.orders.size - 1];
    size_t n_cells = ids.rows * (ids.columns - first) * n_tables;
    Buffer<float> signs(n_cells);
    Buffer<int32_t> rows(tables.importance ? n_cells : 0), slots(n_cells * n_hashes);
    Buffer<int64_t> offsets;
    offsets.reserve((bag_per_table ? n_cells : n_cells / n_tables) + 1);
    offsets.push_back(0);
    size_t n = 0;
    for (size_t sequence = 0; sequence < ids.rows; sequence++) {
        const int64_t* tokens = ids[sequence];
        int64_t reach = 0;
        for (size_t t = 0; t < ids.columns; t++) {
            bool is_start =
                tokens[t] == tables.boundary || (starts.rows > 0 && starts[sequence][t]);
            reach = is_start ? 1 : reach < largest ? reach + 1 : largest;
            if (tokens[t] == tables.padding) reach = 0;
            if (t < first) continue;
            uint64_t key = static_cast<uint64_t>(tokens[t]), high = 0, mixed = 0;
            int64_t length = 1;
            for (size_t table = 0; table < n_tables; table++) {
                int64_t order = tables.orders[table / tables.n_heads];
                if (order <= reach) {
                    auto size = static_cast<uint64_t>(tables.sizes[table]);
                    auto start = static_cast<int32_t>(tables.starts[table]);
                    auto slot = [&](size_t function, uint64_t n_slots) {
                        const uint64_t* of = tables.constants(table, function);
                        return slot_of(mixed, of[0], of[1] + of[2] * high, n_slots);
                    };
                    signs[n] = 1;
                    if (tables.scheme == MULTIPLY_SHIFT) {
                        for (; length < order; length++)
                            key = mix_word(key + GAMMA) +
                                  static_cast<uint64_t>(tokens[t - static_cast<size_t>(length)]);
                        if (table % tables.n_heads == 0) {
                            high = mix_id(key >> 32);
                            mixed = mix_id(key ^ high);
                        }
                        for (size_t i = 0; i < n_hashes; i++)
                            slots[n * n_hashes + i] = start + slot(i, size);
                        if (tables.importance) rows[n] = start + slot(n_hashes, size);
                        if (tables.signs && slot(n_hashes + 1, 2)) signs[n] = -1;
                    } else {
                        slots[n * n_hashes] =
                            start + static_cast<int32_t>(published_row(tables, tokens + t, order,
                                                                       static_cast<int64_t>(size)));
                    }
                    n++;
                }
                if (bag_per_table) offsets.push_back(static_cast<int64_t>(n));
            }
            if (!bag_per_table) offsets.push_back(static_cast<int64_t>(n));
        }
    }
    signs.resize(n);
    rows.resize(tables.importance ? n : 0);
    slots.resize(n * n_hashes);
    return {std::move(signs), std::move(rows), std::move(slots), std::move(offsets)};
}

}  // namespace hashnlp
