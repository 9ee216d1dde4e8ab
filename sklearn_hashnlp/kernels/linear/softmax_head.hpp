// Forward and backward pass of a linear layer with softmax and cross-entropy.
#pragma once

#include "levels.hpp"
#include "vector_math.hpp"
#include "weighted_rows.hpp"

namespace hashnlp {

// Compute the scores of a linear layer and the gradients of the mean cross-entropy, which are zeros
// before; return it.
template <class T>
double softmax_head(Matrix<const T> inputs, Matrix<const T> weight, Vector<const T> bias,
                    Vector<const int64_t> targets, Vector<const T> row_weights, Matrix<T> scores,
                    Matrix<T> d_inputs, Matrix<T> d_weight, Vector<T> d_bias) {
    size_t n_classes = bias.size, width = inputs.columns;
    Buffer<T> transposed(width * n_classes), memory(n_classes);
    for (size_t label = 0; label < n_classes; label++)
        for (size_t column = 0; column < width; column++)
            transposed[column * n_classes + label] = weight[label][column];
    return at_best_level([&] {
        T* __restrict d_scores = memory.data();
        double loss = 0;
        for (size_t row = 0; row < inputs.rows; row++) {
            const T* __restrict vector = inputs[row];
            T* __restrict row_scores = scores[row];
            for (size_t label = 0; label < n_classes; label++) row_scores[label] = bias[label];
            auto weights_of = [&](size_t column) { return transposed.data() + column * n_classes; };
            auto value = [=](size_t column) { return vector[column]; };
            add_rows(0, width, 1, weights_of, value, [](size_t) {}, row_scores, n_classes);
            T largest = row_scores[0], total = 0;
            for (size_t label = 1; label < n_classes; label++)
                largest = row_scores[label] > largest ? row_scores[label] : largest;
            for (size_t label = 0; label < n_classes; label++) {
                d_scores[label] = static_cast<T>(
                    exp_of_negative(static_cast<double>(row_scores[label] - largest)));
                total += d_scores[label];
            }
            auto target = static_cast<size_t>(targets[row]);
            T share = row_weights[row] / static_cast<T>(inputs.rows);
            auto log_total = static_cast<T>(log_of_positive(static_cast<double>(total)));
            loss += static_cast<double>(share * (log_total + largest - row_scores[target]));
            T factor = share / total;
            for (size_t label = 0; label < n_classes; label++) d_scores[label] *= factor;
            d_scores[target] -= share;
            for (size_t label = 0; label < n_classes; label++) {
                d_bias[label] += d_scores[label];
                add_scaled(d_inputs[row], d_scores[label], weight[label], width);
                add_scaled(d_weight[label], d_scores[label], vector, width);
            }
        }
        return loss;
    });
}

}  // namespace hashnlp
