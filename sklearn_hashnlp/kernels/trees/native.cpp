// The kernels of trees for Python.
#include "arrays.hpp"
#include "modules.hpp"
#include "trees/search.hpp"

namespace nanobind::detail {

using namespace hashnlp;
using Indices = Vector<const int64_t>;

template <>
struct type_caster<UpwardTree>
    : struct_caster<UpwardTree, Matrix<const int32_t>, Matrix<const int32_t>, Indices, Indices> {};

template <>
struct type_caster<PathNodes> : struct_caster<PathNodes, Indices, Indices, Vector<const int32_t>,
                                              Vector<const int32_t>, Indices, Indices, Indices> {};

template <class T>
struct type_caster<TreeScorer<T>>
    : struct_caster<TreeScorer<T>, Indices, Indices, Indices, Matrix<const T>, Vector<const T>,
                    Vector<const T>, Vector<const uint64_t>, size_t> {};

}  // namespace nanobind::detail

namespace hashnlp {

namespace {

template <class T>
void define_for(nb::module_& module) {
    module.def("add_direct", unlocked<add_direct<T>>, nb::arg("direct"), nb::arg("slots"),
               nb::arg("path_nodes"), nb::arg("scores"));
    module.def("direct_gradients", unlocked<direct_gradients<T>>, nb::arg("slots"),
               nb::arg("d_scores"), nb::arg("path_nodes"), nb::arg("n_slots"));
    module.def("add_scores", unlocked<add_scores<T>>, nb::arg("inputs"), nb::arg("weight"),
               nb::arg("bias"), nb::arg("path_nodes"), nb::arg("scores"));
    module.def("sum_log_probs", unlocked<sum_log_probs<T>>, nb::arg("scores"),
               nb::arg("path_nodes"), nb::arg("log_probs"), nb::arg("derivatives"));
    module.def("score_gradients", unlocked<score_gradients<T>>, nb::arg("gradients"),
               nb::arg("derivatives"), nb::arg("path_nodes"), nb::arg("d_scores"));
    module.def("weight_gradients", unlocked<weight_gradients<T>>, nb::arg("inputs"),
               nb::arg("d_scores"), nb::arg("path_nodes"), nb::arg("d_weight"), nb::arg("d_bias"));
    module.def("input_gradients", unlocked<input_gradients<T>>, nb::arg("weight"),
               nb::arg("d_scores"), nb::arg("path_nodes"), nb::arg("d_inputs"));
    module.def("search_best", unlocked<search_best<T>>, nb::arg("inputs"), nb::arg("features"),
               nb::arg("scorer"), nb::arg("log_probs"), nb::arg("classes"));
    module.def("descend", unlocked<descend<T>>, nb::arg("inputs"), nb::arg("features"),
               nb::arg("scorer"), nb::arg("draws"), nb::arg("classes"));
}

}  // namespace

void define_trees(nb::module_& module) {
    module.def("find_path_nodes", unlocked<find_path_nodes>, nb::arg("targets"), nb::arg("tree"));
    module.def("locate_features", unlocked<locate_features>, nb::arg("features"),
               nb::arg("path_nodes"), nb::arg("constants"), nb::arg("n_slots"), nb::arg("slots"));
    define_for<float>(module);
    define_for<double>(module);
}

}  // namespace hashnlp
