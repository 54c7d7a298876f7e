// A stored plan with a valid checksum. What is accepted must keep its hash when it is written and read again.
#include <cstring>

#include "backend/base/bytes.h"
#include "backend/base/check.h"
#include "backend/store/plan_codec.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/sample_plans.h"

namespace spscope::fuzz {

std::vector<std::string> seeds() { return {as_text(encode_plan(ring_plan(4))), as_text(encode_plan(ring_plan(1)))}; }

void read(std::string_view input) {
  const Plan plan = decode_plan(as_bytes(input));
  SPSCOPE_CHECK(plan_hash(decode_plan(encode_plan(plan))) == plan_hash(plan));
}

}  // namespace spscope::fuzz

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t num_bytes, std::size_t max_bytes);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t num_bytes, std::size_t max_bytes,
                                               unsigned int) {
  num_bytes = LLVMFuzzerMutate(data, num_bytes, max_bytes);
  if (num_bytes < 4) return num_bytes;
  const std::uint32_t sum = spscope::crc32c({data, num_bytes - 4});
  std::memcpy(data + num_bytes - 4, &sum, sizeof sum);
  return num_bytes;
}
