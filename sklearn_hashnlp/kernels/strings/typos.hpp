// Random typos: characters deleted, swapped and inserted.
#pragma once

#include "../hashes.hpp"
#include "../memory.hpp"

namespace hashnlp {

enum Edit : int64_t { DELETION = 0, SWAP = 1, INSERTION = 2 };  // as in _typos.py

struct Distorted {
    Buffer<uint32_t> characters;
    Buffer<int64_t> offsets;
};

// Make typos in each text: floor(rate * n + u) edits of its n characters, u in [0, 1). An edit
// deletes a character, swaps it with the next one (the last with the one before it), or inserts
// before or after it a random character of the text.
inline Distorted distort_characters(Vector<const uint32_t> characters,
                                    Vector<const int64_t> offsets, double rate,
                                    Vector<const int64_t> kinds, uint64_t key) {
    constexpr uint64_t LOW = 0xFFFFFFFFu;
    Distorted out{Buffer<uint32_t>(2 * characters.size), Buffer<int64_t>(offsets.size)};
    size_t to = 0;
    out.offsets[0] = 0;
    for (size_t text = 0; text + 1 < offsets.size; text++) {
        auto start = static_cast<size_t>(offsets[text]),
             stop = static_cast<size_t>(offsets[text + 1]);
        uint64_t length = stop - start;
        // The random stream of a text is seeded by a hash of its characters, so equal texts have
        // equal typos.
        uint64_t state = key;
        for (size_t at = start; at < stop; at++) state = mix_word((state + GAMMA) ^ characters[at]);
        auto draw = [&] { return mix_word(state += GAMMA); };
        double share = static_cast<double>(draw() >> 32) / 4294967296.0;
        auto left = static_cast<uint64_t>(rate * static_cast<double>(length) + share);
        left = left < length ? left : length;
        size_t begin = to;
        for (size_t at = start; at < stop; at++) {
            uint32_t character = characters[at];
            if (left > 0) {
                uint64_t word = draw();
                // Knuth's algorithm S: of the remaining characters, as many as edits are left, with
                // equal probability.
                if ((word >> 32) * (stop - at) >> 32 < left) {
                    left--;
                    int64_t kind = kinds[(word & LOW) * kinds.size >> 32];
                    if (kind == DELETION) continue;
                    if (kind == INSERTION) {
                        word = draw();
                        size_t after = word & 1;
                        out.characters[to + after] = character;
                        out.characters[to + 1 - after] =
                            characters[start + ((word >> 32) * length >> 32)];
                        to += 2;
                        continue;
                    }
                    if (at + 1 < stop) {
                        out.characters[to++] = characters[++at];
                    } else if (to > begin) {
                        out.characters[to] = out.characters[to - 1];
                        out.characters[to - 1] = character;
                        to++;
                        continue;
                    }
                }
            }
            out.characters[to++] = character;
        }
        out.offsets[text + 1] = static_cast<int64_t>(to);
    }
    out.characters.resize(to);
    return out;
}

}  // namespace hashnlp
