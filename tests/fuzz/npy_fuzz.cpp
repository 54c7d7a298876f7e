#include "tests/fuzz/array_seeds.h"
#include "tests/fuzz/fuzz_target.h"

namespace spscope::fuzz {

std::vector<std::string> seeds() {
  return {mask_npy(), starts_npy(), testing_files::npy_of("<f4", "(2, 2)", std::string(16, '\x3f')),
          testing_files::npy_of("<f2", "(1, 1, 2, 2, 2)", std::string(16, '\x3c')),
          testing_files::npy_of("<i8", "()", std::string(8, '\1'))};
}

void read(std::string_view input) { read_both_ways(as_file(input, "mask.npy")); }

}  // namespace spscope::fuzz
