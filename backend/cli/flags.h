// Flags and arguments of commands as plain data: names, help, the variable that takes the value, and the rule for its
// values. parse_command_line.cpp parses arguments by them and prints --help from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace spscope {

// The variable that a flag sets; the type of the variable is the type of the value. A bool is set by the flag alone; a
// vector takes every value of a flag that repeats.
using FlagTarget = std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*, std::vector<int>*,
                                std::vector<std::string>*>;

struct OneOf {
  std::vector<std::string> choices;
};
inline constexpr int kMaxPlace = 9999;  // last denoise step or layer of a flag, as in a config
struct IntegerBetween {
  std::int64_t min = 0, max = 0;  // both included
};
struct NumberBetween {
  double min = 0, max = 0;  // both included
};
// Bytes, with or without a unit: 1073741824, 512MiB, 8GiB.
struct BytesBetween {
  std::int64_t min = 0, max = 0;  // both included
};
// The accepted values: with std::monostate, all that the type of the variable holds.
using FlagRule = std::variant<std::monostate, OneOf, IntegerBetween, NumberBetween, BytesBetween>;

struct Flag {
  std::string names;  // "-o,--output"; a word without hyphens is an argument known by its position
  std::string help;   // one sentence without a full stop
  FlagTarget target;  // must outlive the parsing
  FlagRule rule = {};
  std::string value_name = {};    // how --help calls the value: "SECONDS"; "": by rule and type
  std::string default_text = {};  // the default as --help shows it; "": not shown
  std::string excludes = {};      // the name of a flag that cannot be given beside this one
  char delimiter = '\0';          // splits one value into several: ',' for 4,16,16
  bool required = false, hidden = false;
  bool is_program = false;  // an argument that is a program and its arguments, which stand after --
};

// "--output" of "-o,--output": the first long name, else the whole.
std::string long_name(const Flag& flag);
bool is_positional(const Flag& flag);

// Why a value is refused, and which would not be.
struct RefusedValue {
  std::string message, hint;
};

// Checks one value as it was typed. Bytes with a unit are replaced by their number.
std::optional<RefusedValue> check_value(const FlagRule& rule, std::string& text);
// How --help calls the value of a flag: "a|b|c", "SIZE"; "" where the type of its variable says it.
std::string value_name(const Flag& flag);

}  // namespace spscope
