// Texts joined to one buffer of lines.
#pragma once

#include "../memory.hpp"

namespace hashnlp {

struct Text {
    const uint8_t* bytes;
    size_t size;
    bool is_ascii;  // an ASCII text is still to be enclosed and lowercased; any other has been
};

struct Lines {
    Buffer<uint8_t> bytes;
    Buffer<int64_t> offsets;  // (n_lines + 1,)
    Buffer<bool> is_ascii;    // (n_lines,)
};

// Join texts to lines; `begin` and `end` enclose the ASCII texts.
inline void join_lines(Vector<const Text> texts, Vector<const uint8_t> begin,
                       Vector<const uint8_t> end, Lines& lines) {
    size_t size = 0;
    for (const Text& text : texts)
        size += text.size + (text.is_ascii ? begin.size + end.size : 0) + 1;
    uint8_t* to = lines.bytes.resize(size);
    lines.offsets.resize(texts.size + 1);
    lines.is_ascii.resize(texts.size);
    auto add = [&](Vector<const uint8_t> part) {
        if (part.size > 0) std::memcpy(to, part.data, part.size);
        to += part.size;
    };
    for (size_t i = 0; i < texts.size; i++) {
        const Text& text = texts[i];
        lines.offsets[i] = to - lines.bytes.data();
        lines.is_ascii[i] = text.is_ascii;
        if (text.is_ascii) add(begin);
        add({text.bytes, text.size});
        if (text.is_ascii) add(end);
        *to++ = '\n';
    }
    lines.offsets[texts.size] = static_cast<int64_t>(size);
}

}  // namespace hashnlp
