// exp, log1p and log as plain arithmetic: loops over them use vector instructions, and all
// processors get the same bits.
#pragma once

#include <bit>
#include <cstdint>

namespace hashnlp {

constexpr double LN2_HIGH =
    6.93147180369123816490e-01;  // low bits are zero: a product with a small integer is exact
constexpr double LN2_LOW = 1.90821492927058770002e-10;

// Return e**x for x <= 0, right to about the last bit: e**x = 2**n e**r with |r| <= ln(2) / 2, by
// the Taylor series of e**r.
inline double exp_of_negative(double x) {
    constexpr double MIN_ARGUMENT = -708.0;  // exp of a smaller one is subnormal
    constexpr double LOG2_E = 1.4426950408889634;
    constexpr double ROUND = 0x1.8p52;
    double value = x < MIN_ARGUMENT ? MIN_ARGUMENT : x;
    double shifted = value * LOG2_E + ROUND;
    double whole =
        shifted - ROUND;  // n, the nearest integer, which the lowest bits of `shifted` are as well
    double r = (value - whole * LN2_HIGH) - whole * LN2_LOW;
    double series = 1.0 / 479001600 + r * (1.0 / 6227020800);
    series = 1.0 / 3628800 + r * (1.0 / 39916800 + r * series);
    series = 1.0 / 40320 + r * (1.0 / 362880 + r * series);
    series = 1.0 / 720 + r * (1.0 / 5040 + r * series);
    series = 1.0 / 24 + r * (1.0 / 120 + r * series);
    series = 0.5 + r * (1.0 / 6 + r * series);
    return (1.0 + r * (1.0 + r * series)) *
           std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023) << 52);
}

// Return log(1 + x) for 0 <= x <= 1: 2 artanh(s) with s = x / (2 + x) <= 1/3, by its Taylor series.
inline double log1p_of_unit(double x) {
    double s = x / (2.0 + x);
    double q = s * s;
    double series = 1.0 / 29 + q * (1.0 / 31 + q * (1.0 / 33));
    series = 1.0 / 25 + q * (1.0 / 27 + q * series);
    series = 1.0 / 21 + q * (1.0 / 23 + q * series);
    series = 1.0 / 17 + q * (1.0 / 19 + q * series);
    series = 1.0 / 13 + q * (1.0 / 15 + q * series);
    series = 1.0 / 9 + q * (1.0 / 11 + q * series);
    series = 1.0 / 5 + q * (1.0 / 7 + q * series);
    return 2.0 * s * (1.0 + q * (1.0 / 3 + q * series));
}

// Return log(x) for x > 0, right to about the last bit: n ln(2) + log(1 + f) with sqrt(1/2) <= 1 +
// f < sqrt(2), and log(1 + f) = 2 artanh(s) = f - f**2 / 2 + s (f**2 / 2 + R) with s = f / (2 + f),
// R = 2 (s**2 / 3 + s**4 / 5 + ...).
inline double log_of_positive(double x) {
    constexpr double MIN_NORMAL = 0x1p-1022;
    constexpr uint64_t ROOT = 0x3FE6A09E667F3BCD;  // the bits of sqrt(1/2)
    constexpr uint64_t TO_ONE =
        0x3FF0000000000000 - ROOT;  // moves it to where the exponent changes
    constexpr uint64_t MANTISSA = (uint64_t{1} << 52) - 1;
    bool is_subnormal = x < MIN_NORMAL;
    uint64_t bits = std::bit_cast<uint64_t>(is_subnormal ? x * 0x1p54 : x) + TO_ONE;
    // An integer below 2**52 becomes a double as the low bits of 2**52: not every processor
    // converts vectors of them.
    double exponent = std::bit_cast<double>((bits >> 52) | 0x4330000000000000) - 0x1p52;
    double n = exponent - (is_subnormal ? 1023.0 + 54.0 : 1023.0);
    double f = std::bit_cast<double>((bits & MANTISSA) + ROOT) - 1.0;
    double s = f / (2.0 + f);
    double q = s * s;
    double series = 2.0 / 19 + q * (2.0 / 21 + q * (2.0 / 23));
    series = 2.0 / 15 + q * (2.0 / 17 + q * series);
    series = 2.0 / 11 + q * (2.0 / 13 + q * series);
    series = 2.0 / 7 + q * (2.0 / 9 + q * series);
    series = q * (2.0 / 3 + q * (2.0 / 5 + q * series));
    double half_square = 0.5 * f * f;
    double log1p = f - (half_square - (s * (half_square + series) + n * LN2_LOW));
    return x <= 0x1.fffffffffffffp1023 ? n * LN2_HIGH + log1p : x;  // infinity, or NaN
}

}  // namespace hashnlp
