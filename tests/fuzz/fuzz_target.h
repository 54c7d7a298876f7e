// What a libFuzzer target consists of: sound inputs to start from and the reader that is fed. fuzz_target.cpp does the
// rest; a target with a mutator of its own defines LLVMFuzzerCustomMutator besides.
//
//   TARGET_fuzz --seeds=DIR -runs=0      writes the sound inputs into DIR
//   TARGET_fuzz DIR -max_total_time=600  searches from there; scripts/fuzz does both
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spscope::fuzz {

std::vector<std::string> seeds();
// Reads the input as a user's program would. It may throw Error, but not kInternal; anything else is a finding.
void read(std::string_view input);

// `input` as a file of this name in a folder of this process, which goes away with it. Returns the path.
std::string as_file(std::string_view input, std::string_view name);

inline std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace spscope::fuzz
