// Hashed direct connections of a hierarchical softmax: features that add to scores without a hidden
// layer.
#pragma once

#include "embeddings/hash_ids.hpp"
#include "trees/paths.hpp"

namespace hashnlp {

// Return the slot of a feature at a node.
inline int32_t feature_slot(int64_t feature, size_t node, Vector<const uint64_t> constants,
                            size_t n_slots) {
    constexpr uint64_t NODE_STEP = 0x9E3779B1;  // as in _features.py
    return slot_of(mix_id(mix_id(feature) + node * NODE_STEP), constants[0], constants[1], n_slots);
}

// Hash each feature of a row to a slot at each node on its path; -1 for an absent feature.
inline void locate_features(Matrix<const int64_t> features, PathNodes path_nodes,
                            Vector<const uint64_t> constants, size_t n_slots,
                            Matrix<int32_t> slots) {
    for (size_t i = 0; i < path_nodes.size(); i++) {
        for (int64_t at = path_nodes.starts[i]; at < path_nodes.starts[i + 1]; at++) {
            const int64_t* own = features[path_nodes.rows[at]];
            for (size_t j = 0; j < features.columns; j++)
                slots[at][j] =
                    own[j] < 0 ? -1 : feature_slot(own[j], path_nodes.nodes[i], constants, n_slots);
        }
    }
}

// Add entries of the table from a slot on to scores; it wraps around.
template <class T>
inline void add_entries(Vector<const T> direct, size_t slot, T* scores, size_t n_scores) {
    for (size_t j = 0; j < n_scores; j++) {
        scores[j] += direct[slot];
        if (++slot == direct.size) slot = 0;
    }
}

// Call a function with each slot of a feature, and the position and the number of the scores that
// it adds to.
template <class Call>
inline void for_each_slot(Matrix<const int32_t> slots, const PathNodes& path_nodes, Call call) {
    for (size_t i = 0; i < path_nodes.size(); i++) {
        PathNode node = path_nodes[i];
        size_t score = node.score_start;
        for (size_t at = node.start; at < node.end; at++, score += node.arity)
            for (size_t j = 0; j < slots.columns; j++)
                if (slots[at][j] >= 0) call(static_cast<size_t>(slots[at][j]), score, node.arity);
    }
}

// Add to each score the entries of its row's features.
template <class T>
inline void add_direct(Vector<const T> direct, Matrix<const int32_t> slots, PathNodes path_nodes,
                       Vector<T> scores) {
    for_each_slot(slots, path_nodes, [&](size_t slot, size_t score, size_t arity) {
        add_entries(direct, slot, scores.data + score, arity);
    });
}

// Return the entries of the table that have a gradient, ascending, and their gradients.
template <class T>
inline std::tuple<Buffer<int64_t>, Buffer<T>> direct_gradients(Matrix<const int32_t> slots,
                                                               Vector<const T> d_scores,
                                                               PathNodes path_nodes,
                                                               size_t n_slots) {
    Buffer<int32_t> entries;
    Buffer<int64_t> owners;
    entries.reserve(d_scores.size * slots.columns);
    owners.reserve(d_scores.size * slots.columns);
    for_each_slot(slots, path_nodes, [&](size_t slot, size_t score, size_t arity) {
        for (size_t j = 0; j < arity; j++) {
            entries.push_back(static_cast<int32_t>((slot + j) % n_slots));
            owners.push_back(static_cast<int64_t>(score + j));
        }
    });
    RowGroups groups = group_rows(entries, n_slots);
    Buffer<T> sums(groups.distinct.size(), 0);
    for (size_t i = 0; i < sums.size(); i++)
        for (int64_t at = groups.starts[i]; at < groups.starts[i + 1]; at++)
            sums[i] += d_scores[owners[groups.order[at]]];
    return {std::move(groups.distinct), std::move(sums)};
}

}  // namespace hashnlp
