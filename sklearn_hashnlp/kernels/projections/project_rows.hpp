// Rows of a sparse matrix projected on random hyperplanes, without a matrix of hyperplanes.
//
// Rows are projected in chunks, and a chunk on one tile of hyperplanes after the other. Frequent
// n-grams occur again and again (a few thousand texts have some 16,000 of up to three characters),
// so the coefficients of a chunk's columns are computed once for each tile, in a table small enough
// for the caches of a processor.
#pragma once

#include "projections/chunks.hpp"
#include "projections/hyperplanes.hpp"

namespace hashnlp {

constexpr size_t VECTORS = 5;             // whose sums stay in registers
constexpr size_t TILE = VECTORS * GROUP;  // hyperplanes
constexpr size_t CACHE_LINE = 64;         // bytes

enum Form : int { BITS = 0, SIGNS = 1, PACKED = 2, SUMS = 3 };

// The projections of all rows.
struct Output {
    int form;
    Matrix<uint8_t>
        bytes;  // (n_rows, n), or (n_rows, ceil(n / 8)) if packed, or (n_rows, 4 n) for float32
    const uint8_t* ties;  // bits for sums of zero
    size_t n;             // hyperplanes
    double scale;         // of sums
};

inline int16_t side_of(int16_t sum) { return sum; }
inline int16_t side_of(double sum) { return static_cast<int16_t>((sum > 0) - !(sum >= 0)); }

// Write the projections of a row on the hyperplanes of a tile from the first one.
template <class Sum>
inline void write(const Sum* sums, size_t row, size_t first, size_t width, double divisor,
                  const Output& output) {
    size_t n = output.n - first < width ? output.n - first : width;
    double scale = output.scale;
    if (output.form == SUMS) {
        float* out = reinterpret_cast<float*>(output.bytes[row]) + first;
        if (divisor == 1.0)
            for (size_t i = 0; i < n; i++) out[i] = static_cast<float>(sums[i] * scale);
        else
            for (size_t i = 0; i < n; i++) out[i] = static_cast<float>(sums[i] * scale / divisor);
        return;
    }
    const uint8_t* ties = output.ties + first;
    int16_t
        sides[TILE];  // two loops with an array between them, so that both use vector instructions
    for (size_t i = 0; i < width; i++) sides[i] = static_cast<int16_t>(side_of(sums[i]) + ties[i]);
    uint8_t* out = output.bytes[row] + (output.form == PACKED ? first / 8 : first);
    if (output.form == BITS) {
        for (size_t i = 0; i < n; i++) out[i] = sides[i] > 0;
    } else if (output.form == SIGNS) {
        for (size_t i = 0; i < n; i++) out[i] = sides[i] > 0 ? 1 : 0xFF;
    } else {
        uint8_t bits[TILE];
        for (size_t i = 0; i < width; i++) bits[i] = sides[i] > 0;
        for (size_t i = n; i < width; i++) bits[i] = 0;
        for (size_t i = 0; i < (n + 7) / 8; i++) {
            uint64_t eight;
            std::memcpy(&eight, bits + 8 * i, sizeof eight);
            out[i] = static_cast<uint8_t>((eight * 0x8040201008040201u) >>
                                          56);  // bit 0 of byte k becomes bit 63 - k
        }
    }
}

// Return a vector of 16-bit numbers in turn with another one: the lower half of both, or the upper.
template <size_t half, class Numbers, size_t... i>
inline Numbers in_turn(Numbers even, Numbers odd, std::index_sequence<i...>) {
    constexpr size_t n = sizeof...(i);
    return __builtin_shufflevector(even, odd, (half * n / 2 + i / 2 + i % 2 * n)...);
}

// Sum the rows of a segment in n_vectors registers. A pair of coefficients is p = 256 b + a + 128,
// and b = p >> 8: with the sums of p and of b, modulo 2**16, no byte has to be extended to 16 bits.
template <size_t n_bytes, size_t n_vectors>
inline void add_rows(const int8_t* table, const Chunk& chunk, const Segment& segment,
                     int16_t* sums) {
    using Pairs = Register<uint16_t, n_bytes>;
    using Signed = Register<int16_t, n_bytes>;
    constexpr auto lanes = std::make_index_sequence<n_bytes / 2>();
    constexpr size_t AHEAD = 8;  // rows between the prefetch of one and its use
    const int32_t* entries = chunk.entries.data();
    const uint8_t* weights = chunk.weights.data();
    Pairs pairs[n_vectors] = {}, odd[n_vectors] = {};
    uint32_t size = segment.heavy - segment.begin;
    for (size_t at = segment.begin; at < segment.heavy; at++) {
        const int8_t* row = table + static_cast<size_t>(entries[at]) * TILE;
        const int8_t* soon =
            table +
            static_cast<size_t>(entries[at + AHEAD < segment.heavy ? at + AHEAD : at]) * TILE;
        for (size_t byte = 0; byte < n_vectors * n_bytes; byte += CACHE_LINE) prefetch(soon + byte);
        for (size_t k = 0; k < n_vectors; k++) {
            Pairs values = load_register<uint16_t, n_bytes>(row + k * n_bytes);
            keep(values);
            pairs[k] += values;
            odd[k] += (Pairs)((Signed)values >> 8);
        }
    }
    for (size_t at = segment.heavy; at < segment.end; at++) {
        const int8_t* row = table + static_cast<size_t>(entries[at]) * TILE;
        uint16_t weight = weights[at];
        size += weight;
        for (size_t k = 0; k < n_vectors; k++) {
            Pairs values = load_register<uint16_t, n_bytes>(row + k * n_bytes);
            keep(values);
            pairs[k] += values * weight;
            odd[k] += (Pairs)((Signed)values >> 8) * weight;
        }
    }
    for (size_t k = 0; k < n_vectors; k++) {
        Pairs even = pairs[k] - (odd[k] << 8) - static_cast<uint16_t>(BIAS * size);
        store_register(sums + k * n_bytes, in_turn<0>(even, odd[k], lanes));
        store_register(sums + k * n_bytes + n_bytes / 2, in_turn<1>(even, odd[k], lanes));
    }
}

template <size_t n_bytes>
inline void add_segment(const int8_t* table, const Chunk& chunk, const Segment& segment,
                        size_t width, int16_t* sums) {
    size_t column = 0;
    for (; column + VECTORS * n_bytes <= width; column += VECTORS * n_bytes)
        add_rows<n_bytes, VECTORS>(table + column, chunk, segment, sums + column);
    for (; column < width; column += n_bytes)
        add_rows<n_bytes, 1>(table + column, chunk, segment, sums + column);
}

// Add products in the order of the columns, each rounded before it is added, for n_bytes
// hyperplanes. Each register of sums has those of one byte of each 64-bit word; `in_order` undoes
// that.
template <size_t n_bytes>
inline void add_products(const int8_t* table, const int32_t* entries, const double* values,
                         size_t n, bool are_first, double* sums) {
    using Words = Register<uint64_t, n_bytes>;
    using Numbers = Register<double, n_bytes>;
    constexpr uint64_t TWO_52 =
        0x4330000000000000u;  // 2**52 as a double, plus a number below 2**52
    Numbers totals[8];
    for (size_t k = 0; k < 8; k++)
        totals[k] = are_first ? Numbers{} : load_register<double, n_bytes>(sums + k * n_bytes / 8);
    for (size_t at = 0; at < n; at++) {
        const int8_t* row = table + static_cast<size_t>(entries[at]) * TILE;
        Words eights =
            load_register<uint64_t, n_bytes>(row) ^ 0x8000800080008000u;  // each byte plus 128
        for (uint64_t k = 0; k < 8; k++) {
            Words byte = k < 7 ? eights >> 8 * k & 0xFFu : eights >> 56;
            Numbers coefficients = (Numbers)(byte | TWO_52) - (4503599627370496.0 + 128.0);
            totals[k] += values[at] * coefficients;
        }
    }
    for (size_t k = 0; k < 8; k++) store_register(sums + k * n_bytes / 8, totals[k]);
}

template <size_t n_bytes>
inline void in_order(const double* sums, size_t width, double* ordered) {
    for (size_t column = 0; column < width; column += n_bytes)
        for (size_t k = 0; k < 8; k++)
            for (size_t i = 0; i < n_bytes / 8; i++)
                ordered[column + 8 * i + k] = sums[column + n_bytes / 8 * k + i];
}

// Project the slices of a chunk on a tile: start or continue the sums of rows.
template <size_t n_bytes>
inline void project_slices(const int8_t* table, const Chunk& chunk, const int64_t* indptr,
                           const double* data, size_t first, size_t width, double* sums,
                           const Output& output) {
    int16_t segment_sums[TILE];
    double ordered[TILE];
    for (size_t number = 0; number < chunk.slices.size(); number++) {
        const Slice& slice = chunk.slices[number];
        if (slice.is_count) {
            add_segment<n_bytes>(table, chunk, chunk.segments[slice.begin], width, segment_sums);
            write(segment_sums, slice.row, first, width, 1.0, output);
            continue;
        }
        bool is_first = slice.first == static_cast<size_t>(indptr[slice.row]);
        if (slice.are_integers) {
            if (is_first)
                for (size_t i = 0; i < width; i++) sums[i] = 0;
            for (size_t at = slice.begin; at < slice.end; at++) {  // sums below 2**53: exact
                double factor = chunk.segments[at].factor;
                add_segment<n_bytes>(table, chunk, chunk.segments[at], width, segment_sums);
                for (size_t i = 0; i < width; i++) sums[i] += segment_sums[i] * factor;
            }
        } else {
            constexpr size_t n =
                32;  // the part of the table that they need stays in the first cache
            for (size_t at = slice.begin; at < slice.end; at += n)
                for (size_t column = 0; column < width; column += n_bytes)
                    add_products<n_bytes>(table + column, chunk.entries.data() + at,
                                          data + slice.first + (at - slice.begin),
                                          slice.end - at < n ? slice.end - at : n,
                                          is_first && at == slice.begin, sums + column);
        }
        if (slice.last == static_cast<size_t>(indptr[slice.row + 1])) {
            if (!slice.are_integers) in_order<n_bytes>(sums, width, ordered);
            write(slice.are_integers ? sums : ordered, slice.row, first, width, 1.0, output);
        }
    }
}

// Project a chunk on all hyperplanes. (No template: this is compiled for each level.)
inline void project_chunk(const Chunk& chunk, const int64_t* indptr, const double* data,
                          const Coefficients& coefficients, Buffer<int8_t>& memory,
                          Buffer<double>& sums, const Output& output) {
    Buffer<ColumnStarts> starts(chunk.n_columns);
    start_columns(chunk.columns.data(), chunk.n_columns, coefficients.keys, starts.data());
    memory.resize(chunk.n_columns * TILE + CACHE_LINE);
    int8_t* table = memory.data() + (-reinterpret_cast<std::uintptr_t>(memory.data()) % CACHE_LINE);
    at_best_width([&]<size_t n_bytes>(Bytes<n_bytes>) {
        for (size_t first = 0; first < sums.size(); first += TILE) {
            size_t width = sums.size() - first < TILE ? sums.size() - first : TILE;
            write_coefficients<n_bytes>(starts.data(), chunk.n_columns, first, width, coefficients,
                                        BIAS, table, TILE);
            project_slices<n_bytes>(table, chunk, indptr, data, first, width, sums.data() + first,
                                    output);
        }
    });
}

// Add the products of a value with the coefficients of the code released with the paper.
inline void add_google(uint32_t signature, double value, Vector<const int64_t> seeds,
                       double* __restrict sums) {
    at_best_level([=] {
        for (size_t i = 0; i < seeds.size; i++) {
            uint64_t product = uint64_t{signature} * static_cast<uint32_t>(seeds[i]);
            // Modulo 2**31 - 1, the upper bits count as much as the lower ones.
            auto residue = static_cast<uint32_t>((product & PRIME) + (product >> 31));
            residue -= residue >= PRIME ? PRIME : 0;
            residue -= residue > PRIME / 2 ? PRIME : 0;
            sums[i] += value * static_cast<int32_t>(residue);
        }
    });
}

// Project a row as that code does, and return whether it is not all zeros.
template <class Index>
bool project_google(size_t row, const Index* columns, const double* values, size_t n,
                    Vector<const int64_t> seeds, Buffer<double>& sums, const Output& output) {
    double size = 0;
    for (size_t i = 0; i < n; i++) size += std::abs(values[i]);
    if (size == 0) return false;
    sums.fill(0);
    for (size_t i = 0; i < n; i++) {
        auto signature = static_cast<uint32_t>((columns[i] % int64_t{PRIME} + PRIME) % PRIME);
        add_google(signature, values[i], seeds, sums.data());
    }
    for (size_t first = 0; first < sums.size(); first += TILE)
        write(sums.data() + first, row, first,
              sums.size() - first < TILE ? sums.size() - first : TILE, size, output);
    return true;
}

// Find for each row the first row that is equal to it, bit by bit.
template <class Index>
void first_equal_rows(Vector<const int64_t> indptr, Vector<const Index> indices,
                      Vector<const double> data, Vector<int64_t> firsts) {
    size_t n_slots = 2;
    while (n_slots <= 2 * firsts.size) n_slots *= 2;
    Buffer<int64_t> slots(n_slots, -1);
    auto word = [&](size_t at) { return std::bit_cast<uint64_t>(data[at]); };
    for (size_t row = 0; row < firsts.size; row++) {
        size_t start = static_cast<size_t>(indptr[row]),
               stop = static_cast<size_t>(indptr[row + 1]);
        uint64_t state = stop - start;
        for (size_t at = start; at < stop; at++) {
            uint64_t mixed = (static_cast<uint64_t>(indices[at]) * GAMMA) ^ word(at);
            state = std::rotl(state, 7) + (mixed ^ (mixed >> 32));
        }
        for (size_t slot = mix_word(state);; slot++) {
            int64_t& first = slots[slot & (n_slots - 1)];
            if (first < 0) {
                first = firsts[row] = static_cast<int64_t>(row);
                break;
            }
            size_t other = static_cast<size_t>(indptr[first]), n = stop - start, i = 0;
            if (static_cast<size_t>(indptr[first + 1]) - other != n) continue;
            while (i < n && indices[start + i] == indices[other + i] &&
                   word(start + i) == word(other + i))
                i++;
            if (i == n) {
                firsts[row] = first;
                break;
            }
        }
    }
}

// Project the rows of a CSR matrix. The first of equal rows is projected, and copied to the others.
template <class Index>
void project_rows(Vector<const int64_t> indptr, Vector<const Index> indices,
                  Vector<const double> data, Vector<int64_t> firsts, int kind, size_t n,
                  Vector<const uint32_t> keys, uint64_t threshold, Vector<const int8_t> quantiles,
                  Vector<const int64_t> seeds, Vector<const uint8_t> ties, double scale, int form,
                  Matrix<uint8_t> out, size_t max_columns, size_t max_entries, size_t max_slice) {
    Output output{form, out, ties.data, n, scale};
    Buffer<double> sums(ties.size);  // of a tile: for a row that continues in the next chunk
    if (kind == GOOGLE) {
        for (size_t row = 0; row < firsts.size; row++) {
            auto start = static_cast<size_t>(indptr[row]),
                 size = static_cast<size_t>(indptr[row + 1]) - start;
            if (firsts[row] == static_cast<int64_t>(row) &&
                !project_google(row, indices.data + start, data.data + start, size, seeds, sums,
                                output))
                firsts[row] = ZEROS;
        }
    } else {
        Coefficients coefficients(kind, keys, threshold, quantiles);
        Chunk chunk(data.size, max_columns, max_entries, max_slice);
        Buffer<int8_t> memory;  // of the table
        for (size_t row = 0, value = 0; row < firsts.size; chunk.clear()) {
            chunk.append(indptr.data, indices.data, data.data, firsts, row, value);
            project_chunk(chunk, indptr.data, data.data, coefficients, memory, sums, output);
        }
    }
    for (size_t row = 0; row < firsts.size; row++) {
        if (firsts[row] == ZEROS)
            std::memset(out[row], form == SIGNS ? 0xFF : 0, out.columns);
        else if (firsts[row] != static_cast<int64_t>(row))
            std::memcpy(out[row], out[static_cast<size_t>(firsts[row])], out.columns);
    }
}

}  // namespace hashnlp
