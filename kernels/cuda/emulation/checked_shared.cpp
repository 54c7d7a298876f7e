#include "kernels/cuda/emulation/checked_shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace spscope::kernels::cuda {

void CheckedShared::reset(std::size_t num_bytes) {
  bytes_.assign(num_bytes, std::byte{0});
  granules_.assign((num_bytes + kGranuleBytes - 1) / kGranuleBytes, {});
  more_.clear();
}

std::string CheckedShared::place(std::uint32_t at, std::size_t num_bytes) const {
  if (at + num_bytes > bytes_.size())
    return fmt::format("bytes {} to {} of shared memory, which has {}", at, at + num_bytes - 1, bytes_.size());
  if (at % std::min<std::size_t>(num_bytes, 16) != 0)
    return fmt::format("{} bytes of shared memory at {}, which is not a multiple of {}", num_bytes, at,
                       std::min<std::size_t>(num_bytes, 16));
  return "";
}

std::string CheckedShared::where(const std::string& what, std::size_t granule) const {
  return fmt::format("byte {} of shared memory {}", granule * kGranuleBytes, what);
}

std::string CheckedShared::check_read(int thread, const Granule& granule) const {
  if (granule.under_way)
    return fmt::format("is read while thread {} copies to it asynchronously: the copy was not waited for",
                       granule.written.thread);
  if (granule.written.thread == kNobody) return "is read, and nothing was written there";
  if (!clocks_.ordered(granule.written, thread))
    return fmt::format("is read, and thread {} wrote it without a barrier between them", granule.written.thread);
  return "";
}

std::string CheckedShared::check_write(int thread, std::size_t index) const {
  const Granule& granule = granules_[index];
  if (granule.under_way)
    return fmt::format("is written while thread {} copies to it asynchronously", granule.written.thread);
  if (granule.written.thread != kNobody && !clocks_.ordered(granule.written, thread))
    return fmt::format("is written, and thread {} wrote it without a barrier between them", granule.written.thread);
  const auto unordered = [&](const Access& read) { return !clocks_.ordered(read, thread); };
  const auto first = granule.read, last = granule.read + std::min<int>(granule.num_reads, kReaders);
  auto racing = std::find_if(first, last, unordered);
  if (racing == last && granule.num_reads > kReaders) {
    const std::vector<Access>& others = more_.at(index);
    const auto other = std::ranges::find_if(others, unordered);
    if (other != others.end()) racing = &*other;
  }
  if (racing == last) return "";
  return fmt::format("is written, and thread {} read it without a barrier between them", racing->thread);
}

// Readers that happened before this one need not be kept: what is ordered after it is ordered after them.
void CheckedShared::note_read(int thread, std::size_t index) {
  Granule& granule = granules_[index];
  const Access access{clocks_.now(thread), static_cast<std::uint16_t>(thread)};
  const auto superseded = [&](const Access& read) { return clocks_.ordered(read, thread); };
  if (granule.num_reads <= kReaders) {
    auto* const kept = std::remove_if(granule.read, granule.read + granule.num_reads, superseded);
    granule.num_reads = static_cast<std::uint16_t>(kept - granule.read);
    if (granule.num_reads < kReaders) {
      granule.read[granule.num_reads++] = access;
      return;
    }
  }
  std::vector<Access>& others = more_[index];
  if (granule.num_reads == kReaders) others.clear();
  std::erase_if(others, superseded);
  others.push_back(access);
  granule.num_reads = static_cast<std::uint16_t>(kReaders + others.size());
}

std::string CheckedShared::read(int thread, std::uint32_t from, std::size_t num_bytes, void* out) {
  if (std::string wrong = place(from, num_bytes); !wrong.empty()) return "reads " + wrong;
  const std::size_t first = from / kGranuleBytes, last = (from + num_bytes - 1) / kGranuleBytes;
  for (std::size_t g = first; g <= last; ++g)
    if (std::string wrong = check_read(thread, granules_[g]); !wrong.empty()) return where(wrong, g);
  for (std::size_t g = first; g <= last; ++g) note_read(thread, g);
  std::memcpy(out, bytes_.data() + from, num_bytes);
  return "";
}

std::string CheckedShared::write(int thread, std::uint32_t to, std::size_t num_bytes, const void* data) {
  if (std::string wrong = begin_copy(thread, to, num_bytes); !wrong.empty()) return wrong;
  end_copy(thread, to, num_bytes, data);
  return "";
}

std::string CheckedShared::begin_copy(int thread, std::uint32_t to, std::size_t num_bytes) {
  if (std::string wrong = place(to, num_bytes); !wrong.empty()) return "writes " + wrong;
  for (std::size_t g = to / kGranuleBytes; g <= (to + num_bytes - 1) / kGranuleBytes; ++g) {
    if (std::string wrong = check_write(thread, g); !wrong.empty()) return where(wrong, g);
    granules_[g].written = {clocks_.now(thread), static_cast<std::uint16_t>(thread)};
    granules_[g].num_reads = 0;
    granules_[g].under_way = true;
  }
  return "";
}

void CheckedShared::end_copy(int thread, std::uint32_t to, std::size_t num_bytes, const void* data) {
  for (std::size_t g = to / kGranuleBytes; g <= (to + num_bytes - 1) / kGranuleBytes; ++g) {
    granules_[g].written.time = clocks_.now(thread);
    granules_[g].under_way = false;
  }
  std::memcpy(bytes_.data() + to, data, num_bytes);
}

}  // namespace spscope::kernels::cuda
