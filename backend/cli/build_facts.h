// The version of the program and what it was built with: for --version, `spscope doctor` and stored runs.
#pragma once

#include <span>
#include <string_view>

namespace spscope {

extern const std::string_view kVersion;

// One part of the build: its version, or why it is not there.
struct BuildFact {
  std::string_view name, value;
};
std::span<const BuildFact> build_facts();

}  // namespace spscope
