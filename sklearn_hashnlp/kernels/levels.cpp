// The instruction sets of this processor.
#include "levels.hpp"

#if defined(HASHNLP_LEVELS)
#include <cpuid.h>
#endif

namespace hashnlp {

#if defined(HASHNLP_LEVELS)
namespace {

// Return the registers that the operating system saves. Not __builtin_cpu_supports, which has no
// answer in zig.
unsigned saved_registers() {
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

bool has_all(unsigned flags, unsigned wanted) { return (flags & wanted) == wanted; }

}  // namespace

Level detect_level() {
    unsigned eax, ebx, ecx, edx, unused, extended = 0;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) ||
        !has_all(ecx, bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C | bit_MOVBE))
        return Level::baseline;
    if (!__get_cpuid(0x80000001, &eax, &unused, &extended, &edx) || !has_all(extended, bit_LZCNT))
        return Level::baseline;
    if (!has_all(saved_registers(), 0x6) || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) ||
        !has_all(ebx, bit_AVX2 | bit_BMI | bit_BMI2))
        return Level::baseline;
    bool is_v4 =
        has_all(ebx, bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL);
    return is_v4 && has_all(saved_registers(), 0xE6) ? Level::v4 : Level::v3;
}
#else
Level detect_level() { return Level::baseline; }
#endif

Level current_level = detect_level();

}  // namespace hashnlp
