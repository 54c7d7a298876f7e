#include "backend/base/process.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace spscope {
namespace {

// The number after `key` in a file of lines "key number", or "key number unit"; -1 when there is none.
std::int64_t value_of(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    if (std::int64_t value = 0; words >> name >> value && name == key) return value;
  }
  return -1;
}

// The number in a file; 0 when there is none ("max") or it is above 2^60, which is how cgroup 1 writes "no limit".
std::int64_t limit_in(const std::string& path) {
  constexpr std::int64_t kNone = std::int64_t{1} << 60;
  std::ifstream in(path);
  std::int64_t value = 0;
  return in >> value && value > 0 && value < kNone ? value : 0;
}

// The folder of this process's control group, after "ID:CONTROLLERS:" in /proc/self/cgroup; "" or a path that begins
// with a slash.
std::string control_group(const std::string& root, const std::string& controllers) {
  std::ifstream in(root + "/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second != std::string::npos && line.substr(first + 1, second - first - 1) == controllers)
      return line.substr(second + 1) == "/" ? "" : line.substr(second + 1);
  }
  return {};
}

std::int64_t soft_limit(decltype(RLIMIT_DATA) resource) {
  rlimit limit{};
  const bool known = ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return known ? static_cast<std::int64_t>(limit.rlim_cur) : 0;
}

// `value` <= 0: none is known.
void lower(SystemLimit& limit, std::int64_t value, const std::string& source) {
  if (value > 0 && value < limit.value) limit = {value, source};
}

// Of all processes, by parent.
std::map<int, std::vector<int>> read_children() {
  std::map<int, std::vector<int>> children;
  std::error_code failure;
  for (std::filesystem::directory_iterator it("/proc", failure), end; !failure && it != end; it.increment(failure)) {
    const int pid = std::atoi(it->path().filename().c_str());
    if (pid <= 0) continue;
    if (const std::optional<ProcessFacts> facts = read_process(pid)) children[facts->parent].push_back(pid);
  }
  return children;
}

// The facts in a file of proc(5) that describes a process or a thread of one.
std::optional<ProcessFacts> read_stat(const std::string& path) {
  std::ifstream in(path);
  std::string text;
  std::getline(in, text);
  // The name, in brackets, may hold anything, brackets too.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  constexpr int kParentField = 4, kUserField = 14, kSystemField = 15, kStartField = 22;  // proc(5)
  ProcessFacts facts;
  std::uint64_t cpu_ticks = 0;
  fields >> facts.state;
  for (int field = kParentField; field <= kStartField; ++field) {
    std::int64_t value = 0;
    if (!(fields >> value)) return std::nullopt;
    if (field == kUserField || field == kSystemField) cpu_ticks += static_cast<std::uint64_t>(value);
    if (field == kParentField) facts.parent = static_cast<int>(value);
    if (field == kStartField) facts.start_ticks = static_cast<std::uint64_t>(value);
  }
  facts.cpu_ns = static_cast<std::int64_t>(cpu_ticks) * (1'000'000'000 / ::sysconf(_SC_CLK_TCK));
  return facts;
}

}  // namespace

std::optional<ProcessFacts> read_process(int pid) { return read_stat(fmt::format("/proc/{}/stat", pid)); }

std::map<int, ThreadTimes> read_threads(int pid, const std::string& root) {
  std::map<int, ThreadTimes> threads;
  std::error_code failure;
  for (std::filesystem::directory_iterator it(fmt::format("{}/proc/{}/task", root, pid), failure), end;
       !failure && it != end; it.increment(failure)) {
    const int id = std::atoi(it->path().filename().c_str());
    ThreadTimes times;
    if (std::ifstream in(it->path() / "schedstat"); in >> times.ran_ns >> times.waited_ns)
      threads.emplace(id, times);
    else if (const std::optional<ProcessFacts> facts = read_stat(it->path() / "stat"))
      threads.emplace(id, ThreadTimes{facts->cpu_ns, 0});
  }
  return threads;
}

std::vector<int> children_of(int pid) { return read_children()[pid]; }

std::vector<int> descendants_of(int pid) {
  const std::map<int, std::vector<int>> children = read_children();
  std::vector<int> found = {pid};
  for (std::size_t i = 0; i < found.size(); ++i)
    if (const auto own = children.find(found[i]); own != children.end())
      found.insert(found.end(), own->second.begin(), own->second.end());
  found.erase(found.begin());
  return found;
}

std::string variable_of(int pid, const std::string& name) {
  std::ifstream in(fmt::format("/proc/{}/environ", pid));
  for (std::string variable; std::getline(in, variable, '\0');)
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  return {};
}

SystemLimit thread_limit() {
  SystemLimit limit;
  for (const std::string& file : {std::string("/proc/sys/kernel/pid_max"), std::string("/proc/sys/kernel/threads-max"),
                                  "/sys/fs/cgroup" + control_group("", "") + "/pids.max",
                                  "/sys/fs/cgroup/pids" + control_group("", "pids") + "/pids.max"})
    lower(limit, limit_in(file), file);
  if (::geteuid() != 0) lower(limit, soft_limit(RLIMIT_NPROC), "ulimit -u");  // root is not held to it
  return limit;
}

SystemLimit memory_left() {
  constexpr std::int64_t kKib = 1024;
  SystemLimit limit;
  const std::string facts = "/proc/meminfo";
  lower(limit, value_of(facts, "MemAvailable:") * kKib, facts);
  const MemoryGroup group = read_memory_group();
  lower(limit, group.limit_bytes, group.path);
  lower(limit, soft_limit(RLIMIT_DATA), "ulimit -d");
  return limit;
}

std::int64_t descriptors_left() {
  SystemLimit limit;
  lower(limit, soft_limit(RLIMIT_NOFILE), "ulimit -n");
  std::int64_t open = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; !error && it != end; it.increment(error))
    ++open;
  // Where the folder cannot be read, no descriptor is left for it.
  return open == 0 ? 0 : limit.value - open + 1;  // the folder's own is closed again
}

MemoryGroup read_memory_group(const std::string& root) {
  struct Place {
    std::string folder;
    const char *kills, *limit;
  };
  const std::string two = "/sys/fs/cgroup", one = "/sys/fs/cgroup/memory";
  for (const auto& [folder, kills, limit] :
       {Place{two + control_group(root, ""), "/memory.events", "/memory.max"},
        Place{two, "/memory.events", "/memory.max"},  // seen from inside a container
        Place{one + control_group(root, "memory"), "/memory.oom_control", "/memory.limit_in_bytes"},
        Place{one, "/memory.oom_control", "/memory.limit_in_bytes"}})
    if (const std::int64_t count = value_of(root + folder + kills, "oom_kill"); count >= 0)
      return {folder, limit_in(root + folder + limit), count};
  return {};
}

}  // namespace spscope
