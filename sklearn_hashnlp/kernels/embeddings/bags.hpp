// Forward and backward pass of bags: documents of weighted ids to sums of their hash embeddings.
#pragma once

#include <cmath>

#include "levels.hpp"
#include "weighted_rows.hpp"

namespace hashnlp {

enum BagNorm : int64_t { NO_BAG_NORM = 0, L1_BAG_NORM = 1, L2_BAG_NORM = 2 };

// The options of a bag.
struct BagLayout {
    int64_t variant;
    bool concat;         // whether components are concatenated rather than summed
    bool append_weight;  // whether the sum of the importance weights follows the vector
    int64_t norm;
};

// Compute the vector of a document, and return the norm by which it is divided. The document has
// the values from begin to end, k for each of its ids; `each` is called for all of them, and the
// weights' sums are appended if it is asked for.
template <class T, class Each>
inline T embed_bag(const T* weights, const int32_t* slots, size_t begin, size_t end, size_t k,
                   const BagLayout& layout, bool append_weight, Matrix<const T> pool, Each each,
                   T* __restrict vector) {
    size_t width = pool.columns, n_parts = layout.concat ? k : 1, length = n_parts * width;
    bool squared = layout.norm == L2_BAG_NORM;
    auto row = [=](size_t at) { return pool[static_cast<size_t>(slots[at])]; };
    auto weight = [=](size_t at) { return weights[at]; };
    T total = 0, appended = 0;
    auto measure = [&](size_t at) {
        appended += weights[at];
        total += squared ? weights[at] * weights[at] : std::abs(weights[at]);
    };
    for (size_t column = 0; column < length; column++) vector[column] = 0;
    if (k == 1) {  // all sums at once: they do not wait for each other
        auto both = [&](size_t at) {
            each(at);
            measure(at);
        };
        add_rows(begin, end, 1, row, weight, both, vector, width);
        if (append_weight) vector[length] = appended;
    } else {
        for (size_t i = 0; i < k; i++) {
            appended = 0;
            for (size_t at = begin + i; at < end; at += k) measure(at);
            if (append_weight) vector[length + i] = appended;
        }
        for (size_t i = 0; i < n_parts; i++)
            add_rows(begin + i, end, n_parts, row, weight, each, vector + i * width, width);
    }
    total *= static_cast<T>(1.0 / static_cast<double>(k));
    if (squared) total = std::sqrt(total);
    if (layout.norm == NO_BAG_NORM || total == 0) total = 1;
    length += append_weight ? k : 0;
    for (size_t column = 0; column < length; column++) vector[column] /= total;
    return total;
}

// Compute the vectors and norms of documents, and the weights of their values, importance times
// count; without rows of importance weights the counts.
template <class T>
void embed_bags(Vector<const int32_t> rows, Matrix<const int32_t> slots,
                Vector<const int64_t> offsets, Vector<const T> counts, Matrix<const T> pool,
                Matrix<const T> importance, int64_t variant, bool concat, bool append_weight,
                int64_t norm, Matrix<T> documents, Vector<T> norms, Matrix<T> weights) {
    constexpr size_t AHEAD = 16;  // values between the prefetch of a row and its use
    size_t k = slots.columns, width = pool.columns, last = counts.size - 1;
    BagLayout layout{variant, concat, append_weight, norm};
    bool standard = importance.rows == 0;
    at_best_level([&] {
        for (size_t document = 0; document < norms.size; document++) {
            auto start = static_cast<size_t>(offsets[document]),
                 stop = static_cast<size_t>(offsets[document + 1]);
            for (size_t j = start; j < stop; j++) {
                size_t ahead = j + AHEAD < last ? j + AHEAD : last;
                for (size_t i = 0; i < k; i++)
                    prefetch_row(pool[static_cast<size_t>(slots[ahead][i])], width);
                if (standard) {
                    for (size_t i = 0; i < k; i++) weights[j][i] = counts[j];
                    continue;
                }
                prefetch_row(importance[static_cast<size_t>(rows[ahead])], k);
                const T* factors = importance[static_cast<size_t>(rows[j])];
                for (size_t i = 0; i < k; i++) weights[j][i] = counts[j] * factors[i];
            }
            norms[document] = embed_bag<T>(
                weights.data, slots.data, start * k, stop * k, k, layout,
                append_weight && !standard, pool, [](size_t) {}, documents[document]);
        }
    });
}

// The values of each row, as group_rows returns them.
struct Groups {
    Vector<const int32_t> order;
    Vector<const int64_t> starts, rows;

    template <class Each>
    void for_each(size_t group, Each each) const {
        for (auto at = static_cast<size_t>(starts[group]);
             at < static_cast<size_t>(starts[group + 1]); at++)
            each(static_cast<size_t>(order[at]));
    }
};

// Add the gradients of the rows of both tables to zeros, each in the order of its occurrences.
template <class T>
void bag_gradients(Matrix<const T> gradients, Matrix<const T> documents, Vector<const T> norms,
                   Matrix<const T> weights, Vector<const T> counts, Matrix<const T> pool,
                   bool concat, bool append_weight, int64_t norm,
                   Matrix<const int32_t> owners,  // (n_values, k): document of each value
                   const Groups& pool_groups, Matrix<T> pool_values,
                   const Groups& importance_groups,
                   Matrix<T> importance_values) {  // (0, k) for none
    constexpr size_t AHEAD = 16;                   // rows between the prefetch of a row and its use
    size_t k = weights.columns, width = pool.columns, n_columns = gradients.columns;
    bool standard = importance_values.rows == 0;
    Buffer<T> of_sums(gradients.rows * n_columns), of_norms(gradients.rows),
        products(standard ? 0 : weights.rows * k);
    at_best_level([&] {
        // From the gradient of a document's vector to the gradients of its sum and its norm.
        for (size_t document = 0; document < gradients.rows; document++) {
            const T* __restrict gradient = gradients[document], * __restrict vector =
                                                                    documents[document];
            T* __restrict of_sum = of_sums.data() + document * n_columns;
            T total = ordered_dot(gradient, vector, n_columns);
            for (size_t column = 0; column < n_columns; column++)
                of_sum[column] = gradient[column] / norms[document];
            of_norms[document] = total / norms[document];
        }
        for (size_t group = 0; group < pool_groups.rows.size; group++) {
            T* __restrict total = pool_values[group];
            size_t ahead =
                group + AHEAD < pool_groups.rows.size ? group + AHEAD : pool_groups.rows.size - 1;
            if (!standard) prefetch_row(pool[static_cast<size_t>(pool_groups.rows[ahead])], width);
            const T* __restrict row = pool[static_cast<size_t>(pool_groups.rows[group])];
            pool_groups.for_each(group, [&](size_t value) {
                size_t first = concat ? value % k * width : 0;
                const T* __restrict gradient =
                    of_sums.data() + static_cast<size_t>(owners.data[value]) * n_columns + first;
                add_scaled(total, weights.data[value], gradient, width);
                if (standard) return;
                products[value] = ordered_dot(row, gradient, width);
            });
        }
        T share = static_cast<T>(1.0 / static_cast<double>(k));
        for (size_t group = 0; group < importance_values.rows; group++) {
            T* __restrict total = importance_values[group];
            importance_groups.for_each(group, [&](size_t j) {
                auto document = static_cast<size_t>(owners[j][0]);
                const T* appended = of_sums.data() + (document + 1) * n_columns - k;
                for (size_t i = 0; i < k; i++) {
                    T gradient = products[j * k + i], weight = weights[j][i];
                    if (append_weight) gradient += appended[i];
                    if (norm == L2_BAG_NORM)
                        gradient -= of_norms[document] * share * weight / norms[document];
                    else if (norm == L1_BAG_NORM)
                        gradient -= of_norms[document] * share *
                                    static_cast<T>((weight > 0) - (weight < 0));
                    total[i] += counts[j] * gradient;
                }
            });
        }
    });
}

}  // namespace hashnlp
