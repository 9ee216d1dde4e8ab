// Hashes of n-grams counted into the rows of a CSR matrix.
#pragma once

#include <cmath>

#include "../memory.hpp"
#include "../vector_math.hpp"

namespace hashnlp {

enum Norm : int { NO_NORM = 0, L1 = 1, L2 = 2 };  // as in _count_ngrams.py

// The rows of a CSR matrix, which grow, with scipy's names of the arrays.
template <class T>
struct Rows {
    Buffer<int32_t> indices;
    Buffer<T> data;
    Buffer<int64_t> indptr{1, 0};

    size_t size() const { return indptr.size() - 1; }

    // Make room for more values.
    void reserve(size_t n) {
        indices.reserve(indices.size() + n);
        data.reserve(data.size() + n);
    }

    void append(const Rows& rows) {
        size_t end = indices.size(), n = rows.indices.size(), n_rows = size();
        if (n > 0)
            std::memcpy(indices.resize(end + n) + end, rows.indices.data(), n * sizeof(int32_t));
        if (n > 0) std::memcpy(data.resize(end + n) + end, rows.data.data(), n * sizeof(T));
        indptr.resize(n_rows + rows.indptr.size());
        for (size_t row = 1; row < rows.indptr.size(); row++)
            indptr[n_rows + row] = static_cast<int64_t>(end) + rows.indptr[row];
    }

    void clear() {
        indices.resize(0);
        data.resize(0);
        *indptr.resize(1) = 0;
    }
};

struct CountOptions {
    uint32_t n_features;
    bool alternate_sign, binary;
    int norm;
    bool damped;    // whether a count c has the value 1 + log(c)
    double weight;  // factor of all values
};

// Memory for the keys of a row.
struct KeyBuffers {
    Buffer<uint32_t> keys, spare, buckets, ranks;
    Buffer<int32_t> sums;
};

constexpr size_t MAX_INSERTION_SORT = 12;  // hashes of a row
constexpr size_t MAX_BUCKET_SORT = 4096;
constexpr int MAX_EXCHANGES = 3, DIGIT_BITS = 11;
constexpr int64_t MAX_FLOAT32_SQUARED =
    4096;  // the square of a larger integer is rounded in float32, as in scikit-learn

// Compute the sort key of each hash: 2 * column + (1 for a negative sign); the column of hash h is
// abs(h) % n_features.
inline void make_keys(const int32_t* hashes, size_t n, uint32_t n_features, bool alternate_sign,
                      uint32_t* __restrict keys) {
    const uint32_t sign_bit = alternate_sign;
    if ((n_features & (n_features - 1)) == 0) {
        const uint32_t mask = n_features - 1;
        for (size_t i = 0; i < n; i++) {
            auto hash = static_cast<uint32_t>(hashes[i]), negative = hash >> 31;
            keys[i] = (((hash ^ (0u - negative)) + negative) & mask) << 1 | (negative & sign_bit);
        }
        return;
    }
    const double divisor = n_features, reciprocal = 1.0 / divisor;
    for (size_t i = 0; i < n; i++) {
        // A division would take longer. All numbers here are exact but the reciprocal, so that an
        // integer quotient may come out just below itself: the remainder is then the divisor.
        double magnitude = std::fabs(static_cast<double>(hashes[i]));
        double remainder = magnitude - std::floor(magnitude * reciprocal) * divisor;
        remainder = remainder >= divisor ? remainder - divisor : remainder;
        auto column = static_cast<uint32_t>(static_cast<int32_t>(remainder));
        keys[i] = column << 1 | (static_cast<uint32_t>(hashes[i]) >> 31 & sign_bit);
    }
}

inline void insert_in_order(uint32_t* keys, size_t n) {
    for (size_t i = 1; i < n; i++) {
        uint32_t key = keys[i];
        size_t j = i;
        for (; j >= 1 && keys[j - 1] > key; j--) keys[j] = keys[j - 1];
        keys[j] = key;
    }
}

// Sort each pair of neighbors.
inline void exchange_neighbors(uint32_t* keys, size_t n_pairs) {
    for (size_t i = 0; i < 2 * n_pairs; i += 2) {
        uint32_t left = keys[i], right = keys[i + 1];
        keys[i] = left < right ? left : right;
        keys[i + 1] = left < right ? right : left;
    }
}

inline bool is_sorted(const uint32_t* keys, size_t n) {
    uint32_t n_descents = 0;
    for (size_t i = 0; i + 1 < n; i++) n_descents += keys[i] > keys[i + 1];
    return n_descents == 0;
}

// Replace counts by the sum of those before, four at once; their number is a multiple of four.
inline void to_starts(uint32_t* counts, size_t n) {
    typedef uint32_t Four __attribute__((vector_size(16)));
    Four start = {}, zero = {};
    for (size_t i = 0; i < n; i += 4) {
        Four four, sums;
        std::memcpy(&four, counts + i, sizeof four);
        sums = four + __builtin_shufflevector(zero, four, 0, 4, 5, 6);
        sums += __builtin_shufflevector(zero, sums, 0, 1, 4, 5);
        Four before = sums - four + start;
        std::memcpy(counts + i, &before, sizeof before);
        start += __builtin_shufflevector(sums, sums, 3, 3, 3, 3);
    }
}

// Sort by two to four buckets per key, then by exchanging neighbors: hashes are uniform, so few
// keys still move.
inline const uint32_t* sort_by_buckets(uint32_t* keys, uint32_t* spare, size_t n, int key_bits,
                                       uint32_t* __restrict buckets, uint32_t* __restrict ranks) {
    if (n <= MAX_INSERTION_SORT) {
        insert_in_order(keys, n);
        return keys;
    }
    int bucket_bits = 5;
    while ((size_t{1} << bucket_bits) < 2 * n) bucket_bits++;
    const int shift = key_bits > bucket_bits ? key_bits - bucket_bits : 0;
    const size_t n_buckets = size_t{1} << (bucket_bits < key_bits ? bucket_bits
                                           : key_bits < 2         ? 2
                                                                  : key_bits);
    std::memset(buckets, 0, n_buckets * sizeof(uint32_t));
    for (size_t i = 0; i < n; i++) ranks[i] = buckets[keys[i] >> shift]++;
    to_starts(buckets, n_buckets);
    for (size_t i = 0; i < n; i++) spare[buckets[keys[i] >> shift] + ranks[i]] = keys[i];
    // Odd-even transposition sort: no branch, and vector instructions. Keys of a bucket with more
    // distinct ones than there are rounds are left to an insertion sort, which has a branch per
    // key.
    spare[n] = 0xFFFFFFFFu;
    for (int round = 0; round < MAX_EXCHANGES; round++) {
        exchange_neighbors(spare, (n + 1) / 2);
        exchange_neighbors(spare + 1, n / 2);
        if (is_sorted(spare, n)) return spare;
    }
    insert_in_order(spare, n);
    return spare;
}

// Radix sort by three digits of 11 bits, the lowest first: its time does not depend on the keys.
inline const uint32_t* sort_by_digits(uint32_t* keys, uint32_t* spare, size_t n) {
    constexpr size_t N_DIGITS = size_t{1} << DIGIT_BITS;
    for (int shift = 0; shift < 3 * DIGIT_BITS; shift += DIGIT_BITS) {
        size_t starts[N_DIGITS + 1] = {};
        for (size_t i = 0; i < n; i++) starts[(keys[i] >> shift & (N_DIGITS - 1)) + 1]++;
        for (size_t digit = 0; digit < N_DIGITS; digit++) starts[digit + 1] += starts[digit];
        for (size_t i = 0; i < n; i++) spare[starts[keys[i] >> shift & (N_DIGITS - 1)]++] = keys[i];
        std::swap(keys, spare);
    }
    return keys;
}

// Write the distinct columns of a row; return their number. Then sums[i] is the sum of the signs in
// the first i columns.
inline size_t sum_duplicates(const uint32_t* keys, size_t n, int32_t* __restrict sums,
                             int32_t* __restrict indices) {
    // There are no branches, as no processor can predict whether a key repeats: each key overwrites
    // the last entry or begins the next.
    size_t n_entries = 0;
    uint32_t last = 0xFFFFFFFFu;
    int32_t total = 0;
    sums[0] = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t column = keys[i] >> 1;
        n_entries += column != last;
        total += 1 - 2 * static_cast<int32_t>(keys[i] & 1);
        indices[n_entries - 1] = static_cast<int32_t>(column);
        sums[n_entries] = total;
        last = column;
    }
    return n_entries;
}

// Set the values of a row of n keys. Sums of integers are exact in any order: they equal
// scikit-learn's to the last bit.
template <class T>
inline void set_values(const int32_t* sums, size_t n_entries, size_t n, const CountOptions& options,
                       T* __restrict data) {
    if (options.binary) {
        auto number = static_cast<double>(n_entries);
        double value = n_entries == 0 || options.norm == NO_NORM
                           ? 1.0
                           : 1.0 / (options.norm == L2 ? std::sqrt(number) : number);
        for (size_t i = 0; i < n_entries; i++) data[i] = static_cast<T>(value);
    } else if (n <= MAX_BUCKET_SORT) {  // all sums fit into 32 bits
        int32_t absolute = 0, squares = 0;
        for (size_t i = 0; i < n_entries && options.norm != NO_NORM; i++) {
            int32_t count = sums[i + 1] - sums[i];
            absolute += count < 0 ? -count : count;
            squares += count * count;
        }
        double length = options.norm == L2 ? std::sqrt(static_cast<double>(squares))
                                           : static_cast<double>(absolute);
        length = length > 0 ? length : 1.0;
        for (size_t i = 0; i < n_entries; i++)
            data[i] = static_cast<T>((sums[i + 1] - sums[i]) / length);
    } else {
        int64_t absolute = 0, squares = 0, largest = 0;
        for (size_t i = 0; i < n_entries; i++) {
            int64_t count = int64_t{sums[i + 1]} - int64_t{sums[i]},
                    magnitude = count < 0 ? -count : count;
            absolute += magnitude;
            squares += count * count;
            largest = magnitude > largest ? magnitude : largest;
            data[i] = static_cast<T>(count);
        }
        double length =
            options.norm == L1 ? static_cast<double>(absolute) : static_cast<double>(squares);
        if (options.norm == L2 && largest > MAX_FLOAT32_SQUARED) {
            length = 0;
            for (size_t i = 0; i < n_entries; i++) length += static_cast<double>(data[i] * data[i]);
        }
        if (options.norm != NO_NORM && length > 0) {
            length = options.norm == L2 ? std::sqrt(length) : length;
            for (size_t i = 0; i < n_entries; i++) data[i] = static_cast<T>(data[i] / length);
        }
    }
    if (options.damped) {
        for (size_t i = 0; i < n_entries; i++)
            if (data[i] > 1)
                data[i] = static_cast<T>(1 + log_of_positive(static_cast<double>(data[i])));
    }
    if (options.weight != 1) {
        const T weight = static_cast<T>(options.weight);
        for (size_t i = 0; i < n_entries; i++) data[i] *= weight;
    }
}

// Append a row with the counts of hashes; a column with canceled signs stays as 0, as in
// scikit-learn.
template <class T>
inline void count_row(const int32_t* hashes, size_t n, int key_bits, const CountOptions& options,
                      KeyBuffers& memory, Rows<T>& rows) {
    uint32_t* keys = memory.keys.resize(n + 1);
    uint32_t* spare = memory.spare.resize(n + 1);
    make_keys(hashes, n, options.n_features, options.alternate_sign, keys);
    const uint32_t* sorted =
        n <= MAX_BUCKET_SORT
            ? sort_by_buckets(keys, spare, n, key_bits, memory.buckets.resize(2 * MAX_BUCKET_SORT),
                              memory.ranks.resize(n))
            : sort_by_digits(keys, spare, n);
    int32_t* sums = memory.sums.resize(n + 1);
    size_t end = rows.indices.size();
    size_t n_entries = sum_duplicates(sorted, n, sums, rows.indices.resize(end + n) + end);
    set_values(sums, n_entries, n, options, rows.data.resize(end + n) + end);
    rows.indices.resize(end + n_entries);
    rows.data.resize(end + n_entries);
    rows.indptr.push_back(static_cast<int64_t>(end + n_entries));
}

// Append a row for each span of hashes between two offsets.
template <class T>
inline void count_hashes(const int32_t* hashes, Vector<const int64_t> offsets,
                         const CountOptions& options, KeyBuffers& memory, Rows<T>& rows) {
    int key_bits = 1;
    while ((2 * uint64_t{options.n_features} - 1) >> key_bits) key_bits++;
    for (size_t row = 0; row + 1 < offsets.size; row++)
        count_row(hashes + offsets[row], static_cast<size_t>(offsets[row + 1] - offsets[row]),
                  key_bits, options, memory, rows);
}

template <class T>
void count_at_best_level(const int32_t* hashes, Vector<const int64_t> offsets,
                         const CountOptions& options, KeyBuffers& memory, Rows<T>& rows);

}  // namespace hashnlp
