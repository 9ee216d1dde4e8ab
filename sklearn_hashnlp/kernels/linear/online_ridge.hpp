// Ridge regression one row after the other, with a diagonal in place of the inverse covariance matrix.
#pragma once

#include "dual_coordinate_descent.hpp"

namespace hashnlp {

// Move the weights towards the target of each row; a column that many rows had moves less. `bias` is the bias and its
// curvature.
inline void learn_rows(const LinearRows& rows, Vector<const double> targets, Vector<const float> costs,
                       Vector<float> weights, Vector<float> curvature, Vector<double> bias, double alpha) {
    // The exact minimum of cost * (target - score)**2 + sum(precision * change**2) over the changes of the weights of a
    // row: change = value / precision * gain * (target - score).
    for (size_t row = 0; row < targets.size; row++) {
        double cost = costs[row], score = bias[0], size = 1.0 / bias[1];
        for (size_t at = rows.start(row); at < rows.stop(row); at++) {
            auto column = static_cast<size_t>(rows.columns[at]);
            double value = rows.values[at];
            score += value * weights[column];
            size += value * value / (alpha + curvature[column]);
        }
        double step = cost * (targets[row] - score) / (1.0 + cost * size);
        bias[0] += step / bias[1];
        bias[1] += cost;
        for (size_t at = rows.start(row); at < rows.stop(row); at++) {
            auto column = static_cast<size_t>(rows.columns[at]);
            double value = rows.values[at];
            weights[column] += static_cast<float>(value * step / (alpha + curvature[column]));
            curvature[column] += static_cast<float>(cost * value * value);
        }
    }
}

}  // namespace hashnlp
