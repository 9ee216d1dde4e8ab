// Tables of embeddings, for Python.
#include "arrays.hpp"
#include "bags.hpp"
#include "hash_ids.hpp"
#include "modules.hpp"
#include "ngram_rows.hpp"
#include "row_updates.hpp"

namespace hashnlp {

namespace {

template <class T>
void gradients_of_bags(Matrix<const T> gradients, Matrix<const T> documents, Vector<const T> norms,
                       Matrix<const T> weights, Vector<const T> counts, Matrix<const T> pool,
                       bool concat, bool append_weight, int64_t norm, Matrix<const int32_t> owners,
                       Vector<const int32_t> pool_order, Vector<const int64_t> pool_starts,
                       Vector<const int64_t> pool_rows, Matrix<T> pool_values,
                       Vector<const int32_t> order, Vector<const int64_t> starts,
                       Vector<const int64_t> rows, Matrix<T> importance_values) {
    bag_gradients(gradients, documents, norms, weights, counts, pool, concat, append_weight, norm,
                  owners, {pool_order, pool_starts, pool_rows}, pool_values, {order, starts, rows},
                  importance_values);
}

NgramRows rows_of_ngrams(Matrix<const int64_t> ids, Matrix<const bool> starts, size_t first,
                         bool bag_per_table, int64_t scheme, Vector<const int64_t> orders,
                         size_t n_heads, size_t n_hashes, bool importance, bool signs,
                         Vector<const int64_t> sizes, Vector<const int64_t> table_starts,
                         Cube<const uint64_t> constants, Vector<const int64_t> multipliers,
                         int64_t padding, int64_t boundary) {
    return locate_ngrams(ids, starts, first, bag_per_table,
                         {scheme, orders, n_heads, n_hashes, importance, signs, sizes, table_starts,
                          constants, multipliers, padding, boundary});
}

template <class Id>
void define_ids(nb::module_& module) {
    module.def("locate_ids", unlocked<locate_ids<Id>>, nb::arg("ids"), nb::arg("constants"),
               nb::arg("n_rows"), nb::arg("n_slots"), nb::arg("variant"), nb::arg("rows"),
               nb::arg("slots"));
    module.def("count_rows", unlocked<count_rows<Id>>, nb::arg("ids"), nb::arg("a"), nb::arg("b"),
               nb::arg("counts"), nb::arg("distinct"));
}

template <class T>
void define_tables(nb::module_& module) {
    module.def("embed_bags", unlocked<embed_bags<T>>);
    module.def("bag_gradients", unlocked<gradients_of_bags<T>>);
    module.def("adagrad_rows", unlocked<adagrad_rows<T>>);
    module.def("adam_rows", unlocked<adam_rows<T>>);
    module.def("sgd_rows", unlocked<sgd_rows<T>>);
    module.def("decay_rows", unlocked<decay_rows<T>>);
    module.def("add_average_offset", unlocked<add_average_offset<T>>);
}

}  // namespace

void define_embeddings(nb::module_& module) {
    define_ids<int32_t>(module);
    define_ids<int64_t>(module);
    define_tables<float>(module);
    define_tables<double>(module);
    module.def("locate_ngrams", unlocked<rows_of_ngrams>);
}

}  // namespace hashnlp
