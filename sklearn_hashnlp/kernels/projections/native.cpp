// The projections for Python.
#include "arrays.hpp"
#include "modules.hpp"
#include "projections/project_rows.hpp"

namespace hashnlp {

namespace {

// Write the coefficients of columns in the first hyperplanes, a multiple of GROUP, for NORMAL and
// SIGN.
void coefficients(Vector<const int64_t> columns, int kind, Vector<const uint32_t> keys,
                  uint64_t threshold, Vector<const int8_t> quantiles, Matrix<int8_t> out) {
    Coefficients rule(kind, keys, threshold, quantiles);
    Buffer<ColumnStarts> starts(columns.size);
    start_columns(columns.data, columns.size, keys.data, starts.data());
    at_best_width([&]<size_t n_bytes>(Bytes<n_bytes>) {
        write_coefficients<n_bytes>(starts.data(), columns.size, 0, out.columns, rule, 0, out.data,
                                    out.columns);
    });
}

template <class Index>
void define(nb::module_& module) {
    module.def("first_equal_rows", unlocked<first_equal_rows<Index>>, nb::arg("indptr"),
               nb::arg("indices"), nb::arg("data"), nb::arg("firsts"));
    module.def("project_rows", unlocked<project_rows<Index>>, nb::arg("indptr"), nb::arg("indices"),
               nb::arg("data"), nb::arg("firsts"), nb::arg("kind"), nb::arg("n"), nb::arg("keys"),
               nb::arg("threshold"), nb::arg("quantiles"), nb::arg("seeds"), nb::arg("ties"),
               nb::arg("scale"), nb::arg("form"), nb::arg("out"), nb::arg("max_columns"),
               nb::arg("max_entries"), nb::arg("max_slice"));
}

}  // namespace

void define_projections(nb::module_& module) {
    define<int32_t>(module);
    define<int64_t>(module);
    module.def("coefficients", unlocked<coefficients>, nb::arg("columns"), nb::arg("kind"),
               nb::arg("keys"), nb::arg("threshold"), nb::arg("quantiles"), nb::arg("out"));
}

}  // namespace hashnlp
