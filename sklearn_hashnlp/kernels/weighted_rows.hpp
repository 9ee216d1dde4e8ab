// Weighted sums of rows, a few columns at a time, which stay in registers. Each column is a sum of
// its own, in the order of the rows.
#pragma once

#include "memory.hpp"

namespace hashnlp {

template <class T, size_t n>
struct ColumnsOf {
    typedef T type __attribute__((vector_size(n * sizeof(T))));
};

// Add the first n columns of rows begin, begin + step, ... before end to sums. `row` returns where
// a row begins, `weight` its factor; `each` is called for every row.
template <size_t n, class T, class Row, class Weight, class Each>
inline void add_columns(size_t begin, size_t end, size_t step, Row row, Weight weight, Each each,
                        T* sums) {
    if constexpr (n >= 4) {
        constexpr size_t WIDTH = n < 8 ? n : 8;
        typename ColumnsOf<T, WIDTH>::type total[n / WIDTH], values;
        std::memcpy(&total, sums, sizeof total);
        for (size_t at = begin; at < end; at += step) {
            each(at);
            const T *from = row(at), factor = weight(at);
            for (size_t part = 0; part < n / WIDTH; part++) {
                std::memcpy(&values, from + part * WIDTH, sizeof values);
                total[part] += factor * values;
            }
        }
        std::memcpy(sums, &total, sizeof total);
    } else {
        T total[n];
        for (size_t column = 0; column < n; column++) total[column] = sums[column];
        for (size_t at = begin; at < end; at += step) {
            each(at);
            const T *from = row(at), factor = weight(at);
            for (size_t column = 0; column < n; column++) total[column] += factor * from[column];
        }
        for (size_t column = 0; column < n; column++) sums[column] = total[column];
    }
}

// Add weighted rows to sums. `each` is called once for every row, if these have columns, before it
// is read: what it sums does not wait for the other sums.
template <class T, class Row, class Weight, class Each>
inline void add_rows(size_t begin, size_t end, size_t step, Row row, Weight weight, Each each,
                     T* sums, size_t width) {
    if (width == 0) return;  // as of a layer without outputs
    if (width == 1) return add_columns<1>(begin, end, step, row, weight, each, sums);
    if (width == 2) return add_columns<2>(begin, end, step, row, weight, each, sums);
    if (width == 3) return add_columns<3>(begin, end, step, row, weight, each, sums);
    size_t column;
    if (width >= 16)
        add_columns<16>(begin, end, step, row, weight, each, sums), column = 16;
    else if (width >= 8)
        add_columns<8>(begin, end, step, row, weight, each, sums), column = 8;
    else
        add_columns<4>(begin, end, step, row, weight, each, sums), column = 4;
    auto from = [&](size_t at) { return row(at) + column; };
    auto none = [](size_t) {};
    for (; column + 32 <= width; column += 32)
        add_columns<32>(begin, end, step, from, weight, none, sums + column);
    for (; column + 8 <= width; column += 8)
        add_columns<8>(begin, end, step, from, weight, none, sums + column);
    if (column + 4 <= width)
        add_columns<4>(begin, end, step, from, weight, none, sums + column), column += 4;
    if (column + 1 == width) add_columns<1>(begin, end, step, from, weight, none, sums + column);
    if (column + 2 == width) add_columns<2>(begin, end, step, from, weight, none, sums + column);
    if (column + 3 == width) add_columns<3>(begin, end, step, from, weight, none, sums + column);
}

// Return the dot product of two vectors, summed in the order of their elements.
template <class T>
inline T ordered_dot(const T* u, const T* v, size_t n) {
    T total = 0;
    size_t at = 0;
    for (; at + 4 <= n; at += 4) {
        typename ColumnsOf<T, 4>::type a, b;
        std::memcpy(&a, u + at, sizeof a);
        std::memcpy(&b, v + at, sizeof b);
        a *= b;
        total = (((total + a[0]) + a[1]) + a[2]) + a[3];
    }
    for (; at < n; at++) total += u[at] * v[at];
    return total;
}

// Add the first n elements of a vector times a factor to another.
template <size_t n, class T>
inline void add_scaled_part(T* __restrict total, T factor, const T* __restrict vector) {
    typename ColumnsOf<T, n>::type sums, values;
    std::memcpy(&sums, total, sizeof sums);
    std::memcpy(&values, vector, sizeof values);
    sums += factor * values;
    std::memcpy(total, &sums, sizeof sums);
}

// Add a vector times a factor to another.
template <class T>
inline void add_scaled(T* __restrict total, T factor, const T* __restrict vector, size_t n) {
    size_t at = 0;
    for (; at + 32 <= n; at += 32)
        for (size_t part = at; part < at + 32; part += 8)
            add_scaled_part<8>(total + part, factor, vector + part);
    for (; at + 8 <= n; at += 8) add_scaled_part<8>(total + at, factor, vector + at);
    if (at + 4 <= n) add_scaled_part<4>(total + at, factor, vector + at), at += 4;
    for (; at < n; at++) total[at] += factor * vector[at];
}

}  // namespace hashnlp
