// Instruction sets: kernels run with the best that the processor has, with equal bits.
//
// A kernel is written once, as a generic function. `at_best_level` compiles it again for each
// instruction set, with all that it calls inlined, so that no function of a newer set can be linked
// in the place of one of an older. All of them compute the same bits: sums have a written order,
// and nothing is contracted (see native/CMakeLists.txt).
#pragma once

#include <cstddef>

namespace hashnlp {

using std::size_t;

enum class Level : int {
    baseline,
    v3,
    v4
};  // x86-64-v2 (or any other processor), x86-64-v3 (AVX2), v4 (AVX-512)

Level detect_level();        // the best that the processor has
extern Level current_level;  // used by kernels; set_level of the module changes it in tests

// The size of vector registers in bytes, for kernels whose types depend on it:
// at_best_level([&]<size_t BYTES>(Registers<BYTES>) { ... }).
template <size_t BYTES>
struct Registers {};

template <size_t BYTES, class Kernel>
inline auto call_kernel(Kernel& kernel) {
    if constexpr (requires { kernel(Registers<BYTES>()); }) {
        return kernel(Registers<BYTES>());
    } else {
        return kernel();
    }
}

#if defined(__x86_64__) && !defined(HASHNLP_ONE_LEVEL)
#define HASHNLP_LEVELS 1
// Features by name: of "arch=x86-64-v3" zig takes away what its -march lacks.
#define HASHNLP_V3 "avx2,bmi,bmi2,f16c,fma,lzcnt,movbe"
#define HASHNLP_V4 HASHNLP_V3 ",avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
template <class Kernel>
[[gnu::target(HASHNLP_V3), gnu::flatten, gnu::noinline]] auto at_level_v3(Kernel&& kernel) {
    return call_kernel<32>(kernel);
}
template <class Kernel>
[[gnu::target(HASHNLP_V4), gnu::flatten, gnu::noinline]] auto at_level_v4(Kernel&& kernel) {
    return call_kernel<64>(kernel);
}
#endif

template <class Kernel>
[[gnu::flatten]] inline auto at_baseline(Kernel&& kernel) {
    return call_kernel<16>(kernel);
}

template <class Kernel>
inline auto at_best_level(Kernel&& kernel) {
#if defined(HASHNLP_LEVELS)
    if (current_level == Level::v4) return at_level_v4(kernel);
    if (current_level == Level::v3) return at_level_v3(kernel);
#endif
    return at_baseline(kernel);
}

}  // namespace hashnlp
