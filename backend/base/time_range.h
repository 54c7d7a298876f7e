// A range of time as people write it: "1.2ms..1.9ms".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spscope {

// Whole nanoseconds; the end may be before the begin.
struct TimeRange {
  std::int64_t begin_ns = 0, end_ns = 0;
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

// "12", "12ns", "1.5us", "-3ms", "0.25s": a decimal number and its unit, ns without one, rounded to whole nanoseconds.
// nullopt: it is nothing of the kind, or does not fit 64 bits.
std::optional<std::int64_t> parse_time_ns(std::string_view text);
// Two of them with ".." between.
std::optional<TimeRange> parse_time_range(std::string_view text);
// "1.2ms..1.9ms", which reads back as the same.
std::string time_range_text(std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace spscope
