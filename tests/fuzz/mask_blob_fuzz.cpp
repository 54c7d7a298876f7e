// A stored mask with a valid checksum. What is accepted is the same after it was written and read again.
#include "backend/base/check.h"
#include "backend/store/mask_codec.h"
#include "tests/fuzz/checksum.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/unit/store/sample_store.h"

namespace spscope::fuzz {

std::vector<std::string> seeds() {
  return {as_text(encode_mask(testing::sample_mask())), as_text(encode_mask(testing::sample_mask(1, 40, 16)))};
}

void read(std::string_view input) {
  const BlockMask mask = decode_mask(as_bytes(input));
  make_thumbnails(mask);
  const std::vector<std::uint8_t> written = encode_mask(mask);
  SPSCOPE_CHECK(encode_mask(decode_mask(written)) == written);
}

}  // namespace spscope::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t num_bytes, std::size_t max_bytes,
                                               unsigned int) {
  num_bytes = LLVMFuzzerMutate(data, num_bytes, max_bytes);
  spscope::fuzz::mend_checksum({data, num_bytes});
  return num_bytes;
}
