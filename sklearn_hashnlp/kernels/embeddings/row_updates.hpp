// Optimizer steps on the rows of a table that have a gradient, in place.
#pragma once

#include <cmath>

#include "lanes.hpp"
#include "levels.hpp"
#include "weighted_rows.hpp"

namespace hashnlp {

// Return the sum of squares by eight partial sums, and one of the last elements.
template <class T>
inline T sum_of_squares(const T* values, size_t n) {
    Lanes<T, 32> sums = {}, some;
    size_t at = 0;
    for (; at + N_LANES <= n; at += N_LANES) {
        some.load(values + at);
        sums.add_product(some, some);
    }
    T rest = 0;
    for (; at < n; at++) rest += values[at] * values[at];
    return sums.sum() + rest;
}

// The table, its rows that have a gradient, each once, and the offset of its average; without rows,
// it has none.
template <class T>
struct Updates {
    Matrix<T> table, average_offset;
    Vector<const int64_t> rows;
    T steps_averaged;

    // Call a function for each row, given its index and its number, while the rows after it are
    // read.
    template <class Prefetch, class Update>
    void for_each(Prefetch prefetch_others, Update update) const {
        constexpr size_t AHEAD = 16;  // rows between the prefetch of a row and its use
        for (size_t i = 0; i < rows.size; i++) {
            auto ahead =
                static_cast<size_t>(rows[i + AHEAD < rows.size ? i + AHEAD : rows.size - 1]);
            prefetch_row(table[ahead], table.columns);
            if (average_offset.rows) prefetch_row(average_offset[ahead], table.columns);
            prefetch_others(ahead);
            update(i, static_cast<size_t>(rows[i]));
        }
    }

    // Subtract `rate * direction` from a row.
    void subtract(size_t row, T rate, const T* __restrict direction) const {
        size_t width = table.columns;
        T* __restrict weights = table[row];
        for (size_t column = 0; column < width; column++)
            weights[column] -= rate * direction[column];
        if (!average_offset.rows) return;
        T* __restrict offset = average_offset[row];
        for (size_t column = 0; column < width; column++)
            offset[column] += steps_averaged * (rate * direction[column]);
    }
};

// Take a step of row-wise AdaGrad: G += mean(g**2), w -= lr * g / (sqrt(G) + eps).
template <class T>
void adagrad_rows(Matrix<T> table, Matrix<T> sums, Matrix<T> average_offset,
                  Vector<const int64_t> rows, Matrix<const T> gradients, double lr, double eps,
                  double steps_averaged) {
    Updates<T> updates{table, average_offset, rows, static_cast<T>(steps_averaged)};
    size_t width = table.columns;
    T rate = static_cast<T>(lr), damping = static_cast<T>(eps),
      share = static_cast<T>(1.0 / static_cast<double>(width));
    at_best_level([&] {
        auto update = [&](size_t i, size_t row) {
            T total = sums.data[row] + sum_of_squares(gradients[i], width) * share;
            sums.data[row] = total;
            updates.subtract(row, rate / (std::sqrt(total) + damping), gradients[i]);
        };
        updates.for_each([&](size_t ahead) { prefetch(sums.data + ahead); }, update);
    });
}

// Return base**n for a whole n, by squaring: powers of a C library have bits of their own.
template <class T>
inline T power(T base, T n) {
    double result = 1, factor = static_cast<double>(base);
    for (auto rest = static_cast<uint64_t>(n); rest > 0; rest >>= 1, factor *= factor)
        result *= rest & 1 ? factor : 1;
    return static_cast<T>(result);
}

// Take a step of row-wise Adam; each row has a step count of its own.
template <class T>
void adam_rows(Matrix<T> table, Matrix<T> means, Matrix<T> squares, Matrix<T> steps,
               Matrix<T> average_offset, Vector<const int64_t> rows, Matrix<const T> gradients,
               double lr, double decay_1, double decay_2, double eps, double steps_averaged) {
    Updates<T> updates{table, average_offset, rows, static_cast<T>(steps_averaged)};
    size_t width = table.columns;
    T beta_1 = static_cast<T>(decay_1), beta_2 = static_cast<T>(decay_2),
      share = static_cast<T>(1.0 / static_cast<double>(width));
    at_best_level([&] {
        auto prefetch_others = [&](size_t ahead) {
            prefetch_row(means[ahead], width);
            prefetch(squares.data + ahead);
            prefetch(steps.data + ahead);
        };
        auto update = [&](size_t i, size_t row) {
            const T* __restrict gradient = gradients[i];
            T* __restrict mean = means[row], &square = squares.data[row],
                          step = steps.data[row] += 1;
            for (size_t column = 0; column < width; column++)
                mean[column] = beta_1 * mean[column] + (1 - beta_1) * gradient[column];
            square = beta_2 * square + (1 - beta_2) * sum_of_squares(gradient, width) * share;
            T size = std::sqrt(square / (1 - power(beta_2, step))) + static_cast<T>(eps);
            updates.subtract(row, static_cast<T>(lr) / ((1 - power(beta_1, step)) * size), mean);
        };
        updates.for_each(prefetch_others, update);
    });
}

// Take a step of stochastic gradient descent, w -= lr * g, and count the steps of each row.
template <class T>
void sgd_rows(Matrix<T> table, Matrix<T> steps, Matrix<T> average_offset,
              Vector<const int64_t> rows, Matrix<const T> gradients, double lr,
              double steps_averaged) {
    Updates<T> updates{table, average_offset, rows, static_cast<T>(steps_averaged)};
    at_best_level([&] {
        auto update = [&](size_t i, size_t row) {
            steps.data[row] += 1;
            updates.subtract(row, static_cast<T>(lr), gradients[i]);
        };
        updates.for_each([&](size_t ahead) { prefetch(steps.data + ahead); }, update);
    });
}

// Subtract `decay` times themselves from rows.
template <class T>
void decay_rows(Matrix<T> table, Matrix<T> average_offset, Vector<const int64_t> rows, double decay,
                double steps_averaged) {
    Updates<T> updates{table, average_offset, rows, static_cast<T>(steps_averaged)};
    Buffer<T> before(table.columns);
    at_best_level([&] {
        auto update = [&](size_t, size_t row) {
            for (size_t column = 0; column < table.columns; column++)
                before[column] = table[row][column];
            updates.subtract(row, static_cast<T>(decay), before.data());
        };
        updates.for_each([](size_t) {}, update);
    });
}

// Add `scale * average_offset` to the rows of a table that took a step; the others are not even
// read.
template <class T>
void add_average_offset(Matrix<T> table, Matrix<const T> average_offset, Vector<const T> touched,
                        double scale) {
    at_best_level([&] {
        for (size_t row = 0; row < table.rows; row++)
            if (touched[row] != 0)
                add_scaled(table[row], static_cast<T>(scale), average_offset[row], table.columns);
    });
}

}  // namespace hashnlp
