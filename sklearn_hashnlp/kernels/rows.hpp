// Rows of tables grouped, summed, averaged and gathered.
#pragma once

#include <cmath>
#include <tuple>

#include "group_rows.hpp"
#include "levels.hpp"
#include "weighted_rows.hpp"

namespace hashnlp {

// Return the distinct rows, ascending, and the sum of the values of each, in their order.
template <class T>
std::tuple<Buffer<int64_t>, Buffer<T>> sum_rows(Vector<const int32_t> rows, Matrix<const T> values,
                                                size_t n_rows) {
    RowGroups groups = group_rows(rows, n_rows);
    size_t width = values.columns;
    Buffer<T> sums(groups.distinct.size() * width);
    at_best_level([&] {
        for (size_t group = 0; group < groups.distinct.size(); group++) {
            auto start = static_cast<size_t>(groups.starts[group]),
                 stop = static_cast<size_t>(groups.starts[group + 1]);
            T* __restrict total = sums.data() + group * width;
            const T* __restrict first = values[static_cast<size_t>(groups.order[start])];
            for (size_t column = 0; column < width; column++) total[column] = first[column];
            for (size_t i = start + 1; i < stop; i++) {
                const T* __restrict one = values[static_cast<size_t>(groups.order[i])];
                for (size_t column = 0; column < width; column++) total[column] += one[column];
            }
        }
    });
    return {std::move(groups.distinct), std::move(sums)};
}

// Compute the mean of each group of rows of a table; zeros for an empty group. Sums are of Total.
template <class T, class Total>
void mean_rows(Matrix<const T> table, Vector<const int64_t> indices, Vector<const int64_t> offsets,
               Matrix<float> means) {
    Buffer<Total> memory(table.columns);
    at_best_level([&] {
        Total* __restrict total = memory.data();
        for (size_t group = 0; group < means.rows; group++) {
            for (size_t column = 0; column < table.columns; column++) total[column] = 0;
            for (int64_t i = offsets[group]; i < offsets[group + 1]; i++) {
                const T* __restrict row =
                    table[static_cast<size_t>(indices[static_cast<size_t>(i)])];
                for (size_t column = 0; column < table.columns; column++)
                    total[column] += static_cast<Total>(row[column]);
            }
            int64_t n = offsets[group + 1] - offsets[group];
            double count = static_cast<double>(n > 1 ? n : 1);
            float* __restrict mean = means[group];
            for (size_t column = 0; column < table.columns; column++)
                mean[column] = static_cast<float>(static_cast<double>(total[column]) / count);
        }
    });
}

// Compute weighted averages of each group of rows of a table, zeros for an empty group, and the
// reciprocal weight sums.
template <class T>
void average_rows(Matrix<const T> table,
                  Matrix<const int64_t> rows,  // (n_groups, width): -1 for a missing row
                  Matrix<const T> weights,     // (n_averages, width): of the position in a group
                  Cube<T> averages, Matrix<T> scales) {
    Buffer<size_t> memory(rows.columns);
    at_best_level([&] {
        size_t* __restrict present = memory.data();
        for (size_t group = 0; group < rows.rows; group++) {
            const int64_t* __restrict own = rows[group];
            size_t n_present = 0;
            for (size_t position = 0; position < rows.columns; position++)
                if (own[position] >= 0) present[n_present++] = position;
            for (size_t k = 0; k < weights.rows; k++) {
                T total = 0, *__restrict average = averages(group, k);
                auto weight = [&](size_t at) { return weights[k][present[at]]; };
                auto row = [&](size_t at) { return table[static_cast<size_t>(own[present[at]])]; };
                for (size_t column = 0; column < table.columns; column++) average[column] = 0;
                add_rows(
                    0, n_present, 1, row, weight, [&](size_t at) { total += weight(at); }, average,
                    table.columns);
                T scale = total > 0 ? 1 / total : total;
                scales[group][k] = scale;
                for (size_t column = 0; column < table.columns; column++) average[column] *= scale;
            }
        }
    });
}

// Return the distinct rows of averages, ascending, and the gradient of each; `scales` are those of
// average_rows.
template <class T>
std::tuple<Buffer<int64_t>, Buffer<T>> average_rows_gradient(Cube<const T> gradient,
                                                             Matrix<const int64_t> rows,
                                                             Matrix<const T> weights,
                                                             Matrix<const T> scales,
                                                             size_t n_rows) {
    size_t width = gradient.columns, n_positions = rows.columns;
    Buffer<int32_t> flat(rows.rows * n_positions);
    for (size_t at = 0; at < flat.size(); at++)
        flat[at] = static_cast<int32_t>(rows.data[at] + 1);  // 0 for a missing row
    RowGroups groups = group_rows(flat, n_rows + 1);
    size_t first = groups.distinct.size() > 0 && groups.distinct[0] == 0,
           n_groups = groups.distinct.size() - first;
    Buffer<int64_t> distinct(n_groups);
    Buffer<T> sums(n_groups * width, 0);
    at_best_level([&] {
        for (size_t row = 0; row < n_groups; row++) {
            distinct[row] = groups.distinct[row + first] - 1;
            for (auto i = static_cast<size_t>(groups.starts[row + first]);
                 i < static_cast<size_t>(groups.starts[row + first + 1]); i++) {
                auto at = static_cast<uint32_t>(groups.order[i]),
                     width_of_group = static_cast<uint32_t>(n_positions);
                size_t group = at / width_of_group, position = at % width_of_group;
                for (size_t k = 0; k < weights.rows; k++)
                    add_scaled(sums.data() + row * width, weights[k][position] * scales[group][k],
                               gradient(group, k), width);
            }
        }
    });
    return {std::move(distinct), std::move(sums)};
}

// Return the columns, the values and the offsets of some rows of a CSR matrix.
template <class Column, class Index, class T>
std::tuple<Buffer<Column>, Buffer<float>, Buffer<int64_t>> gather_rows(Vector<const Index> indices,
                                                                       Vector<const T> data,
                                                                       Vector<const int64_t> indptr,
                                                                       Vector<const int64_t> rows) {
    constexpr size_t
        AHEAD = 4,
        LINE = 16;  // rows between the prefetch of a row and its use, and values of a cache line
    Buffer<int64_t> offsets(rows.size + 1);
    offsets[0] = 0;
    for (size_t i = 0; i < rows.size; i++)
        offsets[i + 1] = offsets[i] + indptr[static_cast<size_t>(rows[i]) + 1] -
                         indptr[static_cast<size_t>(rows[i])];
    Buffer<Column> columns(static_cast<size_t>(offsets[rows.size]));
    Buffer<float> values(columns.size());
    for (size_t i = 0; i < rows.size; i++) {
        auto ahead = static_cast<size_t>(rows[i + AHEAD < rows.size ? i + AHEAD : rows.size - 1]);
        auto end = static_cast<size_t>(indptr[ahead + 1]), row = static_cast<size_t>(rows[i]);
        for (auto at = static_cast<size_t>(indptr[ahead]); at < end; at += LINE) {
            prefetch(indices.data + at);
            prefetch(data.data + at);
        }
        auto from = static_cast<size_t>(indptr[row]), to = static_cast<size_t>(offsets[i]);
        size_t n = static_cast<size_t>(indptr[row + 1]) - from;
        for (size_t at = 0; at < n; at++) columns[to + at] = indices[from + at];
        for (size_t at = 0; at < n; at++) values[to + at] = static_cast<float>(data[from + at]);
    }
    return {std::move(columns), std::move(values), std::move(offsets)};
}

// Return the length of a row of values, its squares summed in their order.
template <class T>
inline double row_length(const T* values, size_t n) {
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    return std::sqrt(total);
}

// Write the lengths of the rows of a CSR matrix.
template <class Index, class T>
void row_lengths(Vector<const Index> indptr, Vector<const T> data, Vector<double> lengths) {
    for (size_t row = 0; row < lengths.size; row++) {
        auto begin = static_cast<size_t>(indptr[row]);
        lengths[row] = row_length(data.data + begin, static_cast<size_t>(indptr[row + 1]) - begin);
    }
}

// Copy the words before some positions of a text, the oldest first, and the words at the positions.
template <class Position>
void gather_windows(Vector<const int32_t> inputs, Vector<const int32_t> targets,
                    Vector<const Position> positions, Vector<const int64_t> rows,
                    Matrix<int64_t> contexts, Vector<int64_t> words) {
    for (size_t at = 0; at < rows.size; at++) {
        auto position = static_cast<size_t>(positions[static_cast<size_t>(rows[at])]);
        words[at] = targets[position];
        const int32_t* first = inputs.data + (position - contexts.columns);
        for (size_t column = 0; column < contexts.columns; column++)
            contexts[at][column] = first[column];
    }
}

// Set all elements before the last occurrence of a value in each row to that value.
inline void mask_before_last(Matrix<int64_t> rows, int64_t value) {
    for (size_t row = 0; row < rows.rows; row++) {
        bool found = false;
        for (size_t column = rows.columns; column-- > 0;) {
            found |= rows[row][column] == value;
            if (found) rows[row][column] = value;
        }
    }
}

}  // namespace hashnlp
