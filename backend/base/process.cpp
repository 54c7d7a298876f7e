#include "backend/base/process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace spscope {
namespace {

// The number after `key` in a file of lines "key number"; -1 when there is none.
std::int64_t value_of(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  std::string name;
  for (std::int64_t value = 0; in >> name >> value;)
    if (name == key) return value;
  return -1;
}

// The folder of this process's control group after "ID:CONTROLLERS:" in /proc/self/cgroup.
std::string control_group(const std::string& controllers) {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second != std::string::npos && line.substr(first + 1, second - first - 1) == controllers)
      return line.substr(second + 1);
  }
  return {};
}

}  // namespace

std::optional<ProcessFacts> read_process(int pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(in, text);
  // The name, in brackets, may hold anything, brackets too.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  constexpr int kUserField = 14, kSystemField = 15, kStartField = 22;  // proc(5); the state is field 3
  ProcessFacts facts;
  std::uint64_t cpu_ticks = 0;
  fields >> facts.state;
  for (int field = 4; field <= kStartField; ++field) {
    std::int64_t value = 0;
    if (!(fields >> value)) return std::nullopt;
    if (field == kUserField || field == kSystemField) cpu_ticks += static_cast<std::uint64_t>(value);
    if (field == kStartField) facts.start_ticks = static_cast<std::uint64_t>(value);
  }
  facts.cpu_ns = static_cast<std::int64_t>(cpu_ticks) * (1'000'000'000 / ::sysconf(_SC_CLK_TCK));
  return facts;
}

std::int64_t count_oom_kills() {
  for (const std::string& path :
       {"/sys/fs/cgroup" + control_group("") + "/memory.events", std::string("/sys/fs/cgroup/memory.events"),
        "/sys/fs/cgroup/memory" + control_group("memory") + "/memory.oom_control"})
    if (const std::int64_t kills = value_of(path, "oom_kill"); kills >= 0) return kills;
  return -1;
}

}  // namespace spscope
