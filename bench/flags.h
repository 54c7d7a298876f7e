// The flags of a bench: `--name NUMBER`, `--name TEXT`, which may be given several times, or `--name` alone.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

namespace spscope {

struct BenchFlag {
  std::string_view name;
  std::variant<bool*, int*, std::int64_t*, std::string*, std::vector<std::string>*> target;
  std::int64_t least = 1, most = std::numeric_limits<int>::max();  // of numbers
};

template <typename Number>
bool read_number(std::string_view text, const BenchFlag& flag, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= flag.least && number <= flag.most;
}

// Whether every argument was understood; else one that was not is named, beside the flags.
inline bool read_flags(int argc, char** argv, std::initializer_list<BenchFlag> flags) {
  for (int i = 1; i < argc; ++i) {
    bool understood = false;
    for (const BenchFlag& flag : flags) {
      if (flag.name != argv[i]) continue;
      if (bool* const* alone = std::get_if<bool*>(&flag.target)) {
        understood = ** alone = true;
      } else if (++i < argc) {
        const std::string_view text = argv[i];
        if (std::string* const* word = std::get_if<std::string*>(&flag.target))
          understood = !(** word = text).empty();
        else if (std::vector<std::string>* const* words = std::get_if<std::vector<std::string>*>(&flag.target))
          understood = !(*words)->emplace_back(text).empty();
        else if (int* const* number = std::get_if<int*>(&flag.target))
          understood = read_number(text, flag, **number);
        else
          understood = read_number(text, flag, *std::get<std::int64_t*>(flag.target));
      }
      break;
    }
    if (!understood) {
      std::cerr << "\"" << argv[std::min(i, argc - 1)] << "\" cannot be used here; there are";
      for (const BenchFlag& flag : flags) std::cerr << ' ' << flag.name;
      std::cerr << '\n';
      return false;
    }
  }
  return true;
}

}  // namespace spscope
