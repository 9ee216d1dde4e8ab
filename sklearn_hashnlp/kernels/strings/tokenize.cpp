// The tokenizers, compiled for each instruction set.
#include "tokenize.hpp"

#include "../levels.hpp"

namespace hashnlp {

template <class Index>
void split(Analyzer analyzer, const Documents& documents, const Tokenizer& tokenizer,
           const WordSet& stop_words, Units<Index>& units) {
    if (analyzer == WORDS) {
        at_best_level([&] { split_words(documents, tokenizer, units); });
        drop_stop_words(stop_words, units);
    } else if (analyzer == CHARACTERS) {
        at_best_level([&] { split_characters(documents, tokenizer, units); });
    } else {
        at_best_level([&] { split_word_characters(documents, tokenizer, units); });
    }
}

template void split(Analyzer, const Documents&, const Tokenizer&, const WordSet&, Units<uint32_t>&);
template void split(Analyzer, const Documents&, const Tokenizer&, const WordSet&, Units<int64_t>&);

}  // namespace hashnlp
