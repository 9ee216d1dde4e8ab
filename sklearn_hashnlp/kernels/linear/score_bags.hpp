// Scores of documents by a linear layer above their bags, in one pass.
#pragma once

#include "embeddings/bags.hpp"
#include "embeddings/hash_ids.hpp"

namespace hashnlp {

// The tables of a bag, and the linear layer above it.
struct BagScorer {
    Matrix<const float> pool;          // (n_buckets, d)
    Matrix<const float> importance;    // (n_embeddings, k); (0, k) for STANDARD
    Matrix<const uint64_t> constants;  // (k + 1, 3): of the hash functions
    BagLayout layout;
    Matrix<const double> weight;  // (output_dim, n_classes): of the layer, transposed
    Vector<const double> bias;    // (n_classes,)
    // Scores s of a row of length e become g s + (1 - g) prior, g = e^3 / (e^3 + half^3), unless
    // half is negative.
    Vector<const double> prior;  // (n_classes,)
    double half;
    double base;  // of the squares of lengths, what all training rows have

    bool is_standard() const { return importance.rows == 0; }
    size_t n_hashes() const { return is_standard() ? 1 : constants.rows - 1; }
};

// Memory for a block of documents.
struct BagScratch {
    Buffer<int32_t> rows;   // (n_values,): of the importance table
    Buffer<uint32_t> keys;  // (n_values,)
    Buffer<int32_t> slots;  // (n_values * k,): rows of the pool
    Buffer<float> weights;  // (n_values * k,)
    Buffer<size_t> ends;    // (n_documents,): end of each document's known values, times k
    Buffer<float> vector;   // (output_dim,)
    Buffer<double> scores;  // (n_classes,)

    // Make room for blocks of so many values and documents.
    void resize(const BagScorer& model, size_t n_values, size_t n_documents) {
        rows.resize(n_values);
        keys.resize(n_values);
        slots.resize(n_values * model.n_hashes());
        weights.resize(n_values * model.n_hashes());
        ends.resize(n_documents);
        vector.resize(model.weight.rows);
        scores.resize(model.bias.size);
    }
};

struct DocumentScore {
    int64_t label;  // of the largest score
    double length;
    bool finite;  // whether all scores are
};

// Compute the weights of the values of some documents, and the pool rows of those with a nonzero
// weight; of all values for STANDARD.
template <class Index>
inline void weigh_documents(const BagScorer& model, const Index* __restrict indices,
                            const float* __restrict counts, const int64_t* offsets,
                            size_t n_documents, BagScratch& scratch) {
    constexpr size_t AHEAD = 32;  // values between the prefetch of a row and its use
    auto begin = static_cast<size_t>(offsets[0]);
    size_t n_values = static_cast<size_t>(offsets[n_documents]) - begin, k = model.n_hashes();
    uint64_t n_rows = model.is_standard() ? model.pool.rows : model.importance.rows,
             n_slots = model.pool.rows;
    int32_t* __restrict rows = scratch.rows.data(), * __restrict slots = scratch.slots.data();
    uint32_t* __restrict keys = scratch.keys.data();
    float* __restrict weights = scratch.weights.data();
    size_t* __restrict ends = scratch.ends.data();
    indices += begin;
    counts += begin;
    uint64_t a = model.constants[0][0], b = model.constants[0][1];
    if (a == 0 && b == 0)  // see row_of
        for (size_t j = 0; j < n_values; j++) rows[j] = static_cast<int32_t>(indices[j]);
    else
        for (size_t j = 0; j < n_values; j++) rows[j] = slot_of(mix_id(indices[j]), a, b, n_rows);
    if (model.is_standard()) {
        for (size_t j = 0; j < n_values; j++) {
            slots[j] = rows[j];
            weights[j] = counts[j];
        }
        for (size_t document = 0; document < n_documents; document++)
            ends[document] = static_cast<size_t>(offsets[document + 1]) - begin;
        return;
    }
    if (model.layout.variant == PAPER)
        for (size_t j = 0; j < n_values; j++) keys[j] = fmix32(static_cast<uint32_t>(rows[j]));
    else
        for (size_t j = 0; j < n_values; j++) keys[j] = fmix32(static_cast<uint32_t>(indices[j]));
    size_t n_kept = 0;
    for (size_t document = 0, j = 0; document < n_documents; document++) {
        for (size_t stop = static_cast<size_t>(offsets[document + 1]) - begin; j < stop; j++) {
            size_t ahead = j + AHEAD < n_values ? j + AHEAD : n_values - 1;
            prefetch_row(model.importance[static_cast<size_t>(rows[ahead])], k);
            const float* importance = model.importance[static_cast<size_t>(rows[j])];
            keys[n_kept] = keys[j];  // without a branch, which could not be predicted: overwritten
                                     // if the weight is zero
            bool is_used = false;
            for (size_t i = 0; i < k; i++) {
                float weight = counts[j] * importance[i];
                weights[n_kept * k + i] = weight;
                is_used |= weight != 0;
            }
            n_kept += is_used;
        }
        ends[document] = n_kept * k;
    }
    for (size_t i = 0; i < k; i++) {
        uint64_t c = model.constants[i + 1][0], d = model.constants[i + 1][1];
        if (k == 1)
            for (size_t j = 0; j < n_kept; j++) slots[j] = slot_of(keys[j], c, d, n_slots);
        else
            for (size_t j = 0; j < n_kept; j++) slots[j * k + i] = slot_of(keys[j], c, d, n_slots);
    }
}

// Compute the scores of a document of the block, whose values are from begin to end.
inline DocumentScore score_weighed(const BagScorer& model, size_t begin, size_t end,
                                   size_t end_of_block, BagScratch& scratch,
                                   double* __restrict scores) {
    constexpr size_t AHEAD = 32;       // values between the prefetch of a row and its use
    constexpr double ROUNDING = 1e-9;  // relative, of the lengths of what all training rows have
    constexpr double LARGEST = 3.4028234663852886e38;  // of float32
    size_t k = model.n_hashes(), n_classes = model.bias.size;
    bool append_weight = model.layout.append_weight && !model.is_standard();
    const int32_t* __restrict slots = scratch.slots.data();
    const float* __restrict weights = scratch.weights.data();
    size_t n_columns =
        model.pool.columns < 4 ? model.pool.columns : 4;  // a trained row has no zeros there
    double total = 0;
    // Unknown values may share a row of the importance table with known ones, but hardly one of the
    // pool as well.
    auto measure = [&](size_t at) {
        const float* row = model.pool[static_cast<size_t>(slots[at])];
        bool is_known = append_weight;
        for (size_t column = 0; column < n_columns; column++) is_known |= row[column] != 0;
        double weight = static_cast<double>(weights[at]);
        total += is_known ? weight * weight : 0.0;
    };
    auto each = [&](size_t at) {
        size_t ahead = at + AHEAD < end_of_block ? at + AHEAD : end_of_block - 1;
        prefetch_row(model.pool[static_cast<size_t>(slots[ahead])], model.pool.columns);
    };
    float* __restrict vector = scratch.vector.data();
    embed_bag<float>(weights, slots, begin, end, k, model.layout, append_weight, model.pool, each,
                     vector);
    for (size_t at = begin; at < end; at++) measure(at);
    total = total / static_cast<double>(k) - model.base;
    double length = total > ROUNDING * model.base ? std::sqrt(total) : 0.0;
    for (size_t label = 0; label < n_classes; label++) scores[label] = model.bias[label];
    add_rows(
        0, model.weight.rows, 1, [&](size_t column) { return model.weight[column]; },
        [=](size_t column) { return static_cast<double>(vector[column]); }, [](size_t) {}, scores,
        n_classes);
    bool finite = true;
    for (size_t label = 0; label < n_classes; label++) {
        scores[label] = static_cast<double>(static_cast<float>(scores[label]));
        finite &= std::abs(scores[label]) <= LARGEST;
    }
    double share = 1;
    if (model.half >= 0) {
        double cube = length * length * length, half = model.half * model.half * model.half;
        share = length > 0 ? cube / (cube + half) : 0.0;
    }
    size_t best = 0;
    for (size_t label = 0; label < n_classes; label++) {
        if (share < 1) scores[label] = share * scores[label] + (1 - share) * model.prior[label];
        best = scores[label] > scores[best] ? label : best;
    }
    return {static_cast<int64_t>(best), length, finite};
}

// Write the scores, unless there is no memory for them, the best labels and the lengths of some
// documents; return whether all scores are finite. The length of a document is the root of the sum
// of the squares of its weights, count times importance weight, of known columns, divided by the
// number of hashes, less `base`.
template <class Index>
bool score_bags(const BagScorer& model, Vector<const Index> indices, Vector<const int64_t> indptr,
                Vector<const float> counts, size_t first, size_t last, Matrix<double> scores,
                Vector<int64_t> labels, Vector<double> lengths, BagScratch& scratch) {
    // Documents are computed together: their values stay in the first caches, and rows of tables
    // are read meanwhile.
    constexpr size_t BLOCK_VALUES = 4096;
    size_t longest = 0, n_values = static_cast<size_t>(indptr[last] - indptr[first]);
    for (size_t document = first; document < last; document++) {
        auto n = static_cast<size_t>(indptr[document + 1] - indptr[document]);
        longest = n > longest ? n : longest;
    }
    size_t capacity = n_values < BLOCK_VALUES  ? n_values
                      : longest > BLOCK_VALUES ? longest
                                               : BLOCK_VALUES;
    size_t n_documents = last - first < capacity + 1 ? last - first : capacity + 1;
    scratch.resize(model, capacity, n_documents);
    return at_best_level([&] {
        bool finite = true;
        for (size_t begin = first, stop; begin < last; begin = stop) {
            stop = begin + 1;
            int64_t limit = indptr[begin] + static_cast<int64_t>(capacity);
            while (stop < last && stop - begin < n_documents && indptr[stop + 1] <= limit) stop++;
            weigh_documents(model, indices.data, counts.data, indptr.data + begin, stop - begin,
                            scratch);
            size_t start = 0, end_of_block = scratch.ends[stop - begin - 1];
            for (size_t document = begin; document < stop; document++) {
                size_t end = scratch.ends[document - begin];
                double* own = scores.rows ? scores[document] : scratch.scores.data();
                DocumentScore score = score_weighed(model, start, end, end_of_block, scratch, own);
                labels[document] = score.label;
                lengths[document] = score.length;
                finite &= score.finite;
                start = end;
            }
        }
        return finite;
    });
}

}  // namespace hashnlp
