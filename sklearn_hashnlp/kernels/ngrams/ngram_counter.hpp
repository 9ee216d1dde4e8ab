// The n-grams of texts, counted by one specification: texts are split, hashed and counted in groups
// that stay in the first caches.
#pragma once

#include "../strings/join_lines.hpp"
#include "../strings/tokenize.hpp"
#include "count_ngrams.hpp"
#include "hash_ngrams.hpp"

namespace hashnlp {

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
    static constexpr size_t GROUP = 4096;  // bytes of several texts
    static constexpr size_t MAX_SMALL =
        size_t{1} << 29;  // bytes of texts whose numbers of boundaries have 32 bits

    template <class Index, class T>
    void count_group(CounterMemory& memory, Units<Index>& units, Rows<T>& rows) const {
        split(analyzer, {memory.lines.bytes, memory.lines.offsets, memory.lines.is_ascii},
              tokenizer, stop_words, units);
        size_t separator_width = analyzer == WORDS;
        hash_at_best_level<Index>(
            {units.text, units.boundaries, units.segments, units.rows, separator_width}, range,
            memory.hashes);
        count_at_best_level<T>(memory.hashes.hashes.data(), memory.hashes.offsets, options,
                               memory.keys, rows);
    }
};

}  // namespace hashnlp
