#include "tests/fuzz/array_seeds.h"
#include "tests/fuzz/fuzz_target.h"

namespace spscope::fuzz {

std::vector<std::string> seeds() {
  using testing_files::safetensors;
  return {safetensors(R"({"mask":{"dtype":"BOOL","shape":[2,3,3],"data_offsets":[0,18]},)"
                      R"("block_starts":{"dtype":"I32","shape":[4],"data_offsets":[18,34]}})",
                      mask_values() + starts_values()),
          safetensors(R"({"__metadata__":{"format":"pt"},"q":{"dtype":"BF16","shape":[1,2,2],"data_offsets":[0,8]},)"
                      R"("k":{"dtype":"F64","shape":[1],"data_offsets":[8,16]}})",
                      std::string(16, '\x3f')),
          safetensors("{}", "")};
}

void read(std::string_view input) { read_both_ways(as_file(input, "mask.safetensors")); }

}  // namespace spscope::fuzz
