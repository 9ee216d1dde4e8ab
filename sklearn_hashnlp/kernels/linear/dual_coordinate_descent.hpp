// Dual coordinate descent for linear support vector machines, and the log-odds of naive Bayes.
#pragma once

#include <cmath>

#include "levels.hpp"
#include "vector_math.hpp"
#include "weighted_rows.hpp"

namespace hashnlp {

// Sparse rows and their targets.
struct LinearRows {
    Vector<const int64_t> offsets;  // (n_rows + 1,)
    Vector<const int32_t> columns;  // (n_values,)
    Vector<const float> values;     // (n_values,)
    Vector<const int64_t> labels;   // (n_rows,): the output that a row is positive for, if any

    size_t start(size_t row) const { return static_cast<size_t>(offsets[row]); }
    size_t stop(size_t row) const { return static_cast<size_t>(offsets[row + 1]); }
};

// Add the squared norm of each row; values of one column in one row are summed first, in `sums`,
// which are zeros.
inline void add_squares(const LinearRows& rows, Vector<float> sums, Vector<float> squares) {
    for (size_t row = 0; row < squares.size; row++) {
        size_t start = rows.start(row), stop = rows.stop(row);
        float square = squares[row];
        for (size_t at = start; at < stop; at++) sums[rows.columns[at]] += rows.values[at];
        for (size_t at = start; at < stop; at++) square += rows.values[at] * sums[rows.columns[at]];
        for (size_t at = start; at < stop; at++) sums[rows.columns[at]] = 0;
        squares[row] = square;
    }
}

// Take one step for each row and output. Of each output it minimizes
// sum(weights**2) / 2 + sum(costs * max(0, 1 - y * score)**2) (Hsieh et al. 2008).
inline void descend(const LinearRows& rows, Vector<const float> squares, Vector<const float> costs,
                    Vector<const int64_t> order, Matrix<float> weights, Vector<float> bias,
                    Matrix<float> dual) {
    constexpr size_t
        LINE = 16,
        AHEAD = 32;  // values of a cache line, and between the prefetch of a row and its use
    size_t n_outputs = bias.size, last = rows.columns.size - 1;
    Buffer<float> memory(2 * n_outputs);
    float* __restrict scores = memory.data(), * __restrict steps = scores + n_outputs;
    at_best_level([&] {
        const int32_t* __restrict columns = rows.columns.data;
        const float* __restrict values = rows.values.data;
        auto weight_row = [=](size_t at) {
            return weights.data + static_cast<size_t>(columns[at]) * n_outputs;
        };
        auto value = [=](size_t at) { return values[at]; };
        for (size_t i = 0; i < order.size; i++) {
            auto row = static_cast<size_t>(order[i]);
            size_t start = rows.start(row), stop = rows.stop(row);
            size_t next = rows.start(static_cast<size_t>(order[i + 1 < order.size ? i + 1 : i]));
            auto later = static_cast<size_t>(order[i + 2 < order.size ? i + 2 : i]);
            for (size_t at = rows.start(later); at < rows.stop(later); at += LINE) {
                prefetch(columns + at);
                prefetch(values + at);
            }
            auto each = [&](size_t at) {
                size_t ahead = at + AHEAD < stop ? at + AHEAD : next + (at + AHEAD - stop);
                prefetch_row(weight_row(ahead < last ? ahead : last), n_outputs);
            };
            for (size_t output = 0; output < n_outputs; output++) scores[output] = bias[output];
            add_rows(start, stop, 1, weight_row, value, each, scores, n_outputs);
            float diagonal = 1.0f / (costs[row] + costs[row]), size = squares[row] + diagonal;
            float* __restrict duals = dual[row];
            auto label = static_cast<int32_t>(rows.labels[row]),
                 n = static_cast<int32_t>(n_outputs);
            bool changed = false;
            for (int32_t output = 0; output < n; output++) {
                float sign = label == output ? 1.0f : -1.0f, before = duals[output];
                float after = before - (sign * scores[output] - 1.0f + before * diagonal) / size;
                after = after > 0 ? after : 0.0f;
                duals[output] = after;
                steps[output] = sign * (after - before);
                changed |= after != before;
            }
            if (!changed) continue;
            for (size_t output = 0; output < n_outputs; output++) bias[output] += steps[output];
            if (n_outputs == 1)
                for (size_t at = start; at < stop; at++) *weight_row(at) += values[at] * steps[0];
            else
                for (size_t at = start; at < stop; at++)
                    add_scaled(weight_row(at), values[at], steps, n_outputs);
        }
    });
}

// Add the values of rows to the sums of their columns: over the rows of an output, and over all
// rows, which is minus infinity with a negative value.
inline void add_by_label(const LinearRows& rows, Vector<const float> costs, Matrix<float> own,
                         Vector<float> total) {
    constexpr size_t AHEAD = 16;  // values between the prefetch of a sum and its use
    size_t last = rows.columns.size - 1;
    for (size_t row = 0; row < rows.labels.size; row++) {
        int64_t label = rows.labels[row];
        for (size_t at = rows.start(row); at < rows.stop(row); at++) {
            auto ahead = static_cast<size_t>(rows.columns[at + AHEAD < last ? at + AHEAD : last]);
            prefetch(&total[ahead]);
            prefetch(own[ahead] + (label >= 0 ? label : 0));
            auto column = static_cast<size_t>(rows.columns[at]);
            float value = costs[row] * rows.values[at];
            total[column] += rows.values[at] >= 0 ? value : -HUGE_VALF;
            if (label >= 0) own[column][label] += value;
        }
    }
}

// Convert the sums of add_by_label to log-odds, in `own`: zero for a column with a negative value.
// `sums` are the smoothed sums of no values.
inline void to_log_odds(Matrix<float> own, Vector<const float> total, float smoothing,
                        Vector<double> sums) {
    double everything = 2 * sums[0];
    for (size_t column = 0; column < total.size; column++) {
        if (!(total[column] >= 0)) continue;
        everything += static_cast<double>(total[column]);
        for (size_t output = 0; output < sums.size; output++)
            sums[output] += static_cast<double>(own[column][output]);
    }
    for (double& sum : sums) sum = log_of_positive(sum) - log_of_positive(everything - sum);
    for (size_t column = 0; column < total.size; column++) {
        for (size_t output = 0; output < sums.size; output++) {
            float& one = own[column][output];
            float other = total[column] - one;
            other = other > 0 ? other : 0.0f;  // the difference may round below zero
            auto odds = static_cast<double>((one + smoothing) / (other + smoothing));
            one = total[column] >= 0
                      ? static_cast<float>(log_of_positive(odds)) - static_cast<float>(sums[output])
                      : 0.0f;
        }
    }
}

}  // namespace hashnlp
