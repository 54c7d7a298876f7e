// The labels and times of a chunk's events as one stream of numbers (number_coder.h), for files that shall be small:
//
//   u64 tick in 2^-28 ns (clock_ticks.h); u32 bytes of the coded part; coded part; plain part
//
//   first label by label, as the value column of labels has it; then event by event the steps of its times, each as
//   ticks and the rest in nanoseconds: begin since the end before; and to the end, or, of collectives, to the entry,
//   to the transfer begin, to the end, to the transfer end, whence the next event goes back to the end
//
// Ticks have a model for each step and label, at most 64 labels, or else for each step; labels and rests have one for
// each step. This header is for chunk_labelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spscope {

// The value columns of version 2 (chunk_labelled.h): the label steps, and gap, duration, and of collectives entry,
// move, transfer end. Each column has as many values.
using TimeColumns = std::vector<std::vector<std::uint64_t>>;

// The most bytes that so many events take: of each the label, five steps and five rests, of less than 24 bytes each.
constexpr std::size_t max_times_bytes(std::size_t count) { return 64 + 11 * 24 * count; }

void append_times(const TimeColumns& columns, std::uint64_t num_labels, std::vector<std::uint8_t>& out);

// Throws Error (kStoreCorrupt) unless the bytes are `num_columns` columns (3 or 6) of `count` values, and each label
// step is below `num_labels`.
TimeColumns read_times(std::span<const std::uint8_t> data, std::size_t num_columns, std::size_t count,
                       std::uint64_t num_labels);

}  // namespace spscope
