// Why a shared library was not loaded, in words that go on after a colon.
#pragma once

#include <string>
#include <string_view>

namespace spscope {

// "libcuda.so.1 is not among the machine's libraries", or else what the loader says. `said`: of dlerror(); nullptr:
// nothing.
inline std::string load_failure(std::string_view library, const char* said) {
  const std::string why = said == nullptr ? "" : said, name(library);
  if (why.empty() || (why.starts_with(name + ": ") && why.ends_with("No such file or directory")))
    return name + " is not among the machine's libraries";
  return "the loader says \"" + why + '"';
}

}  // namespace spscope
