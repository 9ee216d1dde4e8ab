// UTF-8 decoding and the classes of characters.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hashnlp {

enum CharacterClass : uint8_t { OTHER = 0, WORD = 1, SPACE = 2 };  // as in _unicode.py

// Return the number of bytes, 1 to 4, of the UTF-8 character that starts with a byte.
inline size_t utf8_width(uint8_t first_byte) {
    return size_t{1} + (first_byte >= 0xC0) + (first_byte >= 0xE0) + (first_byte >= 0xF0);
}

// Decode the UTF-8 character of `width` bytes of a well-formed text.
inline uint32_t utf8_code_point(const uint8_t* text, size_t width) {
    if (width == 1) return *text;
    uint32_t code_point = *text & (0x7Fu >> width);
    for (size_t i = 1; i < width; i++) code_point = code_point << 6 | (text[i] & 0x3Fu);
    return code_point;
}

}  // namespace hashnlp
