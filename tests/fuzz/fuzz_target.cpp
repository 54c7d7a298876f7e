#include "tests/fuzz/fuzz_target.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>

#include "backend/base/error.h"
#include "tests/support/temporary_folder.h"

namespace spscope::fuzz {

std::string as_file(std::string_view input, std::string_view name) {
  static const TemporaryFolder folder;
  return folder.write(name, input);
}

namespace {

void write_seeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : seeds()) {
    std::ofstream file(folder / ("seed-" + std::to_string(number++)), std::ios::binary);
    file.write(seed.data(), static_cast<std::streamsize>(seed.size()));
  }
}

}  // namespace
}  // namespace spscope::fuzz

// libFuzzer itself ignores arguments that begin with two dashes.
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view kSeeds = "--seeds=";
  for (int i = 1; i < *count; ++i) {
    const std::string_view argument = (*arguments)[i];
    if (argument.starts_with(kSeeds)) spscope::fuzz::write_seeds(argument.substr(kSeeds.size()));
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t num_bytes) {
  try {
    spscope::fuzz::read(spscope::fuzz::as_text({data, num_bytes}));
  } catch (const spscope::Error& error) {
    if (error.code() == spscope::ErrorCode::kInternal) {
      std::fprintf(stderr, "an internal error is a defect: %s\n", error.what());
      std::abort();
    }
  } catch (const std::bad_alloc&) {
    // SQLite was refused memory, which the program reports as SPS-150. Allocations that are too large end the fuzzer.
  }
  return 0;
}
