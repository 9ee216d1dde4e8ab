// Interpolated Kneser-Ney probabilities of the n-grams of one order.
#pragma once

#include "../memory.hpp"

namespace hashnlp {

// Compute the probability of each n-gram and the backoff weight of each context, 1 if nothing
// follows it.
inline void interpolate(Vector<const int32_t> parents, Vector<const int32_t> suffixes,
                        Vector<const int64_t> counts, Vector<const bool> kept,
                        Vector<const double> discounts, Vector<const double> shorter_probs,
                        Vector<double> probs, Vector<double> weights) {
    auto discount = [&](size_t i) { return discounts[counts[i] < 3 ? counts[i] : 3]; };
    Buffer<double> totals(weights.size, 0.0);
    for (double& weight : weights) weight = 0;
    for (size_t i = 0; i < counts.size; i++) {
        auto count = static_cast<double>(counts[i]);
        totals[parents[i]] += count;
        weights[parents[i]] += kept[i] ? discount(i) : count;
    }
    for (size_t parent = 0; parent < weights.size; parent++)
        weights[parent] = totals[parent] > 0 ? weights[parent] / totals[parent] : 1.0;
    for (size_t i = 0; i < counts.size; i++) {
        bool has_own = kept[i] && counts[i] > 0;
        double own =
            has_own ? (static_cast<double>(counts[i]) - discount(i)) / totals[parents[i]] : 0.0;
        probs[i] = own + weights[parents[i]] * shorter_probs[suffixes[i]];
    }
}

}  // namespace hashnlp
