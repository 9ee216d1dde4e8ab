// Linear models, for Python.
#include "arrays.hpp"
#include "dual_coordinate_descent.hpp"
#include "inspect_rows.hpp"
#include "modules.hpp"
#include "score_bags.hpp"
#include "softmax_head.hpp"
#include "sparse_products.hpp"

namespace hashnlp {

namespace {

using Offsets = Vector<const int64_t>;
using Columns = Vector<const int32_t>;
using Values = Vector<const float>;
using Labels = Vector<const int64_t>;

void squares_of(Offsets offsets, Columns columns, Values values, Labels labels, Vector<float> sums,
                Vector<float> squares) {
    add_squares({offsets, columns, values, labels}, sums, squares);
}

void take_steps(Offsets offsets, Columns columns, Values values, Labels labels, Values squares,
                Values costs, Vector<const int64_t> order, Matrix<float> weights,
                Vector<float> bias, Matrix<float> dual) {
    descend({offsets, columns, values, labels}, squares, costs, order, weights, bias, dual);
}

void sums_by_label(Offsets offsets, Columns columns, Values values, Labels labels, Values costs,
                   Matrix<float> own, Vector<float> total) {
    add_by_label({offsets, columns, values, labels}, costs, own, total);
}

template <class Index>
bool scores_of(Matrix<const float> pool, Matrix<const float> importance,
               Matrix<const uint64_t> constants, int64_t variant, bool concat, bool append_weight,
               int64_t norm, Matrix<const double> weight, Vector<const double> bias,
               Vector<const double> prior, double half, double base, Vector<const Index> indices,
               Offsets indptr, Values counts, size_t first, size_t last, Matrix<double> scores,
               Vector<int64_t> labels, Vector<double> lengths) {
    BagLayout layout{variant, concat, append_weight, norm};
    BagScorer model{pool, importance, constants, layout, weight, bias, prior, half, base};
    BagScratch scratch;
    return score_bags(model, indices, indptr, counts, first, last, scores, labels, lengths,
                      scratch);
}

template <class Index>
void define_by_index(nb::module_& module) {
    module.def("inspect_rows", unlocked<inspect_rows<Index>>);
    module.def("score_bags", unlocked<scores_of<Index>>);
    module.def("add_product", unlocked<add_product<Index>>);
    module.def("pair_fingerprints", unlocked<pair_fingerprints<Index>>);
}

}  // namespace

void define_linear(nb::module_& module) {
    define_by_index<int32_t>(module);
    define_by_index<int64_t>(module);
    module.def("softmax_head", unlocked<softmax_head<float>>);
    module.def("softmax_head", unlocked<softmax_head<double>>);
    module.def("add_squares", unlocked<squares_of>);
    module.def("descend", unlocked<take_steps>);
    module.def("add_by_label", unlocked<sums_by_label>);
    module.def("to_log_odds", unlocked<to_log_odds>);
}

}  // namespace hashnlp
