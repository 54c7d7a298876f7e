// What flags take: checks that refuse a value in words which say what is wrong and what would be right, and the names
// by which --help calls the values.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace spscope {

// What a check says is "what is wrong" KHintMark "how to mend it".
inline constexpr char kHintMark = '\x1f';

// Takes one of a few words.
void take_choice(CLI::Option* option, const std::vector<std::string>& choices);
// Takes a number from `min` to `max`; `unit` is a word for help and messages, such as "SECONDS".
void take_number(CLI::Option* option, double min, double max, const std::string& unit);
void take_integer(CLI::Option* option, std::int64_t min, std::int64_t max, const std::string& unit);
// Takes bytes, with or without a unit: 1073741824, 512MiB, 8GiB.
void take_bytes(CLI::Option* option, std::int64_t min, std::int64_t max);

}  // namespace spscope
