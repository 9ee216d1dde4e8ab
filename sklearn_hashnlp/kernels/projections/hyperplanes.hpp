// Coefficients of random hyperplanes, computed from the index of a column; _hyperplanes.py has the
// specification.
#pragma once

#include <utility>

#include "hashes.hpp"
#include "projections/registers.hpp"

#if defined(__SSSE3__)
#include <immintrin.h>
#endif

namespace hashnlp {

enum Kind : int { NORMAL = 0, SIGN = 1, GOOGLE = 2 };

constexpr size_t GROUP = 32;  // the number of hyperplanes is rounded up to a multiple of it
constexpr uint32_t PRIME = 0x7FFFFFFF;
constexpr uint16_t BIAS = 0x80;

struct ColumnStarts {
    uint32_t state, step;                  // of the words of coefficients
    uint32_t density_state, density_step;  // of the words that decide which coefficients are not 0
};

// What coefficients depend on besides the column.
struct Coefficients {
    static constexpr size_t N_TABLES = 8, TABLE = 16;

    Coefficients(int kind, Vector<const uint32_t> keys, uint64_t threshold,
                 Vector<const int8_t> quantiles)
        : kind(kind), keys(keys.data), threshold(threshold), quantiles(quantiles.data) {
        const int8_t* upper = quantiles.data + N_TABLES * TABLE;
        for (size_t i = 0; i < N_TABLES * TABLE; i++) {
            int8_t change = static_cast<int8_t>(i < TABLE ? upper[i] : upper[i] ^ upper[i - TABLE]);
            tables[i / TABLE][i % TABLE] = tables[i / TABLE][TABLE + i % TABLE] = change;
            auto start = static_cast<int8_t>(i / TABLE * TABLE);
            starts[i / TABLE][i % TABLE] = starts[i / TABLE][TABLE + i % TABLE] = start;
        }
    }

    int kind;
    const uint32_t* keys;     // (4,)
    uint64_t threshold;       // of the words of kept coefficients; all are kept from 2**32 on
    const int8_t* quantiles;  // (256,): value 255 - i is minus value i
    int8_t tables[N_TABLES][2 * TABLE];  // the upper half, each 16 as the difference from the 16
                                         // before, and again
    int8_t starts[N_TABLES][2 * TABLE];  // of the tables, in registers: the compiler would compute
                                         // them for each column
};

inline uint32_t start_column(int64_t column, uint32_t key) {
    return fmix32(fmix32(static_cast<uint32_t>(column) ^ key) ^
                  static_cast<uint32_t>(column >> 32));
}

inline void start_columns(const int64_t* columns, size_t n, const uint32_t* keys,
                          ColumnStarts* starts) {
    for (size_t i = 0; i < n; i++)
        starts[i] = {start_column(columns[i], keys[0]), start_column(columns[i], keys[1]) | 1,
                     start_column(columns[i], keys[2]), start_column(columns[i], keys[3]) | 1};
}

// Look up the four lowest bits of each byte in a table of 16; the result is 0 where its highest bit
// is set. (References: a register as an argument would need its instruction set from callers.)
#if defined(__SSSE3__)
[[gnu::target("avx2")]] inline void look_up(const int8_t* table, const Register<int8_t, 32>& places,
                                            Register<int8_t, 32>& found) {
    found = (Register<int8_t, 32>)_mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i*)table),
                                                      (__m256i)places);
}

inline void look_up(const int8_t* table, const Register<int8_t, 16>& places,
                    Register<int8_t, 16>& found) {
    found = (Register<int8_t, 16>)_mm_shuffle_epi8(_mm_loadu_si128((const __m128i*)table),
                                                   (__m128i)places);
}
#endif

// Look up bytes in the quantiles.
template <size_t n_bytes>
inline Register<int8_t, n_bytes> find_quantiles(const Coefficients& coefficients,
                                                Register<int8_t, n_bytes> bytes) {
    Register<int8_t, n_bytes> found = {};
#if defined(__SSSE3__)
    // If 16 k is subtracted from a byte of 0 ... 127, table k has a say where the byte is at least
    // 16 k.
    Register<int8_t, n_bytes> change, is_upper = bytes < 0, places = ~(bytes ^ is_upper) & 127;
    for (size_t k = 0; k < coefficients.N_TABLES; k++) {
        look_up(coefficients.tables[k],
                places - load_register<int8_t, n_bytes>(coefficients.starts[k]), change);
        found ^= change;
    }
    return is_upper - (found ^ is_upper);
#else
    for (size_t i = 0; i < n_bytes; i++)
        found[i] = coefficients.quantiles[static_cast<uint8_t>(bytes[i])];
    return found;
#endif
}

// Write n coefficients: the quantiles of the bytes of words.
template <size_t n_bytes>
inline void write_quantiles(ColumnStarts start, size_t first, size_t n,
                            const Coefficients& coefficients, uint16_t bias, int8_t* out) {
    constexpr uint32_t n_words = n_bytes / 4;
    uint32_t states[n_words];
    for (uint32_t i = 0; i < n_words; i++)
        states[i] = start.state + static_cast<uint32_t>(first / 4 + i) * start.step;
    auto state = load_register<uint32_t, n_bytes>(states);
    for (size_t at = 0; at < n; at += n_bytes) {
        auto word = (state ^ (state >> 16)) * 0x85EBCA6Bu;  // fmix32
        word = (word ^ (word >> 13)) * 0xC2B2AE35u;
        word ^= word >> 16;
        auto found = find_quantiles<n_bytes>(coefficients, (Register<int8_t, n_bytes>)word);
        store_register(out + at, (Register<uint16_t, n_bytes>)found ^ bias);
        state += n_words * start.step;
    }
}

// Return 1 for each bit of a word that is set, from the lowest, and -1 for the others.
template <size_t... i>
inline Register<uint16_t, sizeof...(i)> signs_of(uint32_t word, std::index_sequence<i...>) {
    constexpr size_t n_bytes = sizeof...(i);
    using Signs = Register<int8_t, n_bytes>;
    Signs bytes = (Signs)(word + Register<uint32_t, n_bytes>{});
    bytes =
        __builtin_shufflevector(bytes, bytes, (i / 16 * 16 + i / 8)...);  // no byte leaves its 16
    Signs is_set = (bytes & Signs{static_cast<int8_t>(1 << i % 8)...}) != 0;
    return (Register<uint16_t, n_bytes>)~(is_set + is_set);
}

// Write n coefficients: the signs that the bits of words stand for.
template <size_t n_bytes>
inline void write_signs(ColumnStarts start, size_t first, size_t n, uint16_t bias, int8_t* out) {
    constexpr auto bits = std::make_index_sequence<n_bytes>();
    for (size_t at = 0; at < n; at += GROUP) {
        uint32_t word =
            fmix32(start.state + static_cast<uint32_t>((first + at) / GROUP) * start.step);
        store_register(out + at, signs_of(word, bits) ^ bias);
        if (n_bytes < GROUP) store_register(out + at + n_bytes, signs_of(word >> 16, bits) ^ bias);
    }
}

// Write the coefficients of columns in n hyperplanes from the first one, both multiples of GROUP.
// With BIAS, 128 is added to those of even hyperplanes: a pair of bytes, as one number, is 256
// times the second plus the first plus 128.
template <size_t n_bytes>
inline void write_coefficients(const ColumnStarts* starts, size_t n_columns, size_t first, size_t n,
                               const Coefficients& coefficients, uint16_t bias, int8_t* out,
                               size_t stride) {
    bool all_stay = coefficients.threshold >> 32 > 0;
    for (size_t column = 0; column < n_columns; column++, out += stride) {
        ColumnStarts start = starts[column];
        if (coefficients.kind == NORMAL)
            write_quantiles<n_bytes>(start, first, n, coefficients, all_stay ? bias : 0, out);
        else
            write_signs<n_bytes>(start, first, n, all_stay ? bias : 0, out);
        if (all_stay) continue;
        auto threshold = static_cast<uint32_t>(coefficients.threshold), step = start.density_step;
        uint32_t state = start.density_state + static_cast<uint32_t>(first) * step;
        for (size_t i = 0; i < n; i++)
            out[i] = static_cast<int8_t>(
                out[i] * (fmix32(state + static_cast<uint32_t>(i) * step) < threshold));
        for (size_t at = 0; at < n; at += n_bytes)
            store_register(out + at, load_register<uint16_t, n_bytes>(out + at) ^ bias);
    }
}

}  // namespace hashnlp
