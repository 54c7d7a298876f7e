// StreamWords: words in memory that a stream waits for and writes. Neighbours are gathered, and go to the stream in one
// call of the driver: each call costs the host about a microsecond.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

namespace spscope::cuda {

class StreamWords {
 public:
  // The stream goes on once the word is `value` or later; values count repeats, and wrap.
  void wait(CUdeviceptr word, std::uint32_t value);
  // All that the stream did before is seen by whoever sees the value.
  void write(CUdeviceptr word, std::uint32_t value);
  // Enqueues what was gathered, in its order, and forgets it; without any it makes no call. Throws Error.
  void enqueue(CUstream stream);

 private:
  std::vector<CUstreamBatchMemOpParams> words_;
};

}  // namespace spscope::cuda
