// Texts scored by a linear model in one call: from strings to the scores of the classes.
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "linear/score_bags.hpp"
#include "modules.hpp"
#include "ngrams/python_counter.hpp"
#include "ngrams/python_encoder.hpp"
#include "rows.hpp"

namespace hashnlp {

namespace {

using Counters = nb::typed<nb::list, PythonCounter>;
using Encoders = nb::typed<nb::list, nb::object>;
using VectorEncoders = nb::typed<nb::list, PythonEncoder>;

// Memory of a thread.
struct TextMemory {
    CounterMemory counter;
    EncoderMemory encoder;
    std::vector<Rows<float>> parts;
    std::vector<Buffer<float>> vectors;
    Rows<float> joined;
    BagScratch scratch;
    Buffer<double> weight, bias, scores, lengths;
};

class TextModel {
public:
    // Each counter has its own columns, `widths` many, and an encoder of texts that are not ASCII;
    // `arrays` own the others. Then come the columns of vectors, a row's times `vector_weight`,
    // rounded, times `norm_ratio` and the length of its counts.
    TextModel(Counters counters, Encoders encoders, const std::vector<int32_t>& widths,
              VectorEncoders vectors, float vector_weight, double norm_ratio,
              Matrix<const float> pool, Matrix<const float> importance,
              Matrix<const uint64_t> constants, int64_t variant, bool concat, bool append_weight,
              int64_t norm, Matrix<const float> weight, Vector<const float> bias,
              Vector<const double> prior, double half, double base, nb::object arrays)
        : owners_(nb::make_tuple(counters, vectors, arrays)),
          vector_weight_(vector_weight),
          norm_ratio_(norm_ratio),
          weight_(weight),
          bias_(bias),
          scorer_{pool,  importance, constants, {variant, concat, append_weight, norm}, {}, {},
                  prior, half,       base} {
        if (widths.empty() || counters.size() != widths.size() || encoders.size() != widths.size())
            throw std::invalid_argument(
                "TextModel: each counter needs an encoder and a number of columns");
        int32_t first = 0;
        for (size_t i = 0; i < widths.size(); first += widths[i++])
            parts_.push_back({nb::cast<const PythonCounter*>(counters[i]), encoders[i], first});
        for (nb::handle encoder : vectors) {
            encoders_.push_back({nb::cast<const PythonEncoder*>(encoder), first});
            first += static_cast<int32_t>(encoders_.back().encoder->n_columns());
        }
        bool has_row_for_each = constants[0][0] == 0 && constants[0][1] == 0;  // see row_of
        size_t n_rows = scorer_.is_standard() ? pool.rows : importance.rows;
        if (has_row_for_each && static_cast<size_t>(first) > n_rows)
            throw std::invalid_argument("TextModel: there are more columns than rows of the table");
    }

    // Return the index of the largest score; -1 if a score is not finite.
    int64_t label(nb::handle text) const {
        thread_local TextMemory kept;
        // Python code that encodes the text may come back here, and then finds no memory.
        TextMemory memory = std::move(kept);
        int64_t label = -1;
        bool finite = score_block(&text, 1, {}, {&label, 1}, memory, false);
        bool is_small =
            memory.weight.size() <= SHORT && memory.counter.hashes.hashes.size() <= SHORT;
        if (is_small) kept = std::move(memory);
        return finite ? label : -1;
    }

    // Write the scores of texts, unless there is no memory for them, and the indices of the largest
    // ones; return whether all are finite. No other thread may change the list.
    bool score(nb::typed<nb::list, nb::str> texts, Matrix<double> scores,
               Vector<int64_t> labels) const {
        constexpr Py_ssize_t BLOCK = 1 << 15;  // characters: their rows stay in the caches
        size_t n = texts.size();
        if (labels.size != n || scores.columns != bias_.size ||
            (scores.rows > 0 && scores.rows != n))
            throw std::invalid_argument(
                "TextModel.score: scores and labels need a row for each text");
        TextMemory memory;
        std::vector<nb::handle> block;
        bool finite = true;
        for (size_t first = 0; first < n; first += block.size()) {
            block.clear();
            Py_ssize_t length = 0;
            do {
                block.push_back(
                    PyList_GetItem(texts.ptr(), static_cast<Py_ssize_t>(first + block.size())));
                Py_ssize_t characters = PyUnicode_GetLength(block.back().ptr());
                if (characters < 0) throw nb::python_error();
                length += characters;
            } while (first + block.size() < n && length < BLOCK);
            Matrix<double> own =
                scores.rows ? Matrix<double>{scores[first], block.size(), scores.columns} : scores;
            finite &= score_block(block.data(), block.size(), own,
                                  {labels.data + first, block.size()}, memory, n > 1);
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        return finite;
    }

private:
    struct Part {
        const PythonCounter* counter;
        nb::object encode;
        int32_t first;  // column
    };

    struct Vectors {
        const PythonEncoder* encoder;
        int32_t first;  // column
    };

    // `unlocks`: without the interpreter's lock, which long texts are scored without in any case.
    bool score_block(const nb::handle* texts, size_t n, Matrix<double> scores,
                     Vector<int64_t> labels, TextMemory& memory, bool unlocks) const {
        memory.parts.resize(parts_.size());
        for (size_t i = 0; i < parts_.size(); i++) {
            memory.parts[i].clear();
            parts_[i].counter->append_block(memory.parts[i], texts, n, parts_[i].encode,
                                            memory.counter);
        }
        memory.vectors.resize(encoders_.size());
        for (size_t i = 0; i < encoders_.size(); i++) {
            size_t n_columns = encoders_[i].encoder->n_columns();
            Matrix<float> vectors{memory.vectors[i].resize(n * n_columns), n, n_columns};
            encoders_[i].encoder->encode_block(texts, n, memory.encoder, vectors);
        }
        bool is_alone = parts_.size() == 1 && encoders_.empty();
        const Rows<float>& rows = is_alone ? memory.parts[0] : join(memory);
        BagScorer scorer = scorer_;
        scorer.weight = transposed(memory.weight);
        double* bias = memory.bias.resize(bias_.size);
        for (size_t i = 0; i < bias_.size; i++) bias[i] = static_cast<double>(bias_[i]);
        scorer.bias = memory.bias;
        auto score = [&] {
            Vector<double> lengths{memory.lengths.resize(n), n};
            return score_bags<int32_t>(scorer, rows.indices, rows.indptr, rows.data, 0, n, scores,
                                       labels, lengths, memory.scratch);
        };
        if (!unlocks && rows.indices.size() <= SHORT) return score();
        nb::gil_scoped_release unlocked;
        return score();
    }

    // Put the columns of all counters and vectors side by side.
    const Rows<float>& join(TextMemory& memory) const {
        Rows<float>& joined = memory.joined;
        joined.clear();
        for (size_t row = 0; row < memory.parts[0].size(); row++) {
            for (size_t i = 0; i < parts_.size(); i++) {
                const Rows<float>& part = memory.parts[i];
                auto begin = static_cast<size_t>(part.indptr[row]),
                     n = static_cast<size_t>(part.indptr[row + 1]) - begin;
                size_t end = joined.indices.size();
                int32_t* indices = joined.indices.resize(end + n) + end;
                float* data = joined.data.resize(end + n) + end;
                for (size_t j = 0; j < n; j++)
                    indices[j] = part.indices[begin + j] + parts_[i].first;
                for (size_t j = 0; j < n; j++) data[j] = part.data[begin + j];
            }
            auto first = static_cast<size_t>(joined.indptr[row]);
            if (!encoders_.empty())
                append_vectors(memory, row,
                               row_length(joined.data.data() + first, joined.data.size() - first));
            joined.indptr.push_back(static_cast<int64_t>(joined.indices.size()));
        }
        return joined;
    }

    // Append the vectors of a text, without zeros, to a row.
    void append_vectors(TextMemory& memory, size_t row, double length) const {
        Rows<float>& joined = memory.joined;
        double scale = norm_ratio_ * length;
        for (size_t i = 0; i < encoders_.size(); i++) {
            size_t n_columns = encoders_[i].encoder->n_columns();
            const float* vector = memory.vectors[i].data() + row * n_columns;
            for (size_t column = 0; column < n_columns; column++) {
                auto value = static_cast<float>(
                    static_cast<double>(vector[column] * vector_weight_) * scale);
                if (value == 0) continue;
                joined.indices.push_back(encoders_[i].first + static_cast<int32_t>(column));
                joined.data.push_back(value);
            }
        }
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
    float vector_weight_;
    double norm_ratio_;
    Matrix<const float> weight_;  // (n_classes, output_dim)
    Vector<const float> bias_;
    BagScorer scorer_;
    std::vector<Part> parts_;
    std::vector<Vectors> encoders_;
};

}  // namespace

void define_text_model(nb::module_& module) {
    nb::class_<TextModel>(module, "TextModel")
        .def(nb::init<Counters, Encoders, const std::vector<int32_t>&, VectorEncoders, float,
                      double, Matrix<const float>, Matrix<const float>, Matrix<const uint64_t>,
                      int64_t, bool, bool, int64_t, Matrix<const float>, Vector<const float>,
                      Vector<const double>, double, double, nb::object>())
        .def("label", &TextModel::label, nb::arg("text"))
        .def("score", &TextModel::score, nb::arg("texts"), nb::arg("scores"), nb::arg("labels"));
}

}  // namespace hashnlp
