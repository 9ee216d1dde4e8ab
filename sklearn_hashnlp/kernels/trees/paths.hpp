// Forward and backward pass of a hierarchical softmax over the nodes on the paths of a batch.
#pragma once

#include <tuple>

#include "group_rows.hpp"
#include "lanes.hpp"
#include "vector_math.hpp"

namespace hashnlp {

// The fields are those of _paths.py.
struct UpwardTree {
    Matrix<const int32_t> class_up, node_up;
    Vector<const int64_t> first_rows, depths;
};

// A node and its pairs; its scores are a matrix of the pairs and its weight rows.
struct PathNode {
    size_t start, end, score_start, weight_start, first_row, arity;
};

struct PathNodes {
    Vector<const int64_t> nodes, starts;
    Vector<const int32_t> rows, branches;
    Vector<const int64_t> score_starts, weight_rows, weight_starts;

    size_t size() const { return nodes.size; }

    PathNode operator[](size_t i) const {
        auto at = [](Vector<const int64_t> values, size_t index) {
            return static_cast<size_t>(values[index]);
        };
        size_t weight_start = at(weight_starts, i), arity = at(weight_starts, i + 1) - weight_start;
        size_t first_row = at(weight_rows, weight_start);
        return {at(starts, i), at(starts, i + 1), at(score_starts, i),
                weight_start,  first_row,         arity};
    }
};

using PathArrays = std::tuple<Buffer<int64_t>, Buffer<int64_t>, Buffer<int32_t>, Buffer<int32_t>,
                              Buffer<int64_t>, Buffer<int64_t>, Buffer<int64_t>>;

// Find the inner nodes on the path from the root to each target.
inline PathArrays find_path_nodes(Vector<const int64_t> targets, UpwardTree tree) {
    size_t n_pairs = 0, at = 0;
    for (int64_t target : targets) n_pairs += static_cast<size_t>(tree.depths[target]);
    Buffer<int32_t> pair_nodes(n_pairs), pair_rows(n_pairs), pair_branches(n_pairs);
    for (size_t row = 0; row < targets.size; row++) {
        for (const int32_t* up = tree.class_up[targets[row]]; up[0] >= 0;
             up = tree.node_up[up[0]]) {
            pair_nodes[at] = up[0];
            pair_rows[at] = static_cast<int32_t>(row);
            pair_branches[at++] = up[1];
        }
    }
    RowGroups groups = group_rows(pair_nodes, tree.node_up.rows);
    Buffer<int32_t> rows(n_pairs), branches(n_pairs);
    for (at = 0; at < n_pairs; at++) {
        rows[at] = pair_rows[groups.order[at]];
        branches[at] = pair_branches[groups.order[at]];
    }
    size_t n_nodes = groups.distinct.size();
    Buffer<int64_t> score_starts(n_nodes + 1, 0), weight_starts(n_nodes + 1, 0), weight_rows;
    for (size_t i = 0; i < n_nodes; i++) {
        int64_t node = groups.distinct[i], first = tree.first_rows[node],
                end = tree.first_rows[node + 1];
        score_starts[i + 1] =
            score_starts[i] + (end - first) * (groups.starts[i + 1] - groups.starts[i]);
        weight_starts[i + 1] = weight_starts[i] + (end - first);
        for (int64_t row = first; row < end; row++) weight_rows.push_back(row);
    }
    return {std::move(groups.distinct), std::move(groups.starts), std::move(rows),
            std::move(branches),        std::move(score_starts),  std::move(weight_rows),
            std::move(weight_starts)};
}

// Prefetch the first weight row of a node that comes soon.
template <class T>
inline void prefetch_weight(Matrix<const T> weight, const PathNodes& path_nodes, size_t i) {
    constexpr size_t AHEAD = 8;
    if (i + AHEAD < path_nodes.size())
        prefetch_row(weight[path_nodes[i + AHEAD].first_row], weight.columns);
}

// Compute the dot products of inputs with all weight rows of a node, `COLUMNS` of them at a time.
template <size_t BYTES, size_t COLUMNS, size_t ROWS, class T, class Write>
[[gnu::always_inline]] inline void score_node(const T* const (&inputs)[ROWS], const T* weight,
                                              size_t arity, size_t n_columns, Write write) {
    auto score = [&]<size_t N>(size_t first, const T* const(&rows)[N]) {
        T products[ROWS][N];
        dot_block<BYTES>(inputs, rows, n_columns, products);
        for (size_t row = 0; row < ROWS; row++)
            for (size_t j = 0; j < N; j++) write(row, first + j, products[row][j]);
    };
    size_t j = 0;
    for (; j + COLUMNS <= arity; j += COLUMNS) {
        const T* rows[COLUMNS];
        for (size_t i = 0; i < COLUMNS; i++) rows[i] = weight + (j + i) * n_columns;
        score(j, rows);
    }
    for (; j < arity; j++) score(j, {weight + j * n_columns});
}

// Add bias and dot product to each score.
template <class T>
inline void add_scores(Matrix<const T> inputs, Matrix<const T> weight, Vector<const T> bias,
                       PathNodes path_nodes, Vector<T> scores) {
    at_best_level([&]<size_t BYTES>(Registers<BYTES>) {
        for (size_t i = 0; i < path_nodes.size(); i++) {
            prefetch_weight(weight, path_nodes, i);
            PathNode node = path_nodes[i];
            const T *own_weight = weight[node.first_row], *own_bias = bias.data + node.first_row;
            size_t at = node.start;
            T* own_scores = scores.data + node.score_start;
            auto input = [&](size_t pair) { return inputs[path_nodes.rows[pair]]; };
            auto write = [&](size_t row, size_t j, T product) {
                T& score = own_scores[row * node.arity + j];
                score = (score + own_bias[j]) + product;
            };
            for (; at + 4 <= node.end; at += 4, own_scores += 4 * node.arity)
                score_node<BYTES, 2>({input(at), input(at + 1), input(at + 2), input(at + 3)},
                                     own_weight, node.arity, inputs.columns, write);
            for (; at < node.end; at++, own_scores += node.arity)
                score_node<BYTES, 4>({input(at)}, own_weight, node.arity, inputs.columns, write);
        }
    });
}

// Compute the log-probabilities of branches of nodes with two children, and their derivatives.
template <class T>
inline void log_sigmoid(const T* scores, const int32_t* branches, size_t n, T* derivatives,
                        T* log_probs) {
    for (size_t at = 0; at < n; at++) {
        double sign = 2.0 * branches[at] - 1.0, score = sign * scores[at];
        double exp_score = exp_of_negative(-__builtin_fabs(score));
        log_probs[at] = static_cast<T>((score < 0 ? score : 0.0) - log1p_of_unit(exp_score));
        derivatives[at] = static_cast<T>(sign * (score > 0 ? exp_score : 1.0) / (1.0 + exp_score));
    }
}

template <class T>
inline T largest_of(const T* values, size_t n) {
    T largest = values[0];
    for (size_t i = 1; i < n; i++) largest = values[i] > largest ? values[i] : largest;
    return largest;
}

// Sum in eight lanes, in double precision.
template <class T>
inline double sum_of(const T* values, size_t n) {
    double lanes[N_LANES] = {};
    size_t at = 0;
    for (; at + N_LANES <= n; at += N_LANES)
        for (size_t i = 0; i < N_LANES; i++) lanes[i] += values[at + i];
    double total = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
                   ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    for (; at < n; at++) total += values[at];
    return total;
}

// Compute the log-probabilities of branches of a node, and the derivatives by all its scores.
template <class T>
inline void log_softmax(const T* scores, size_t arity, const int32_t* branches, size_t n,
                        T* derivatives, T* log_probs) {
    for (size_t at = 0; at < n; at++) {
        const T* own = scores + at * arity;
        T largest = largest_of(own, arity);
        for (size_t j = 0; j < arity; j++) derivatives[at * arity + j] = own[j] - largest;
        log_probs[at] = own[branches[at]] - largest;
    }
    for (size_t i = 0; i < n * arity; i++)
        derivatives[i] = static_cast<T>(exp_of_negative(derivatives[i]));
    for (size_t at = 0; at < n; at++) {
        T* own = derivatives + at * arity;
        double total = sum_of(own, arity), share = -1.0 / total;
        log_probs[at] = static_cast<T>(log_probs[at] - log_of_positive(total));
        for (size_t j = 0; j < arity; j++) own[j] = static_cast<T>(own[j] * share);
        own[branches[at]] = static_cast<T>(own[branches[at]] + 1.0);
    }
}

// Add up the log-probability of each row's class, and write its derivatives by the row's scores.
template <class T>
inline void sum_log_probs(Vector<const T> scores, PathNodes path_nodes, Vector<T> log_probs,
                          Vector<T> derivatives) {
    Buffer<T> branch_log_probs(path_nodes.rows.size);
    at_best_level([&] {
        for (size_t i = 0; i < path_nodes.size();) {
            PathNode node = path_nodes[i++];
            while (node.arity == 1 && i < path_nodes.size() && path_nodes[i].arity == 1)
                node.end = path_nodes[i++].end;  // neighboring sigmoids are one long loop
            const T* own_scores = scores.data + node.score_start;
            const int32_t* own_branches = path_nodes.branches.data + node.start;
            T *own_derivatives = derivatives.data + node.score_start,
              *own = branch_log_probs.data() + node.start;
            size_t n = node.end - node.start;
            if (node.arity == 1)
                log_sigmoid(own_scores, own_branches, n, own_derivatives, own);
            else
                log_softmax(own_scores, node.arity, own_branches, n, own_derivatives, own);
        }
    });
    for (size_t at = 0; at < path_nodes.rows.size; at++)  // the root of each row comes first
        log_probs[path_nodes.rows[at]] += branch_log_probs[at];
}

// Compute the gradient of each score from those of the log-probabilities.
template <class T>
inline void score_gradients(Vector<const T> gradients, Vector<const T> derivatives,
                            PathNodes path_nodes, Vector<T> d_scores) {
    for (size_t i = 0; i < path_nodes.size(); i++) {
        PathNode node = path_nodes[i];
        size_t score = node.score_start;
        for (size_t at = node.start; at < node.end; at++) {
            T gradient = gradients[path_nodes.rows[at]];
            for (size_t end = score + node.arity; score < end; score++)
                d_scores[score] = gradient * derivatives[score];
        }
    }
}

template <size_t N>
struct Block {};

// Call a function for blocks of eight, and for the rest in smaller ones.
template <class Call>
[[gnu::always_inline]] inline void in_blocks(size_t n, Call call) {
    size_t at = 0;
    for (; at + 8 <= n; at += 8) call(Block<8>(), at);
    if (n & 4) call(Block<4>(), at), at += 4;
    if (n & 2) call(Block<2>(), at), at += 2;
    if (n & 1) call(Block<1>(), at);
}

// Add vectors, each times its scale, one after the other: the size of blocks does not change the
// bits.
template <size_t N, class T>
[[gnu::always_inline]] inline void add_scaled(T* __restrict total, const T (&scales)[N],
                                              const T* const (&vectors)[N], size_t n) {
    for (size_t i = 0; i < n; i++) {
        T sum = total[i];
        for (size_t k = 0; k < N; k++) sum += scales[k] * vectors[k][i];
        total[i] = sum;
    }
}

// Compute the gradients of the weight rows and biases of all nodes: sums over their pairs, in
// order.
template <class T>
inline void weight_gradients(Matrix<const T> inputs, Vector<const T> d_scores, PathNodes path_nodes,
                             Matrix<T> d_weight, Vector<T> d_bias) {
    at_best_level([&] {
        for (size_t i = 0; i < path_nodes.size(); i++) {
            PathNode node = path_nodes[i];
            const T* own_scores = d_scores.data + node.score_start;
            T *own_weight = d_weight[node.weight_start],
              *own_bias = d_bias.data + node.weight_start;
            for (size_t k = 0; k < node.arity * inputs.columns; k++) own_weight[k] = 0;
            for (size_t j = 0; j < node.arity; j++) own_bias[j] = 0;
            // The inputs of a block stay in the first-level cache while they are added to all
            // weight rows.
            in_blocks(node.end - node.start, [&]<size_t N>(Block<N>, size_t at) {
                const T* vectors[N];
                for (size_t k = 0; k < N; k++)
                    vectors[k] = inputs[path_nodes.rows[node.start + at + k]];
                for (size_t j = 0; j < node.arity; j++) {
                    T scales[N];
                    for (size_t k = 0; k < N; k++)
                        scales[k] = own_scores[(at + k) * node.arity + j];
                    add_scaled(own_weight + j * inputs.columns, scales, vectors, inputs.columns);
                    for (size_t k = 0; k < N; k++) own_bias[j] += scales[k];
                }
            });
        }
    });
}

// Add up the gradient of each input from the root down.
template <class T>
inline void input_gradients(Matrix<const T> weight, Vector<const T> d_scores, PathNodes path_nodes,
                            Matrix<T> d_inputs) {
    constexpr size_t TILE =
        16;  // inputs whose gradients stay in the first-level cache while all weight rows are added
    constexpr size_t SOON = 4;  // pairs between the prefetch of a gradient and its use
    Vector<const int32_t> rows = path_nodes.rows;
    at_best_level([&] {
        for (size_t i = 0; i < path_nodes.size(); i++) {
            prefetch_weight(weight, path_nodes, i);
            PathNode node = path_nodes[i];
            for (size_t begin = node.start; begin < node.end; begin += TILE) {
                size_t stop = begin + TILE < node.end ? begin + TILE : node.end;
                in_blocks(node.arity, [&]<size_t N>(Block<N>, size_t j) {
                    const T* vectors[N];
                    for (size_t k = 0; k < N; k++) vectors[k] = weight[node.first_row + j + k];
                    for (size_t at = begin; at < stop; at++) {
                        if (j == 0 && at + SOON < rows.size)
                            prefetch_row(d_inputs[rows[at + SOON]], weight.columns);
                        const T* own_scores =
                            d_scores.data + node.score_start + (at - node.start) * node.arity + j;
                        T scales[N];
                        for (size_t k = 0; k < N; k++) scales[k] = own_scores[k];
                        add_scaled(d_inputs[rows[at]], scales, vectors, weight.columns);
                    }
                });
            }
        }
    });
}

}  // namespace hashnlp
