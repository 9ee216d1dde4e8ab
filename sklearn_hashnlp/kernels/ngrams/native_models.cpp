// Kernels of language models, fingerprints and fastText for Python.
#include "../arrays.hpp"
#include "../modules.hpp"
#include "cache_counts.hpp"
#include "count_word_ngrams.hpp"
#include "fasttext_rows.hpp"
#include "fingerprints.hpp"
#include "kneser_ney.hpp"
#include "trie.hpp"

namespace hashnlp {

namespace {

using Bytes = Vector<const uint8_t>;
using Int32s = Vector<const int32_t>;
using Int64s = Vector<const int64_t>;
using Doubles = Vector<const double>;
using Pairs = Matrix<const int32_t>;

// NamedTuples of Python, and the structures of the same fields.
using TablesTuple = std::tuple<Bytes, Int64s, Pairs, Pairs, int64_t, int64_t, int64_t, int64_t,
                               int64_t, int64_t, Bytes, Int32s, Int64s>;
using TrieTuple = std::tuple<Int32s, Int32s, Int32s, Doubles, Doubles>;

template <class Structure, class Tuple>
Structure structure_of(const Tuple& fields) {
    return std::apply([](auto... values) { return Structure{values...}; }, fields);
}

auto find_subwords_of(TablesTuple tables) {
    return find_subwords(structure_of<FastTextTables>(tables));
}

auto fasttext_rows_of(TablesTuple tables, Bytes text, Int64s offsets, bool end_of_line) {
    return fasttext_rows(structure_of<FastTextTables>(tables), text, offsets, end_of_line);
}

void find_nodes_of(TrieTuple trie, Pairs ngrams, Vector<int64_t> nodes) {
    find_nodes(structure_of<NgramTrie>(trie), ngrams, nodes);
}

template <class Position>
void score_positions_of(TrieTuple trie, Int32s text, Vector<const Position> positions,
                        int64_t n_context, Vector<double> scores) {
    score_positions(structure_of<NgramTrie>(trie), text, positions, n_context, scores);
}

void score_all_words_of(TrieTuple trie, Matrix<const int64_t> contexts, Matrix<double> scores) {
    score_all_words(structure_of<NgramTrie>(trie), contexts, scores);
}

}  // namespace

void define_ngram_models(nb::module_& module) {
    module.def("count_before", unlocked<count_before>, nb::arg("text"), nb::arg("starts"),
               nb::arg("n_ids"), nb::arg("weights"), nb::arg("words"), nb::arg("n_words"),
               nb::arg("bigrams"), nb::arg("n_bigrams"));
    module.def("count_contexts", unlocked<count_contexts>, nb::arg("contexts"), nb::arg("weights"),
               nb::arg("words"), nb::arg("n_words"), nb::arg("bigrams"), nb::arg("n_bigrams"));
    module.def("sort_positions", unlocked<sort_positions>, nb::arg("text"), nb::arg("n_words"));
    module.def("extend_ngrams", unlocked<extend_ngrams>, nb::arg("text"), nb::arg("is_counted"),
               nb::arg("positions"), nb::arg("shorter"), nb::arg("n_shorter"), nb::arg("longer"));
    module.def("interpolate", unlocked<interpolate>, nb::arg("parents"), nb::arg("suffixes"),
               nb::arg("counts"), nb::arg("kept"), nb::arg("discounts"), nb::arg("shorter_probs"),
               nb::arg("probs"), nb::arg("weights"));
    module.def("find_nodes", unlocked<find_nodes_of>, nb::arg("trie"), nb::arg("ngrams"),
               nb::arg("nodes"));
    module.def("score_positions", unlocked<score_positions_of<int32_t>>, nb::arg("trie"),
               nb::arg("text"), nb::arg("positions"), nb::arg("n_context"), nb::arg("scores"));
    module.def("score_positions", unlocked<score_positions_of<int64_t>>, nb::arg("trie"),
               nb::arg("text"), nb::arg("positions"), nb::arg("n_context"), nb::arg("scores"));
    module.def("score_all_words", unlocked<score_all_words_of>, nb::arg("trie"),
               nb::arg("contexts"), nb::arg("scores"));
    module.def("fingerprint_ngrams", unlocked<fingerprint_ngrams>, nb::arg("text"),
               nb::arg("boundaries"), nb::arg("segments"), nb::arg("rows"),
               nb::arg("separator_width"), nb::arg("min_n"), nb::arg("max_n"));
    module.def("range_sizes", unlocked<range_sizes>, nb::arg("fingerprints"), nb::arg("sizes"));
    module.def("scatter_ranges", unlocked<scatter_ranges>, nb::arg("fingerprints"),
               nb::arg("first"), nb::arg("last"), nb::arg("cursors"), nb::arg("out"));
    module.def("count_runs", unlocked<count_runs>, nb::arg("ascending"), nb::arg("threshold"));
    module.def("fingerprint_slots", unlocked<fingerprint_slots>, nb::arg("dictionary"));
    module.def("find_fingerprints", unlocked<found_fingerprints>, nb::arg("fingerprints"),
               nb::arg("row_ends"), nb::arg("dictionary"), nb::arg("slots"));
    module.def("hash_table", unlocked<hash_table>, nb::arg("names"), nb::arg("offsets"));
    module.def("bucket_table", unlocked<bucket_table>, nb::arg("pairs"));
    module.def("find_subwords", unlocked<find_subwords_of>, nb::arg("tables"));
    module.def("fasttext_rows", unlocked<fasttext_rows_of>, nb::arg("tables"), nb::arg("text"),
               nb::arg("offsets"), nb::arg("end_of_line"));
}

}  // namespace hashnlp
