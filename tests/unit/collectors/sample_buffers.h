// Activity buffers made by hand, in the layouts of collectors/cupti/layouts.h.
#pragma once

#include <cstring>
#include <vector>

#include "collectors/cupti/records.h"

namespace spscope::cupti {

// The sizes that CUPTI of CUDA 13.0 writes; kind 8, a device, is one that is not read.
inline RecordSizes sizes_of_13() {
  RecordSizes sizes;
  sizes.bytes[1] = 96, sizes.bytes[2] = 88, sizes.bytes[4] = sizes.bytes[5] = 40, sizes.bytes[8] = 184;
  sizes.bytes[10] = 216, sizes.bytes[12] = 56, sizes.bytes[17] = 56, sizes.bytes[22] = 96, sizes.bytes[38] = 56;
  sizes.bytes[39] = 24;
  return sizes;
}

class SampleBuffer {
 public:
  explicit SampleBuffer(const RecordSizes& sizes) : sizes_(sizes) {}
  // The record as long as its kind is, with 0xee where the layout ends.
  template <typename Layout>
  SampleBuffer& add(const Layout& layout) {
    const std::size_t begin = bytes_.size();
    bytes_.resize(begin + sizes_.of(layout.kind), 0xee);
    std::memcpy(bytes_.data() + begin, &layout, sizeof layout);
    return *this;
  }
  std::vector<std::uint8_t>& bytes() { return bytes_; }

 private:
  RecordSizes sizes_;
  std::vector<std::uint8_t> bytes_;
};

inline KernelLayout sample_kernel() {
  return {.kind = 10,
          .registers_per_thread = 96,
          .start = 1'000,
          .end = 1'500,
          .device = 3,
          .context = 1,
          .stream = 7,
          .grid = {100, 2, 1},
          .block = {128, 1, 1},
          .static_shared_bytes = 512,
          .dynamic_shared_bytes = 65'536,
          .correlation = 41,
          .grid_id = 9,
          .name = 0xdead'beef};
}

// One record of each kind that is read, and one that is not.
inline std::vector<std::uint8_t> one_of_each(const RecordSizes& sizes) {
  SampleBuffer buffer(sizes);
  buffer.add(sample_kernel());
  buffer.add(
      CopyLayout{.kind = 1, .copy_kind = 1, .flags = 1, .bytes = 4'096, .start = 10, .end = 20, .correlation = 42});
  buffer.add(PeerCopyLayout{
      .kind = 22, .bytes = 64, .start = 11, .end = 21, .source_device = 2, .target_device = 5, .correlation = 43});
  buffer.add(MemsetLayout{.kind = 2, .value = 17, .bytes = 256, .start = 12, .end = 22, .correlation = 44});
  buffer.add(
      SynchronizationLayout{.kind = 38, .type = 3, .start = 13, .end = 23, .correlation = 45, .stream = kNoStream});
  buffer.add(
      OverheadLayout{.kind = 17, .overhead_kind = 1 << 16, .object_kind = 2, .object = {8, 9}, .start = 14, .end = 24});
  buffer.add(ApiLayout{.kind = 4, .callback = 307, .start = 15, .end = 25, .thread = 77, .correlation = 46});
  buffer.add(ApiLayout{.kind = 5, .callback = 211, .start = 15, .end = 25, .thread = 77, .correlation = 47});
  buffer.add(ExternalCorrelationLayout{.kind = 39, .external_kind = 3, .external_id = 1'234, .correlation = 41});
  buffer.add(MarkerLayout{.kind = 12, .flags = 2, .time = 16, .id = 5, .object = {31, 77}});
  buffer.add(ApiLayout{.kind = 8});
  return buffer.bytes();
}

}  // namespace spscope::cupti
