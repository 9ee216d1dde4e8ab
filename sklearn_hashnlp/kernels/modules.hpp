// The functions that add the kernels of each folder to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace hashnlp {

void define_hashes(nanobind::module_& module);
void define_strings(nanobind::module_& module);
void define_counters(nanobind::module_& module);

}  // namespace hashnlp
