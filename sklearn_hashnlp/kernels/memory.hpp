// Memory of kernels: arrays of other owners, and buffers that grow and can become NumPy arrays
// without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace hashnlp {

using std::size_t;

// One axis of numbers; it does not own them. T is const where a kernel only reads.
template <class T>
struct Vector {
    T* data = nullptr;
    size_t size = 0;

    T& operator[](size_t i) const { return data[i]; }
    T* begin() const { return data; }
    T* end() const { return data + size; }
};

// Rows of numbers, one after the other.
template <class T>
struct Matrix {
    T* data = nullptr;
    size_t rows = 0, columns = 0;

    T* operator[](size_t row) const { return data + row * columns; }
};

// Matrices of numbers, one after the other.
template <class T>
struct Cube {
    T* data = nullptr;
    size_t matrices = 0, rows = 0, columns = 0;

    T* operator()(size_t matrix, size_t row) const {
        return data + (matrix * rows + row) * columns;
    }
};

constexpr size_t LARGE = size_t{1}
                         << 22;  // bytes of the smallest block with huge pages, as in NumPy

// Request pages of 2 MB for large new memory: it would have a page fault for every 4 KB.
inline void request_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t n_bytes) {
#if defined(__linux__)
    if (n_bytes < LARGE) return;
    // From the start of the first page on, so that a mapping stays one mapping: then realloc moves
    // its pages, not its bytes.
    auto address = reinterpret_cast<std::uintptr_t>(memory),
         start = address & ~std::uintptr_t{4095};
    madvise(reinterpret_cast<void*>(start), n_bytes + (address - start), MADV_HUGEPAGE);
#endif
}

// Uninitialized memory for plain numbers that grows; its first `size` values are its content.
template <class T>
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(size_t n) { resize(n); }
    Buffer(size_t n, T value) {
        resize(n);
        fill(value);
    }
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { std::free(data_); }

    // Set the size; the values before it are kept, new ones are not initialized.
    T* resize(size_t n) {
        reserve(n);
        size_ = n;
        return data_;
    }

    // Make room for n values, half as many again as before at least.
    void reserve(size_t n) {
        if (n <= capacity_) return;
        size_t larger = n > capacity_ + capacity_ / 2 ? n : capacity_ + capacity_ / 2;
        if (larger > PTRDIFF_MAX / sizeof(T)) throw std::bad_alloc();
        void* moved = std::realloc(static_cast<void*>(data_), larger * sizeof(T));
        if (moved == nullptr) throw std::bad_alloc();
        data_ = static_cast<T*>(moved);
        capacity_ = larger;
        request_huge_pages(moved, larger * sizeof(T));
    }

    void push_back(T value) {
        if (size_ == capacity_) reserve(size_ + 1);
        data_[size_++] = value;
    }

    void fill(T value) {
        for (size_t i = 0; i < size_; i++) data_[i] = value;
    }

    // Return the memory, which the caller must free, without what is not used.
    T* release() {
        if (capacity_ > size_ && size_ > 0) {
            void* moved = std::realloc(static_cast<void*>(data_), size_ * sizeof(T));
            if (moved != nullptr) data_ = static_cast<T*>(moved);
        }
        T* released = data_;
        data_ = nullptr;
        size_ = capacity_ = 0;
        return released;
    }

    T* data() { return data_; }
    const T* data() const { return data_; }
    size_t size() const { return size_; }
    size_t capacity() const { return capacity_; }
    T& operator[](size_t i) { return data_[i]; }
    const T& operator[](size_t i) const { return data_[i]; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    operator Vector<T>() { return {data_, size_}; }
    operator Vector<const T>() const { return {data_, size_}; }

private:
    void swap(Buffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    T* data_ = nullptr;
    size_t size_ = 0, capacity_ = 0;
};

// Prefetch into all caches, so that memory is read while other numbers are in use.
inline void prefetch(const void* address) {
    __builtin_prefetch(address);
    __asm__ volatile("");  // or GCC takes a function that only prefetches for one without effects,
                           // and drops its calls
}

// Prefetch a row of a table: each of its cache lines.
template <class T>
inline void prefetch_row(const T* row, size_t n_columns) {
    constexpr size_t step = 64 / sizeof(T);
    for (size_t column = 0; column < n_columns; column += step) prefetch(row + column);
    if (n_columns > 1)
        prefetch(row + n_columns - 1);  // it may end in another line than it starts in
}

}  // namespace hashnlp
