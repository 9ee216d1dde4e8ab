// Rows of tables, for Python.
#include "rows.hpp"

#include "arrays.hpp"
#include "modules.hpp"

namespace hashnlp {

namespace {

std::tuple<Buffer<int32_t>, Buffer<int64_t>, Buffer<int64_t>> groups_of(Vector<const int32_t> rows,
                                                                        size_t n_rows) {
    RowGroups groups = group_rows(rows, n_rows);
    return {std::move(groups.order), std::move(groups.starts), std::move(groups.distinct)};
}

template <class T>
void define_averages(nb::module_& module) {
    module.def("sum_rows", unlocked<sum_rows<T>>, nb::arg("rows"), nb::arg("values"),
               nb::arg("n_rows"));
    module.def("average_rows", unlocked<average_rows<T>>, nb::arg("table"), nb::arg("rows"),
               nb::arg("weights"), nb::arg("averages"), nb::arg("scales"));
    module.def("average_rows_gradient", unlocked<average_rows_gradient<T>>, nb::arg("gradient"),
               nb::arg("rows"), nb::arg("weights"), nb::arg("scales"), nb::arg("n_rows"));
}

template <class T, class Total>
void define_means(nb::module_& module) {
    module.def("mean_rows", unlocked<mean_rows<T, Total>>, nb::arg("table"), nb::arg("indices"),
               nb::arg("offsets"), nb::arg("means"));
}

template <class Column, class Index, class T>
void define_gather(nb::module_& module, const char* name) {
    module.def(name, unlocked<gather_rows<Column, Index, T>>, nb::arg("indices"), nb::arg("data"),
               nb::arg("indptr"), nb::arg("rows"));
}

template <class Index, class T>
void define_lengths(nb::module_& module) {
    module.def("row_lengths", unlocked<row_lengths<Index, T>>, nb::arg("indptr"), nb::arg("data"),
               nb::arg("lengths"));
}

template <class Position>
void define_windows(nb::module_& module) {
    module.def("gather_windows", unlocked<gather_windows<Position>>, nb::arg("inputs"),
               nb::arg("targets"), nb::arg("positions"), nb::arg("rows"), nb::arg("contexts"),
               nb::arg("words"));
}

}  // namespace

void define_rows(nb::module_& module) {
    module.def("group_rows", unlocked<groups_of>, nb::arg("rows"), nb::arg("n_rows"));
    define_averages<float>(module);
    define_averages<double>(module);
    define_means<float, double>(module);
    define_means<uint8_t, int32_t>(module);
    define_means<int8_t, int32_t>(module);
    define_gather<int32_t, int32_t, float>(module, "gather_rows");
    define_gather<int64_t, int64_t, float>(module, "gather_rows");
    define_gather<int32_t, int32_t, double>(module, "gather_rows");
    define_gather<int64_t, int64_t, double>(module, "gather_rows");
    define_gather<int64_t, int32_t, float>(module, "gather_rows_to_int64");
    define_gather<int64_t, int32_t, double>(module, "gather_rows_to_int64");
    define_lengths<int32_t, float>(module);
    define_lengths<int64_t, float>(module);
    define_lengths<int32_t, double>(module);
    define_lengths<int64_t, double>(module);
    define_windows<int32_t>(module);
    define_windows<int64_t>(module);
    module.def("mask_before_last", unlocked<mask_before_last>, nb::arg("rows"), nb::arg("value"));
}

}  // namespace hashnlp
