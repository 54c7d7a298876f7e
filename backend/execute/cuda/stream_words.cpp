#include "backend/execute/cuda/stream_words.h"

#include <algorithm>
#include <span>

#include "backend/execute/cuda/driver.h"

namespace spscope::cuda {

void StreamWords::wait(CUdeviceptr word, std::uint32_t value) {
  CUstreamBatchMemOpParams made{};
  made.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  made.waitValue.address = word;
  made.waitValue.value = value;
  made.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  words_.push_back(made);
}

void StreamWords::write(CUdeviceptr word, std::uint32_t value) {
  CUstreamBatchMemOpParams made{};
  made.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  made.writeValue.address = word;
  made.writeValue.value = value;
  made.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  words_.push_back(made);
}

void StreamWords::enqueue(CUstream stream) {
  constexpr std::size_t kMost = 256;  // of one call (<cuda.h>, cuStreamBatchMemOp)
  for (std::span<CUstreamBatchMemOpParams> left(words_); !left.empty();) {
    const std::span<CUstreamBatchMemOpParams> now = left.first(std::min(left.size(), kMost));
    check(driver().cuStreamBatchMemOp(stream, static_cast<unsigned>(now.size()), now.data(), 0), "cuStreamBatchMemOp");
    left = left.subspan(now.size());
  }
  words_.clear();
}

}  // namespace spscope::cuda
