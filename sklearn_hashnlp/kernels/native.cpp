// The extension module of all kernels.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "levels.hpp"
#include "modules.hpp"

namespace nb = nanobind;
using namespace hashnlp;

namespace {

const char* const LEVELS[] = {"baseline", "v3", "v4"};

std::vector<std::string> levels() {
    return {LEVELS, LEVELS + static_cast<int>(detect_level()) + 1};
}

std::string level() { return LEVELS[static_cast<int>(current_level)]; }

void set_level(const std::string& name) {
    std::vector<std::string> names = levels();
    for (size_t i = 0; i < names.size(); i++) {
        if (names[i] == name) {
            current_level = static_cast<Level>(i);
            return;
        }
    }
    throw std::invalid_argument("This processor has no instruction set of the level " + name);
}

}  // namespace

NB_MODULE(_native, module) {
    nb::set_leak_warnings(false);  // functions of the module are cached until the interpreter ends
    module.def("levels", &levels,
               "Return the instruction sets of this processor, the best one last.");
    module.def("level", &level, "Return the instruction set that kernels use.");
    module.def("set_level", &set_level, nb::arg("name"),
               "Use an instruction set, for tests: results are the same.");
    define_embeddings(module);
    define_hashes(module);
    define_trees(module);
    define_projections(module);
    define_ngram_models(module);
    define_vector_math(module);
    define_linear(module);
    define_rows(module);
    define_strings(module);
    define_counters(module);
    define_ngram_encoder(module);
    define_text_model(module);
}
