#include "backend/base/memory_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <fstream>

namespace spscope {

std::string memory_text(std::int64_t bytes) {
  static constexpr std::array<const char*, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (value /= 1024; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

// RLIMIT_DATA counts private writable memory, mapped or not by malloc, since Linux 4.7. It is the sixth number of
// /proc/self/statm, in pages. RLIMIT_AS would also count the shadow memory of sanitizers and every mapped file.
void cap_process_memory(std::int64_t bytes) {
  std::ifstream statm("/proc/self/statm");
  std::array<std::int64_t, 6> pages{};
  for (std::int64_t& count : pages) statm >> count;
  if (!statm) return;
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const auto wanted = static_cast<rlim_t>(pages[5] * ::sysconf(_SC_PAGESIZE) + bytes);
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || wanted < limit.rlim_max ? wanted : limit.rlim_max;
  ::setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace spscope
