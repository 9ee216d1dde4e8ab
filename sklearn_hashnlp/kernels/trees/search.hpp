// Search of a hierarchical softmax from the root down: the most probable classes, the greedy one, a
// sampled one.
#pragma once

#include <limits>

#include "trees/features.hpp"

namespace hashnlp {

// The fields are those of _search.py.
template <class T>
struct TreeScorer {
    Vector<const int64_t> children, offsets, first_rows;
    Matrix<const T> weight;
    Vector<const T> bias, direct;
    Vector<const uint64_t> constants;
    size_t max_scores;
};

// Compute the scores of a node for a row, and return their number.
template <size_t BYTES, class T>
inline size_t score_item(Matrix<const T> inputs, Matrix<const int64_t> features, size_t row,
                         int64_t item, const TreeScorer<T>& scorer, T* scores) {
    auto first = static_cast<size_t>(scorer.first_rows[item]),
         n_scores = scorer.first_rows[item + 1] - first;
    const T* bias = scorer.bias.data + first;
    score_node<BYTES, 4>({inputs[row]}, scorer.weight[first], n_scores, inputs.columns,
                         [&](size_t, size_t j, T product) { scores[j] = product + bias[j]; });
    for (size_t i = 0; i < features.columns; i++) {
        int64_t feature = features[row][i];
        if (feature < 0) continue;
        int32_t slot =
            feature_slot(feature, static_cast<size_t>(item), scorer.constants, scorer.direct.size);
        add_entries(scorer.direct, static_cast<size_t>(slot), scores, n_scores);
    }
    return n_scores;
}

// Write e**(score - largest) for each score, and return the sum.
template <class T>
inline double sum_exps(const T* scores, size_t n, double largest, double* __restrict exps) {
    for (size_t j = 0; j < n; j++) exps[j] = exp_of_negative(scores[j] - largest);
    return sum_of(exps, n);
}

// A max-heap of nodes and classes by their log-probability.
class Heap {
public:
    explicit Heap(size_t capacity) : keys_(capacity), items_(capacity) {}

    void clear() { size_ = 0; }
    size_t size() const { return size_; }
    double key() const { return keys_[0]; }
    int64_t item() const { return items_[0]; }

    void push(double key, int64_t item) {
        size_t at = size_++;
        for (; at > 0 && keys_[(at - 1) >> 1] < key; at = (at - 1) >> 1) move((at - 1) >> 1, at);
        put(at, key, item);
    }

    void pop() {
        size_t last = --size_, at = 0;
        for (size_t child = 1; child < last; child = 2 * at + 1) {
            if (child + 1 < last && keys_[child + 1] > keys_[child]) child++;
            if (keys_[child] <= keys_[last]) break;
            move(child, at);
            at = child;
        }
        put(at, keys_[last], items_[last]);
    }

private:
    void put(size_t at, double key, int64_t item) {
        keys_[at] = key;
        items_[at] = item;
    }
    void move(size_t from, size_t to) { put(to, keys_[from], items_[from]); }

    Buffer<double> keys_;
    Buffer<int64_t> items_;
    size_t size_ = 0;
};

// Find the most probable classes of each row by best-first search: no class below a node is more
// probable than the node, so a popped class is the most probable of the rest. One more column of
// log_probs is a bound for other classes.
template <class T>
inline void search_best(Matrix<const T> inputs, Matrix<const int64_t> features,
                        TreeScorer<T> scorer, Matrix<T> log_probs, Matrix<int64_t> classes) {
    size_t n_classes = scorer.children.size - (scorer.offsets.size - 1) + 1, k = classes.columns;
    Heap heap(n_classes + 1);
    Buffer<T> scores(scorer.max_scores);
    Buffer<double> exps(scorer.max_scores);
    at_best_level([&]<size_t BYTES>(Registers<BYTES>) {
        for (size_t row = 0; row < inputs.rows; row++) {
            size_t n_found = 0;
            heap.clear();
            heap.push(0.0, 0);
            while (n_found < k) {
                double key = heap.key();
                int64_t item = heap.item();
                heap.pop();
                if (item < 0) {
                    log_probs[row][n_found] = static_cast<T>(key);
                    classes[row][n_found++] = ~item;
                    continue;
                }
                const int64_t* children = scorer.children.data + scorer.offsets[item];
                size_t n_scores =
                    score_item<BYTES>(inputs, features, row, item, scorer, scores.data());
                if (n_scores == 1) {
                    double score = scores[0],
                           log_total = log1p_of_unit(exp_of_negative(-__builtin_fabs(score)));
                    heap.push(key + (score > 0 ? -score : 0.0) - log_total, children[0]);
                    heap.push(key + (score < 0 ? score : 0.0) - log_total, children[1]);
                    for (size_t i = 0; i < 2; i++)  // one of both is likely to be popped next
                        if (children[i] >= 0)
                            prefetch_row(scorer.weight[scorer.first_rows[children[i]]],
                                         inputs.columns);
                } else {
                    double largest = largest_of(scores.data(), n_scores);
                    double log_total = largest + log_of_positive(sum_exps(scores.data(), n_scores,
                                                                          largest, exps.data()));
                    for (size_t j = 0; j < n_scores; j++)
                        heap.push(key + (scores[j] - log_total), children[j]);
                }
            }
            if (k < log_probs.columns)
                log_probs[row][k] = heap.size() > 0 ? static_cast<T>(heap.key())
                                                    : -std::numeric_limits<float>::max();
        }
    });
}

// Descend from the root to one class for each row: along the branch whose interval of probability
// contains the draw, whose position in the interval is the next draw; without draws along the most
// probable branch, the first at a tie.
template <class T>
inline void descend(Matrix<const T> inputs, Matrix<const int64_t> features, TreeScorer<T> scorer,
                    Vector<const double> draws, Vector<int64_t> classes) {
    constexpr double BELOW_1 = 1.0 - 0x1p-53, SMALLEST = 1e-300;  // a smaller probability is 0
    Buffer<T> scores(scorer.max_scores);
    Buffer<double> exps(scorer.max_scores);
    at_best_level([&]<size_t BYTES>(Registers<BYTES>) {
        for (size_t row = 0; row < inputs.rows; row++) {
            bool is_greedy = draws.size == 0;
            double draw = is_greedy ? 0.0 : draws[row];
            int64_t item = 0;
            while (item >= 0) {
                size_t branch = 0, n_scores = score_item<BYTES>(inputs, features, row, item, scorer,
                                                                scores.data());
                if (n_scores == 1) {
                    double exp_score =
                        exp_of_negative(-__builtin_fabs(static_cast<double>(scores[0])));
                    double left = (scores[0] > 0 ? exp_score : 1.0) / (1.0 + exp_score);
                    if (is_greedy) {  // in the precision of the scores, as node_prob returns it
                        branch =
                            scores[0] > 0 && T(1) / (T(1) + static_cast<T>(exp_score)) > T(0.5);
                    } else {
                        branch = draw >= left || left < SMALLEST;
                        draw = branch ? (draw - left) / (1.0 - left) : draw / left;
                    }
                } else if (is_greedy) {
                    for (size_t j = 1; j < n_scores; j++)
                        branch = scores[j] > scores[branch] ? j : branch;
                } else {
                    draw *= sum_exps(scores.data(), n_scores, largest_of(scores.data(), n_scores),
                                     exps.data());
                    while (branch < n_scores - 1 &&
                           (draw >= exps[branch] || exps[branch] < SMALLEST))
                        draw -= exps[branch++];
                    draw /= exps[branch];
                }
                draw = draw < BELOW_1 ? draw : BELOW_1;
                item = scorer.children[scorer.offsets[item] + static_cast<int64_t>(branch)];
            }
            classes[row] = ~item;
        }
    });
}

}  // namespace hashnlp
