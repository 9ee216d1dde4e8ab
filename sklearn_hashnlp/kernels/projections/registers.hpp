// Vectors as long as a register of the processor, with the operators of the compiler for their
// lanes.
#pragma once

#include <type_traits>

#include "levels.hpp"
#include "memory.hpp"

namespace hashnlp {

template <class T, size_t n_bytes>
struct RegisterOf {
    typedef T type __attribute__((vector_size(n_bytes)));
};
template <class T, size_t n_bytes>
using Register = typename RegisterOf<T, n_bytes>::type;

template <size_t n_bytes>
using Bytes = std::integral_constant<size_t, n_bytes>;

// Call a kernel at the best level with the number of bytes of a register: longer ones would be kept
// in memory.
template <class Kernel>
inline void at_best_width(const Kernel& kernel) {
#if defined(HASHNLP_LEVELS)
    if (current_level == Level::v4) return at_level_v4([&] { kernel(Bytes<32>()); });
    if (current_level == Level::v3) return at_level_v3([&] { kernel(Bytes<32>()); });
#endif
    kernel(Bytes<16>());
}

template <class T, size_t n_bytes>
inline Register<T, n_bytes> load_register(const void* memory) {
    Register<T, n_bytes> lanes;
    std::memcpy(&lanes, memory, n_bytes);
    return lanes;
}

template <class Lanes>
inline void store_register(void* memory, Lanes lanes) {
    std::memcpy(memory, &lanes, sizeof lanes);
}

// Load into a register once, where GCC would use memory as an operand twice.
template <class Lanes>
inline void keep([[maybe_unused]] Lanes& lanes) {
#if defined(__x86_64__) && !defined(__clang__)
    asm("" : "+x"(lanes));
#endif
}

}  // namespace hashnlp
