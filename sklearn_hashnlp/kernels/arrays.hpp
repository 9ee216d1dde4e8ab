// NumPy arrays as arguments and results of kernels. Only .cpp files of bindings include it: kernels
// know no Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include "memory.hpp"

namespace hashnlp {

namespace nb = nanobind;

// Call a kernel without the interpreter's lock; its arguments and its result are converted while
// the lock is held.
template <auto kernel>
struct Unlocked;
template <class Result, class... Arguments, Result (*kernel)(Arguments...)>
struct Unlocked<kernel> {
    static Result call(Arguments... arguments) {
        nb::gil_scoped_release unlocked;
        return kernel(static_cast<Arguments&&>(arguments)...);
    }
};
template <auto kernel>
constexpr auto unlocked = &Unlocked<kernel>::call;

}  // namespace hashnlp

namespace nanobind::detail {

// An argument must have the right dtype and be contiguous: it is never converted, as a kernel may
// write to it.
template <class View, class Scalar, int n_axes>
struct array_caster {
    using Array = ndarray<Scalar, numpy, ndim<n_axes>, c_contig, device::cpu>;
    static constexpr auto Name = make_caster<Array>::Name;
    template <class>
    using Cast = View;
    template <class>
    static constexpr bool can_cast() {
        return true;
    }

    bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
        return array.from_python(source, flags & ~static_cast<uint32_t>(cast_flags::convert),
                                 cleanup);
    }

    operator View() {
        Array& value = array.value;
        Scalar* data = value.data();
        if constexpr (n_axes == 1) return {data, value.shape(0)};
        if constexpr (n_axes == 2) return {data, value.shape(0), value.shape(1)};
        if constexpr (n_axes == 3) return {data, value.shape(0), value.shape(1), value.shape(2)};
    }

    make_caster<Array> array;
};

template <class T>
struct type_caster<hashnlp::Vector<T>> : array_caster<hashnlp::Vector<T>, T, 1> {};
template <class T>
struct type_caster<hashnlp::Matrix<T>> : array_caster<hashnlp::Matrix<T>, T, 2> {};
template <class T>
struct type_caster<hashnlp::Cube<T>> : array_caster<hashnlp::Cube<T>, T, 3> {};

// A result becomes the owner of the memory of a buffer.
template <class T>
struct type_caster<hashnlp::Buffer<T>> {
    using Array = ndarray<T, numpy, ndim<1>, c_contig, device::cpu>;
    static constexpr auto Name = make_caster<Array>::Name;

    static handle from_cpp(hashnlp::Buffer<T>&& buffer, rv_policy, cleanup_list* cleanup) noexcept {
        size_t size = buffer.size();
        buffer.reserve(1);
        T* data = buffer.release();
        capsule owner(data, [](void* memory) noexcept { std::free(memory); });
        return make_caster<Array>::from_cpp(Array(data, {size}, owner), rv_policy::reference,
                                            cleanup);
    }
};

// A tuple of arrays, such as a NamedTuple, becomes a struct that has them as its fields.
template <class Struct, class... Fields>
struct struct_caster : type_caster<std::tuple<Fields...>> {
    template <class>
    using Cast = Struct;

    operator Struct() {
        auto fields = static_cast<std::tuple<Fields...>>(
            static_cast<type_caster<std::tuple<Fields...>>&>(*this));
        return std::apply([](const Fields&... field) { return Struct{field...}; }, fields);
    }
};

}  // namespace nanobind::detail
