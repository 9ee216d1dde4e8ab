// Weighted sums of rows, a few columns at a time, which stay in registers. Each column is a sum of its own, in the order
// of the rows.
#pragma once

#include "memory.hpp"

namespace hashnlp {

template <class T, size_t n>
struct ColumnsOf {
    typedef T type __attribute__((vector_size(n * sizeof(T))));
};

// Add the first n columns of rows begin, begin + step, ... before end to sums. `row` returns where a row begins, `weight`
// its factor; `each` is called for every row.
template <size_t n, class T, class Row, class Weight, class Each>
inline void add_columns(size_t begin, size_t end, size_t step, Row row, Weight weight, Each each, T* sums) {
    if constexpr (n >= 4) {
        typename ColumnsOf<T, n>::type total, values;
        std::memcpy(&total, sums, sizeof total);
        for (size_t at = begin; at < end; at += step) {
            each(at);
            std::memcpy(&values, row(at), sizeof values);
            total += weight(at) * values;
        }
        std::memcpy(sums, &total, sizeof total);
    } else {
        T total[n];
        for (size_t column = 0; column < n; column++) total[column] = sums[column];
        for (size_t at = begin; at < end; at += step) {
            each(at);
            const T *values = row(at), factor = weight(at);
            for (size_t column = 0; column < n; column++) total[column] += factor * values[column];
        }
        for (size_t column = 0; column < n; column++) sums[column] = total[column];
    }
}

// Add weighted rows to sums. `each` is called once for every row, before it is read; several sums do not wait for each
// other.
template <class T, class Row, class Weight, class Each>
inline void add_rows(size_t begin, size_t end, size_t step, Row row, Weight weight, Each each, T* sums, size_t width) {
    auto none = [](size_t) {};
    size_t column = 0;
    auto from = [&](size_t at) { return row(at) + column; };
    if (width >= 8) {
        add_columns<8>(begin, end, step, row, weight, each, sums);
        for (column = 8; column + 8 <= width; column += 8)
            add_columns<8>(begin, end, step, from, weight, none, sums + column);
        if (column + 4 <= width) {
            add_columns<4>(begin, end, step, from, weight, none, sums + column);
            column += 4;
        }
    } else if (width >= 4) {
        add_columns<4>(begin, end, step, row, weight, each, sums);
        column = 4;
    } else if (width == 1) {
        return add_columns<1>(begin, end, step, row, weight, each, sums);
    } else if (width == 2) {
        return add_columns<2>(begin, end, step, row, weight, each, sums);
    } else {
        return add_columns<3>(begin, end, step, row, weight, each, sums);
    }
    if (width - column == 1) add_columns<1>(begin, end, step, from, weight, none, sums + column);
    if (width - column == 2) add_columns<2>(begin, end, step, from, weight, none, sums + column);
    if (width - column == 3) add_columns<3>(begin, end, step, from, weight, none, sums + column);
}

// Add a vector times a factor to another.
template <class T>
inline void add_scaled(T* __restrict total, T factor, const T* __restrict vector, size_t n) {
    typename ColumnsOf<T, 8>::type sums, values;
    size_t at = 0;
    for (; at + 8 <= n; at += 8) {
        std::memcpy(&sums, total + at, sizeof sums);
        std::memcpy(&values, vector + at, sizeof values);
        sums += factor * values;
        std::memcpy(total + at, &sums, sizeof sums);
    }
    for (; at < n; at++) total[at] += factor * vector[at];
}

}  // namespace hashnlp
