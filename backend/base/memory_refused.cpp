#include "backend/base/memory_refused.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <new>

#include "backend/base/memory_limit.h"

namespace spscope {
namespace {

std::atomic<bool> refused{false};

}  // namespace

void memory_refused() { refused = true; }

bool memory_was_refused() { return refused; }

void note_refused_memory() {
  std::set_new_handler([] {
    memory_refused();
    throw std::bad_alloc();
  });
}

Error beyond_max_memory(const std::string& what_failed, std::int64_t limit_bytes, std::int64_t largest_bytes) {
  const std::string why =
      largest_bytes > limit_bytes
          ? fmt::format("it needs {} at once, more than the {}", memory_text(largest_bytes), memory_text(limit_bytes))
          : fmt::format("it needs more than the {}", memory_text(limit_bytes));
  // In whole MiB, as the flag is written; twice what is known to be needed leaves room for the rest.
  constexpr std::int64_t kMiB = 1 << 20;
  const auto needed = static_cast<std::uint64_t>(std::max(limit_bytes, largest_bytes) / kMiB);
  return {ErrorCode::kStoreOpen, fmt::format("{}: {} that --max-memory allows", what_failed, why),
          fmt::format("if you trust the file, --max-memory {}MiB or more",
                      std::bit_ceil(std::max<std::uint64_t>(2 * needed, 2)))};
}

}  // namespace spscope
