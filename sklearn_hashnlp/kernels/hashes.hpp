// The hash functions: MurmurHash3 of bytes and of 32-bit integers, SplitMix64 of 64-bit integers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hashnlp {

constexpr size_t PADDING =
    32;  // bytes that are readable after hashed ones: up to six times four are read at once

// Load four bytes, at any alignment, as one little-endian number.
inline uint32_t load_uint32(const uint8_t* bytes) {
    uint32_t number;
    std::memcpy(&number, bytes, sizeof number);
    return number;
}

// The finalizer of MurmurHash3. No two words become one.
inline uint32_t fmix32(uint32_t word) {
    word = (word ^ (word >> 16)) * 0x85EBCA6Bu;
    word = (word ^ (word >> 13)) * 0xC2B2AE35u;
    return word ^ (word >> 16);
}

inline uint32_t rotate_left(uint32_t word, int n) { return (word << n) | (word >> (32 - n)); }

// Update the state of the hash with four bytes, read as one little-endian number.
inline uint32_t mix_block(uint32_t state, uint32_t block) {
    return rotate_left(state ^ (rotate_left(block * 0xCC9E2D51u, 15) * 0x1B873593u), 13) * 5u +
           0xE6546B64u;
}

// Return the hash after the first `length % 4` bytes of the last block and the length in bytes.
inline int32_t finish(uint32_t state, uint32_t block, uint32_t length) {
    // Without remaining bytes the mask is 0, and a tail of 0 does not change the state: no branch
    // is needed. Comparisons, as not every processor has vectors of shifts.
    uint32_t rest = length & 3;
    uint32_t mask = (rest > 0 ? 0xFFu : 0) | (rest > 1 ? 0xFF00u : 0) | (rest > 2 ? 0xFF0000u : 0);
    uint32_t tail = rotate_left((block & mask) * 0xCC9E2D51u, 15) * 0x1B873593u;
    return static_cast<int32_t>(fmix32(state ^ tail ^ length));
}

// Hash some bytes; `PADDING` more must be readable.
inline int32_t murmur3(const uint8_t* bytes, size_t length, uint32_t seed) {
    uint32_t state = seed;
    const uint8_t* last = bytes + (length & ~size_t{3});
    for (; bytes < last; bytes += 4) state = mix_block(state, load_uint32(bytes));
    return finish(state, load_uint32(bytes), static_cast<uint32_t>(length));
}

constexpr uint64_t GAMMA =
    0x9E3779B97F4A7C15u;  // of SplitMix64's state: 2**64 over the golden ratio

// The output function of SplitMix64. No two words become one.
inline uint64_t mix_word(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    return word ^ (word >> 31);
}

// Hash a word or a character, of up to 2**32 bytes, to 64 bits; `PADDING` more must be readable.
inline uint64_t unit_fingerprint(const uint8_t* bytes, size_t length) {
    constexpr uint32_t HIGH_SEED = 0x9747B28C, LOW_SEED = 0;
    uint64_t high = static_cast<uint32_t>(murmur3(bytes, length, HIGH_SEED));
    return high << 32 | static_cast<uint32_t>(murmur3(bytes, length, LOW_SEED));
}

// Return the fingerprint of an n-gram from that of its first units, 0 for none, and its last unit.
inline uint64_t extended_fingerprint(uint64_t fingerprint, uint64_t unit) {
    return mix_word((fingerprint ^ unit) + GAMMA);
}

// Return the fingerprint of two neighboring words; the first, mixed once more, counts differently.
inline uint64_t pair_fingerprint(uint64_t first, uint64_t second) {
    return mix_word(mix_word(first + GAMMA) ^ second);
}

}  // namespace hashnlp
