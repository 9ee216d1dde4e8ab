// Rows of a sparse matrix as weighted sums of rows of a table, which has a row for each of their
// distinct columns.
#pragma once

#include <cmath>

#include "hashes.hpp"
#include "memory.hpp"

namespace hashnlp {

constexpr int64_t ZEROS = -1;  // the index of the equal row of a row with only zeros
constexpr uint32_t MAX_WEIGHT =
    32767 / 127;  // the largest sum of weights that, times a coefficient, fits into 16 bits
constexpr double MAX_SIZE =
    2147483647;  // the largest sum of absolute integers that are added by digits

// Rows of the table that are added in 16 bits: entries of weight 1, and then those with a larger
// weight.
struct Segment {
    size_t begin, heavy, end;
    int32_t factor;  // of their sum
};

// Values of a row. Integers are a sum of segments; other numbers have an entry for each, in order.
struct Slice {
    size_t row, first, last;      // values
    size_t begin, end;            // segments or entries
    bool are_integers, is_count;  // of a few small counts: a whole row in one segment
};

// Rows that are projected together, or slices of long ones.
class Chunk {
public:
    // Make room for some values, up to a limit.
    Chunk(size_t n_values, size_t max_columns, size_t max_entries, size_t max_slice)
        : columns(n_values < 1             ? 1
                  : n_values < max_columns ? n_values
                                           : max_columns),
          places_(max_slice < columns.size() ? max_slice : columns.size()) {
        max_entries_ = 2 * n_values < max_entries ? 2 * n_values : max_entries;
        if (max_entries_ < MAX_PER_VALUE * places_.size())
            max_entries_ = MAX_PER_VALUE * places_.size();
        entries.resize(max_entries_ + 2);
        weights.resize(max_entries_ + 2);
        while (size_t{1} << (64 - shift_) < 2 * columns.size())
            shift_--;  // at most half of the slots are used
        slots_.resize(size_t{1} << (64 - shift_));
        clear();
    }

    void clear() {
        slots_.fill(-1);
        slices.resize(0);
        segments.resize(0);
        n_columns = n_entries_ = begin_ = 0;
    }

    // Append rows from a value on while there is room, and set the next ones. ZEROS is written for
    // rows of zeros.
    template <class Index>
    void append(const int64_t* indptr, const Index* indices, const double* data,
                Vector<int64_t> firsts, size_t& row, size_t& value) {
        for (; row < firsts.size; row++) {
            if (firsts[row] != static_cast<int64_t>(row)) continue;
            size_t begin = static_cast<size_t>(indptr[row]),
                   end = static_cast<size_t>(indptr[row + 1]);
            if (size_t n = end - begin; n <= places_.size() && are_counts(data + begin, n)) {
                if (!has_room(n, 2 * n)) return void(value = begin);
                find_places(indices + begin, n, places_.data());
                for (size_t i = 0; i < n; i++) append_entry(places_[i], counts_[i]);
                end_segment(1);
                slices.push_back(
                    {row, begin, end, segments.size() - 1, segments.size(), true, true});
                continue;
            }
            double size = 0;  // a sum that is compared with integers is exact
            bool are_integers = true;
            for (size_t i = begin; i < end; i++) {
                size += std::abs(data[i]);
                are_integers &= data[i] == std::floor(data[i]);
            }
            if (size == 0) {
                firsts[row] = ZEROS;
                continue;
            }
            are_integers &= size <= MAX_SIZE;
            for (size_t start = value > begin ? value : begin, stop; start < end; start = stop) {
                stop = end - start < places_.size() ? end : start + places_.size();
                if (!has_room(stop - start, MAX_PER_VALUE * (stop - start)))
                    return void(value = start);
                append_slice(row, start, stop, indices, data, are_integers);
            }
        }
    }

    size_t n_columns = 0;
    Buffer<int64_t> columns;  // of each row of the table
    Buffer<int32_t> entries;  // rows of the table
    Buffer<uint8_t> weights;  // of heavy entries
    Buffer<Slice> slices;
    Buffer<Segment> segments;

private:
    static constexpr size_t MAX_BYTE = 255;
    static constexpr size_t MAX_PER_VALUE = 8;  // entries: two for each of four digits in base 256

    // Write values to the counts, and check that they are: positive integers with a sum of one
    // byte.
    bool are_counts(const double* values, size_t n) {
        uint32_t sum = 0, n_others = n > MAX_BYTE ? 1 : 0;
        for (size_t i = 0; i < n && n <= MAX_BYTE; i++) {
            double value = values[i] >= 1 ? values[i] : 1.0;
            int count = static_cast<int>(value <= MAX_BYTE ? value : MAX_BYTE);
            n_others += count != values[i];
            sum += static_cast<uint32_t>(count);
            counts_[i] = static_cast<uint8_t>(count);
        }
        return n > 0 && n_others == 0 && sum <= MAX_BYTE;
    }

    bool has_room(size_t more_columns, size_t more_entries) const {
        return n_columns + more_columns <= columns.size() &&
               n_entries_ + more_entries <= max_entries_;
    }

    // Look up the rows of the table of some columns; a new column gets the next row.
    template <class Index>
    void find_places(const Index* indices, size_t n, int32_t* places) {
        size_t mask = slots_.size() - 1;
        for (size_t i = 0; i < n; i++) {
            int64_t column = indices[i];
            size_t slot = (static_cast<uint64_t>(column) * GAMMA) >> shift_;
            while (slots_[slot] >= 0 && columns[static_cast<size_t>(slots_[slot])] != column)
                slot = (slot + 1) & mask;
            if (slots_[slot] < 0) {
                slots_[slot] = static_cast<int32_t>(n_columns);
                columns[n_columns++] = column;
            }
            places[i] = slots_[slot];
        }
    }

    template <class Index>
    void append_slice(size_t row, size_t start, size_t stop, const Index* indices,
                      const double* data, bool are_integers) {
        size_t begin = are_integers ? segments.size() : n_entries_;
        int32_t* places = are_integers ? places_.data() : entries.data() + n_entries_;
        find_places(indices + start, stop - start, places);
        if (are_integers)
            append_integers(data + start, stop - start);
        else
            begin_ = n_entries_ += stop - start;
        slices.push_back({row, start, stop, begin, are_integers ? segments.size() : n_entries_,
                          are_integers, false});
    }

    // Append the segments of positive and of negative integers, for each digit in base 256.
    void append_integers(const double* values, size_t n) {
        for (double sign : {1.0, -1.0}) {
            int64_t bits = 0;  // of any of them
            for (size_t i = 0; i < n; i++)
                bits |= static_cast<int64_t>(sign * values[i] > 0 ? sign * values[i] : 0.0);
            for (int shift = 0; bits >> shift > 0; shift += 8) {
                int32_t factor = static_cast<int32_t>(sign) * (1 << shift);
                for (size_t i = 0; i < n; i++) {
                    auto digits =
                        static_cast<int64_t>(sign * values[i] > 0 ? sign * values[i] : 0.0);
                    auto digit = static_cast<uint32_t>(digits >> shift) & 255;
                    if (size_ + digit > MAX_WEIGHT) end_segment(factor);
                    append_entry(places_[i], digit);
                }
                end_segment(factor);
            }
        }
    }

    // Append an entry, or wait until the end of the segment. Two of weight 1 cost less than one of
    // weight 2.
    void append_entry(int32_t place, uint32_t weight) {
        size_ += weight;
        if (weight > 2) {
            heavy_[n_heavy_] = place;
            heavy_weights_[n_heavy_++] = static_cast<uint8_t>(weight);
        } else {  // no branch
            entries[n_entries_] = entries[n_entries_ + 1] = place;
            n_entries_ += weight;
        }
    }

    void end_segment(int32_t factor) {
        size_t heavy = n_entries_;
        for (size_t i = 0; i < n_heavy_; i++) {
            entries[n_entries_] = heavy_[i];
            weights[n_entries_++] = heavy_weights_[i];
        }
        if (n_entries_ > begin_) segments.push_back({begin_, heavy, n_entries_, factor});
        begin_ = n_entries_;
        size_ = n_heavy_ = 0;
    }

    Buffer<int32_t> slots_;  // an open-addressing hash table: the row of the table of the column in
                             // each slot, or -1
    int shift_ = 63;         // from a 64-bit hash to a slot
    Buffer<int32_t> places_;
    uint8_t counts_[MAX_BYTE];
    size_t n_entries_ = 0, max_entries_ = 0, begin_ = 0;  // of a segment
    uint32_t size_ = 0, n_heavy_ = 0;  // the sum of its weights, and the number of large ones
    int32_t heavy_[MAX_WEIGHT / 3];
    uint8_t heavy_weights_[MAX_WEIGHT / 3];
};

}  // namespace hashnlp
