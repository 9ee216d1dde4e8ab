// Sums in a written order: eight lanes and then a fixed tree, so that each instruction set computes
// the same bits.
//
// The lanes fill one vector register or several, so that compilers keep them there: BYTES is the
// size of a register. A result depends neither on it nor on the other results of a block.
#pragma once

#include <cstddef>
#include <cstring>

#include "levels.hpp"

namespace hashnlp {

constexpr size_t N_LANES = 8;

template <class T, size_t BYTES>
struct Lanes {
    static constexpr size_t WIDTH = BYTES < N_LANES * sizeof(T) ? BYTES / sizeof(T) : N_LANES;
    static constexpr size_t N_PARTS = N_LANES / WIDTH;
    typedef T Part __attribute__((vector_size(WIDTH * sizeof(T))));
    typedef T Unaligned
        __attribute__((vector_size(WIDTH * sizeof(T)), aligned(alignof(T)), may_alias));
    Part parts[N_PARTS];

    [[gnu::always_inline]] void load(const T* values) {
#pragma GCC unroll 4
        for (size_t i = 0; i < N_PARTS; i++)
            parts[i] = *reinterpret_cast<const Unaligned*>(values + i * WIDTH);
    }

    [[gnu::always_inline]] void add_product(const Lanes& u, const Lanes& v) {
#pragma GCC unroll 4
        for (size_t i = 0; i < N_PARTS; i++) parts[i] += u.parts[i] * v.parts[i];
    }

    // Sum the lanes in pairs: each of the lower half with one of the upper.
    [[gnu::always_inline]] T sum() const {
        typedef T Half __attribute__((vector_size(N_LANES / 2 * sizeof(T))));
        Half lower, upper;
        std::memcpy(&lower, parts, sizeof lower);
        std::memcpy(&upper, reinterpret_cast<const char*>(parts) + sizeof lower, sizeof upper);
        lower += upper;
        return (lower[0] + lower[2]) + (lower[1] + lower[3]);
    }
};

// Compute the dot product of each of `ROWS` vectors u with each of `COLUMNS` vectors v: a number
// that is loaded is used several times. The last n % 8 products are added one by one.
template <size_t BYTES, size_t ROWS, size_t COLUMNS, class T>
[[gnu::always_inline]] inline void dot_block(const T* const (&u)[ROWS],
                                             const T* const (&v)[COLUMNS], size_t n,
                                             T (&products)[ROWS][COLUMNS]) {
    Lanes<T, BYTES> sums[ROWS][COLUMNS] = {}, left[ROWS], right;
    size_t at = 0;
    for (; at + N_LANES <= n; at += N_LANES) {
#pragma GCC unroll 4
        for (size_t row = 0; row < ROWS; row++) left[row].load(u[row] + at);
#pragma GCC unroll 4
        for (size_t column = 0; column < COLUMNS; column++) {
            right.load(v[column] + at);
#pragma GCC unroll 4
            for (size_t row = 0; row < ROWS; row++) sums[row][column].add_product(left[row], right);
        }
    }
#pragma GCC unroll 4
    for (size_t row = 0; row < ROWS; row++)
#pragma GCC unroll 4
        for (size_t column = 0; column < COLUMNS; column++)
            products[row][column] = sums[row][column].sum();
    for (; at < n; at++)
        for (size_t row = 0; row < ROWS; row++)
            for (size_t column = 0; column < COLUMNS; column++)
                products[row][column] += u[row][at] * v[column][at];
}

}  // namespace hashnlp
