// Functions of vector_math.hpp for tests: arrays of them, with the instructions of kernels.
#include "vector_math.hpp"

#include "arrays.hpp"
#include "levels.hpp"
#include "modules.hpp"

namespace hashnlp {

namespace {

template <double (*function)(double)>
void each(Vector<const double> values, Vector<double> out) {
    at_best_level([&] {
        const double* __restrict from = values.data;
        double* __restrict to = out.data;
        for (size_t i = 0; i < out.size; i++) to[i] = function(from[i]);
    });
}

}  // namespace

void define_vector_math(nb::module_& module) {
    module.def("exp_of_negative", unlocked<each<exp_of_negative>>, nb::arg("values"),
               nb::arg("out"));
    module.def("log1p_of_unit", unlocked<each<log1p_of_unit>>, nb::arg("values"), nb::arg("out"));
    module.def("log_of_positive", unlocked<each<log_of_positive>>, nb::arg("values"),
               nb::arg("out"));
}

}  // namespace hashnlp
