// The n-grams of texts, counted by one specification: texts are split, hashed and counted in groups that stay in the
// first caches.
#pragma once

#include "../levels.hpp"
#include "../strings/join_lines.hpp"
#include "../strings/tokenize.hpp"
#include "count_ngrams.hpp"
#include "hash_ngrams.hpp"

namespace hashnlp {

enum Analyzer : int { WORDS = 0, CHARACTERS = 1, WORD_CHARACTERS = 2 };

// Split documents by an analyzer, without stop words.
template <class Index>
inline void split(Analyzer analyzer, const Documents& documents, const Tokenizer& tokenizer, const WordSet& stop_words,
                  Units<Index>& units) {
    if (analyzer == WORDS) {
        at_best_level([&] { split_words(documents, tokenizer, units); });
        drop_stop_words(stop_words, units);
    } else if (analyzer == CHARACTERS) {
        at_best_level([&] { split_characters(documents, tokenizer, units); });
    } else {
        at_best_level([&] { split_word_characters(documents, tokenizer, units); });
    }
}

// Memory of a thread.
struct CounterMemory {
    Lines lines;
    Units<uint32_t> units;
    NgramHashes hashes;
    KeyBuffers keys;
};

struct NgramCounter {
    Analyzer analyzer;
    Tokenizer tokenizer;
    WordSet stop_words;
    NgramRange range;
    CountOptions options;
    Vector<const uint8_t> begin, end;  // of ASCII texts

    // Append a row for each text.
    template <class T>
    void count(Vector<const Text> texts, CounterMemory& memory, Rows<T>& rows) const {
        for (size_t first = 0; first < texts.size;) {
            size_t last = first, size = 0;
            do size += texts[last++].size;
            while (last < texts.size && size + texts[last].size <= GROUP);
            join_lines({texts.data + first, last - first}, begin, end, memory.lines);
            if (memory.lines.bytes.size() < MAX_SMALL) {
                count_group(memory, memory.units, rows);
            } else {
                Units<int64_t> units;
                count_group(memory, units, rows);
            }
            first = last;
        }
    }

   private:
    static constexpr size_t GROUP = 4096;                 // bytes of several texts
    static constexpr size_t MAX_SMALL = size_t{1} << 29;  // bytes of texts whose numbers of boundaries have 32 bits

    template <class Index, class T>
    void count_group(CounterMemory& memory, Units<Index>& units, Rows<T>& rows) const {
        split(analyzer, {memory.lines.bytes, memory.lines.offsets, memory.lines.is_ascii}, tokenizer, stop_words, units);
        size_t separator_width = analyzer == WORDS;
        at_best_level([&] {
            hash_ngrams<Index>({units.text, units.boundaries, units.segments, units.rows, separator_width}, range, memory.hashes);
        });
        at_best_level([&] { count_hashes<T>(memory.hashes.hashes.data(), memory.hashes.offsets, options, memory.keys, rows); });
    }
};

}  // namespace hashnlp
