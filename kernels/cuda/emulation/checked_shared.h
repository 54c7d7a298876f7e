// The shared memory of an emulated block, and who touched what in it. An access that is out of range or misaligned,
// that finds no order between itself and another thread's access to the same bytes, that reads what nobody wrote, or
// that meets a copy under way, is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/cuda/emulation/vector_clocks.h"

namespace spscope::kernels::cuda {

class CheckedShared {
 public:
  explicit CheckedShared(const VectorClocks& clocks) : clocks_(clocks) {}

  void reset(std::size_t num_bytes);

  // Each returns "" or what is wrong. `thread` is the one that accesses.
  std::string read(int thread, std::uint32_t from, std::size_t num_bytes, void* out);
  std::string write(int thread, std::uint32_t to, std::size_t num_bytes, const void* data);
  // An asynchronous copy: from the beginning to the end nobody may touch the bytes. Its end is a write of the thread.
  std::string begin_copy(int thread, std::uint32_t to, std::size_t num_bytes);
  void end_copy(int thread, std::uint32_t to, std::size_t num_bytes, const void* data);

 private:
  // The smallest number in shared memory has 2 bytes.
  static constexpr std::size_t kGranuleBytes = 2;
  static constexpr int kReaders = 4;
  struct Granule {
    Access written;
    Access read[kReaders];  // since it was written, those that are not ordered among each other; others in more_
    std::uint16_t num_reads = 0;
    bool under_way = false;
  };

  std::string place(std::uint32_t at, std::size_t num_bytes) const;
  std::string check_read(int thread, const Granule& granule) const;
  std::string check_write(int thread, std::size_t index) const;
  void note_read(int thread, std::size_t index);
  std::string where(const std::string& what, std::size_t granule) const;

  const VectorClocks& clocks_;
  std::vector<std::byte> bytes_;
  std::vector<Granule> granules_;
  std::unordered_map<std::size_t, std::vector<Access>> more_;
};

}  // namespace spscope::kernels::cuda
