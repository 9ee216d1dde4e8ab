// n-grams hashed and counted, compiled for each instruction set.
#include "count_ngrams.hpp"

#include "../levels.hpp"
#include "hash_ngrams.hpp"

namespace hashnlp {

template <class Index>
void hash_at_best_level(const UnitsView<Index>& units, const NgramRange& range, NgramHashes& out) {
    at_best_level([&] { hash_ngrams(units, range, out); });
}

template <class T>
void count_at_best_level(const int32_t* hashes, Vector<const int64_t> offsets,
                         const CountOptions& options, KeyBuffers& memory, Rows<T>& rows) {
    at_best_level([&] { count_hashes(hashes, offsets, options, memory, rows); });
}

template void hash_at_best_level(const UnitsView<uint32_t>&, const NgramRange&, NgramHashes&);
template void hash_at_best_level(const UnitsView<int64_t>&, const NgramRange&, NgramHashes&);
template void count_at_best_level(const int32_t*, Vector<const int64_t>, const CountOptions&,
                                  KeyBuffers&, Rows<float>&);
template void count_at_best_level(const int32_t*, Vector<const int64_t>, const CountOptions&,
                                  KeyBuffers&, Rows<double>&);

}  // namespace hashnlp
