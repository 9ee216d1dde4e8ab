// One text scored by a linear model in one call: from a string to the scores of the classes.
#include <nanobind/stl/vector.h>

#include <vector>

#include "arrays.hpp"
#include "linear/score_bags.hpp"
#include "modules.hpp"
#include "ngrams/python_counter.hpp"

namespace hashnlp {

namespace {

template <class T, int n_axes>
using Array = nb::ndarray<const T, nb::numpy, nb::ndim<n_axes>, nb::c_contig, nb::device::cpu>;

using Counters = nb::typed<nb::list, PythonCounter>;
using Encoders = nb::typed<nb::list, nb::object>;

template <class T>
Matrix<const T> matrix(const Array<T, 2>& array) {
    return {array.data(), array.shape(0), array.shape(1)};
}

template <class T>
Vector<const T> vector(const Array<T, 1>& array) {
    return {array.data(), array.shape(0)};
}

// Memory of a thread, which is used again.
struct TextMemory {
    CounterMemory counter;
    Rows<float> rows;
    BagScratch scratch;
    Buffer<double> weight, bias, scores;
};

class TextModel {
   public:
    // Each counter has its own columns, `widths` many, and an encoder of texts that are not ASCII.
    TextModel(Counters counters, Encoders encoders, std::vector<int32_t> widths, Array<float, 2> pool,
              Array<float, 2> importance, Array<uint64_t, 2> constants, int64_t variant, bool concat, bool append_weight,
              int64_t norm, Array<float, 2> weight, Array<float, 1> bias, Array<double, 1> prior, double half, double base)
        : owners_(nb::make_tuple(counters, pool, importance, constants, weight, bias, prior)),
          weight_(matrix(weight)),
          bias_(vector(bias)),
          scorer_{matrix(pool), matrix(importance), matrix(constants), {variant, concat, append_weight, norm},
                  {}, {}, vector(prior), half, base} {
        int32_t first = 0;
        for (size_t i = 0; i < widths.size(); first += widths[i++])
            parts_.push_back({nb::cast<const PythonCounter*>(counters[i]), encoders[i], first});
    }

    // Return the index of the largest score; -1 if a score is not finite.
    int64_t label(nb::handle text) const {
        DocumentScore score = score_text(text, memory().scores.resize(bias_.size));
        return score.finite ? score.label : -1;
    }

    // Write the scores of all classes; return whether they are finite.
    bool score(nb::handle text, Vector<double> scores) const { return score_text(text, scores.data).finite; }

   private:
    struct Part {
        const PythonCounter* counter;
        nb::object encode;
        int32_t first;  // column
    };

    static TextMemory& memory() {
        static thread_local TextMemory memory;
        return memory;
    }

    DocumentScore score_text(nb::handle text, double* scores) const {
        TextMemory& own = memory();
        own.rows.clear();
        for (const Part& part : parts_) {
            size_t begin = own.rows.indices.size();
            part.counter->append_text(own.rows, text, part.encode, own.counter);
            for (size_t i = begin; part.first > 0 && i < own.rows.indices.size(); i++) own.rows.indices[i] += part.first;
        }
        size_t n = own.rows.indices.size();
        BagScorer scorer = scorer_;
        scorer.weight = transposed(own.weight);
        double* bias = own.bias.resize(bias_.size);
        for (size_t i = 0; i < bias_.size; i++) bias[i] = static_cast<double>(bias_[i]);
        scorer.bias = own.bias;
        own.scratch.resize(scorer, n, 1);
        auto score = [&] {
            return at_best_level([&] {
                return score_document(scorer, own.rows.indices.data(), own.rows.data.data(), n, own.scratch, scores);
            });
        };
        if (n <= SHORT) return score();
        nb::gil_scoped_release unlocked;
        return score();
    }

    // Convert the weights of the layer, in each call: training changes them in place.
    Matrix<const double> transposed(Buffer<double>& memory) const {
        double* to = memory.resize(weight_.rows * weight_.columns);
        for (size_t label = 0; label < weight_.rows; label++)
            for (size_t column = 0; column < weight_.columns; column++)
                to[column * weight_.rows + label] = static_cast<double>(weight_[label][column]);
        return {to, weight_.columns, weight_.rows};
    }

    nb::object owners_;  // of the memory below
    Matrix<const float> weight_;  // (n_classes, output_dim)
    Vector<const float> bias_;
    BagScorer scorer_;
    std::vector<Part> parts_;
};

}  // namespace

void define_text_model(nb::module_& module) {
    nb::class_<TextModel>(module, "TextModel")
        .def(nb::init<Counters, Encoders, std::vector<int32_t>, Array<float, 2>, Array<float, 2>, Array<uint64_t, 2>, int64_t,
                      bool, bool, int64_t, Array<float, 2>, Array<float, 1>, Array<double, 1>, double, double>())
        .def("label", &TextModel::label, nb::arg("text"))
        .def("score", &TextModel::score, nb::arg("text"), nb::arg("scores"));
}

}  // namespace hashnlp
