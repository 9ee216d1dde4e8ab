// Sums in a written order: eight lanes and then a fixed tree, so that each instruction set computes the same bits.
#pragma once

#include <cstddef>
#include <cstring>

namespace hashnlp {

constexpr size_t N_LANES = 8;

template <class T>
struct LanesOf {
    typedef T type __attribute__((vector_size(N_LANES * sizeof(T))));
};
template <class T>
using Lanes = typename LanesOf<T>::type;

template <class T>
inline Lanes<T> load_lanes(const T* values) {
    Lanes<T> lanes;
    std::memcpy(&lanes, values, sizeof lanes);
    return lanes;
}

// Load the n < 8 last values, followed by zeros.
template <class T>
inline Lanes<T> load_rest(const T* values, size_t n) {
    Lanes<T> lanes = {};
    std::memcpy(&lanes, values, n * sizeof(T));
    return lanes;
}

template <class T>
inline void store_lanes(T* values, Lanes<T> lanes) {
    std::memcpy(values, &lanes, sizeof lanes);
}

// Sum eight lanes in pairs: each lane of the lower half with one of the upper.
template <class T>
inline T sum_lanes(Lanes<T> v) {
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// Return the dot product of two vectors.
template <class T>
inline T dot(const T* u, const T* v, size_t n) {
    Lanes<T> sums = {};
    size_t at = 0;
    for (; at + N_LANES <= n; at += N_LANES) sums += load_lanes(u + at) * load_lanes(v + at);
    if (at < n) sums += load_rest(u + at, n - at) * load_rest(v + at, n - at);
    return sum_lanes<T>(sums);
}

}  // namespace hashnlp
