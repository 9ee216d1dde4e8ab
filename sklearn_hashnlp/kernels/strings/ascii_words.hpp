// Words of ASCII texts found 64 characters at a time.
#pragma once

#include <bit>

#include "../hashes.hpp"
#include "../memory.hpp"

namespace hashnlp {

constexpr size_t BLOCK = 64;  // characters, a bit of a mask each

struct Masks {
    uint64_t word, space;
};

// Return 64 bytes, each 0 or 0xFF, as the bits of a number.
inline uint64_t pack_bits(const uint8_t* flags) {
    uint64_t bits = 0;
#if defined(__SSE2__)
    typedef char Bytes __attribute__((vector_size(16)));
    for (size_t i = 0; i < BLOCK; i += 16) {
        Bytes bytes;
        std::memcpy(&bytes, flags + i, sizeof bytes);
        bits |= static_cast<uint64_t>(static_cast<uint16_t>(__builtin_ia32_pmovmskb128(bytes)))
                << i;
    }
#else
    for (size_t i = 0; i < BLOCK; i += 8) {
        uint64_t eight;
        std::memcpy(&eight, flags + i, sizeof eight);
        // The multiplication moves the lowest bit of the j-th of eight bytes to bit 56 + j.
        bits |= (eight & 0x0101010101010101u) * 0x0102040810204080u >> 56 << i;
    }
#endif
    return bits;
}

// Return which of the next characters are of words, and which whitespace, and write them in
// lowercase if asked; only `readable` characters are read.
inline Masks classify_block(const uint8_t* text, size_t readable, bool split_punctuation,
                            bool lowercase, uint8_t* __restrict lower) {
    alignas(64) uint8_t bytes[BLOCK] = {}, is_word[BLOCK], is_space[BLOCK];
    if (readable >= BLOCK)
        std::memcpy(bytes, text, BLOCK);
    else
        std::memcpy(bytes, text, readable);
    const uint8_t case_bit = lowercase ? 32 : 0;
    for (size_t i = 0; i < BLOCK;
         i++) {  // comparisons instead of a table: they become vector instructions
        uint8_t byte = bytes[i];
        uint8_t capital = static_cast<uint8_t>(byte - 'A') < 26 ? 0xFF : 0;
        uint8_t letter = static_cast<uint8_t>((byte | 32) - 'a') < 26 ? 0xFF : 0;
        uint8_t digit = static_cast<uint8_t>(byte - '0') < 10 ? 0xFF : 0;
        uint8_t line = byte == '_' ? 0xFF : 0;
        uint8_t control = static_cast<uint8_t>(byte - 9) < 5 ? 0xFF : 0;
        uint8_t blank = static_cast<uint8_t>(byte - 28) < 5 ? 0xFF : 0;
        lower[i] = static_cast<uint8_t>(byte | (capital & case_bit));
        is_word[i] = letter | digit | line;
        is_space[i] = control | blank;
    }
    Masks masks{pack_bits(is_word), pack_bits(is_space)};
    if (!split_punctuation) masks.word = ~masks.space;
    if (readable < BLOCK) {
        uint64_t used = (uint64_t{1} << readable) - 1;
        masks.word &= used;
        masks.space |= ~used;
    }
    return masks;
}

// Write `begin` plus the index of each bit that is set; return their number.
template <class Index>
inline size_t list_ones(uint64_t bits, Index begin, Index* positions) {
    constexpr size_t N_UNCONDITIONAL = 12;  // typical maximum of words that start in 64 characters
    auto n = static_cast<size_t>(std::popcount(bits));
    // Their number cannot be predicted: a fixed number is written first, even if there are fewer.
    for (size_t i = 0; i < N_UNCONDITIONAL; i++) {
        positions[i] = begin + static_cast<Index>(std::countr_zero(bits));
        bits &= bits - 1;
    }
    for (size_t i = N_UNCONDITIONAL; bits != 0; i++, bits &= bits - 1)
        positions[i] = begin + static_cast<Index>(std::countr_zero(bits));
    return n;
}

template <class Index>
struct AsciiWords {
    Buffer<uint8_t> lower;       // the text, in lowercase if asked, and `PADDING` more bytes
    Buffer<Index> starts, ends;  // of words, and the largest number at the end of the starts
};

// Find the words of an ASCII text; its last character is no part of one.
template <class Index>
inline void find_ascii_words(const uint8_t* text, size_t size, bool split_punctuation,
                             bool lowercase, bool keep_punctuation, AsciiWords<Index>& words) {
    uint8_t* lower = words.lower.resize(size + BLOCK + PADDING);
    Index* starts = words.starts.resize(size + BLOCK);
    Index* ends = words.ends.resize(size + BLOCK);
    size_t n_starts = 0, n_ends = 0;
    uint64_t word_before = 0, mark_before = 0;
    for (size_t at = 0; at < size; at += BLOCK) {
        Masks masks =
            classify_block(text + at, size - at, split_punctuation, lowercase, lower + at);
        uint64_t mark = keep_punctuation ? ~(masks.word | masks.space) : 0;
        uint64_t before = masks.word << 1 | word_before;
        n_starts +=
            list_ones((masks.word & ~before) | mark, static_cast<Index>(at), starts + n_starts);
        n_ends += list_ones((~masks.word & before) | mark << 1 | mark_before,
                            static_cast<Index>(at), ends + n_ends);
        word_before = masks.word >> 63;
        mark_before = mark >> 63;
    }
    starts[n_starts] = static_cast<Index>(~uint64_t{0} >> 1);
}

// Copy a word, and a space after it; up to 16 more bytes are overwritten.
inline uint8_t* copy_word(const uint8_t* word, size_t length, uint8_t* to) {
    std::memcpy(to, word, 16);  // most words need one copy, and no branch
    for (size_t i = 16; i < length; i += 16) std::memcpy(to + i, word + i, 16);
    to[length] = ' ';
    return to + length + 1;
}

}  // namespace hashnlp
