// Process state from /proc and memory limits of control groups, on real processes and files of the test's own.
#include "backend/base/process.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

// A folder with proc and sys as they look on some machine.
class FakeRoot {
 public:
  explicit FakeRoot(const std::string& groups) { put("proc/self/cgroup", groups); }
  void put(const std::string& path, const std::string& content) const {
    std::filesystem::create_directories((folder_.path() / path).parent_path());
    static_cast<void>(folder_.write(path, content));
  }
  void expect(const std::string& path, std::int64_t limit_bytes, std::int64_t oom_kills) const {
    const MemoryGroup group = read_memory_group(folder_.path().string());
    EXPECT_EQ(group.path, path);
    EXPECT_EQ(group.limit_bytes, limit_bytes);
    EXPECT_EQ(group.oom_kills, oom_kills);
  }

 private:
  TemporaryFolder folder_;
};

TEST(MemoryGroup, IsReadFromControlGroupsOfVersion2) {
  const FakeRoot root("0::/slurm/job_7\n");
  root.put("sys/fs/cgroup/slurm/job_7/memory.events", "low 0\nhigh 5\nmax 12\noom 2\noom_kill 3\noom_group_kill 0\n");
  root.put("sys/fs/cgroup/slurm/job_7/memory.max", "1073741824\n");
  root.expect("/sys/fs/cgroup/slurm/job_7", 1 << 30, 3);
  root.put("sys/fs/cgroup/slurm/job_7/memory.max", "max\n");
  root.expect("/sys/fs/cgroup/slurm/job_7", 0, 3);
}

// In a container the group's own folder is not there, and its files are those of the root.
TEST(MemoryGroup, IsReadFromInsideAContainer) {
  const FakeRoot root("0::/../../kubepods/pod1\n");
  root.put("sys/fs/cgroup/memory.events", "oom_kill 1\n");
  root.put("sys/fs/cgroup/memory.max", "4096\n");
  root.expect("/sys/fs/cgroup", 4096, 1);
}

TEST(MemoryGroup, IsReadFromControlGroupsOfVersion1) {
  const FakeRoot root("9:name=systemd:/\n4:memory:/docker/ab:c\n1:cpu,cpuacct:/\n0::/\n");
  const std::string folder = "sys/fs/cgroup/memory/docker/ab:c/";
  root.put(folder + "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  root.put(folder + "memory.limit_in_bytes", "9223372036854771712\n");
  root.expect("/sys/fs/cgroup/memory/docker/ab:c", 0, 4);
  root.put(folder + "memory.limit_in_bytes", "52428800\n");
  root.expect("/sys/fs/cgroup/memory/docker/ab:c", 50 << 20, 4);
}

TEST(MemoryGroup, IsNotKnownWhereTheSystemDoesNotSay) {
  const FakeRoot root("");
  root.expect("", 0, -1);
  root.put("sys/fs/cgroup/memory.events", "oom_kill many\n");
  root.expect("", 0, -1);
}

// The lowest limit counts, with its source.
TEST(SystemLimit, IsThatOfTheUserWhereItIsLowest) {
  EXPECT_GE(thread_limit().value, 1);
  EXPECT_FALSE(memory_left().source.empty());
#ifdef SPSCOPE_SANITIZED
  GTEST_SKIP() << "a sanitizer needs memory of its own behind the limit";
#endif
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_DATA, &before), 0);
  const rlimit low{std::min<rlim_t>(before.rlim_max, 1 << 20), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &low), 0);
  const SystemLimit limit = memory_left();
  ::setrlimit(RLIMIT_DATA, &before);
  EXPECT_EQ(limit.value, 1 << 20);
  EXPECT_EQ(limit.source, "ulimit -d");
}

TEST(Process, KnowsItsParentItsStateAndItsEnvironment) {
  const int child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  const std::vector<int> children = children_of(::getpid());
  EXPECT_NE(std::ranges::find(children, child), children.end());
  EXPECT_EQ(read_process(child)->parent, ::getpid());
  EXPECT_FALSE(read_process(child)->stopped());
  ::kill(child, SIGSTOP);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(read_process(child)->stopped());
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_FALSE(read_process(child));
  ASSERT_NE(::getenv("PATH"), nullptr);
  EXPECT_EQ(variable_of(::getpid(), "PATH"), ::getenv("PATH"));
  EXPECT_EQ(variable_of(::getpid(), "PAT"), "");
}

// Threads of a process as proc(5) shows them, with and without scheduling statistics.
TEST(Process, ReadsWhatEachThreadUsed) {
  const TemporaryFolder root;
  const auto make = [&](const std::string& thread, const std::string& file, const std::string& text) {
    const std::string folder = root / ("proc/7/task/" + thread);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/" + file) << text;
  };
  make("7", "schedstat", "5000000 20000 12\n");
  make("8", "stat", "8 (a) b) S 1 7 7 0 -1 0 0 0 0 0 30 12 0 0 20 0 2 0 999\n");
  const std::map<int, ThreadTimes> threads = read_threads(7, root.path().string());
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads.at(7).ran_ns, 5'000'000);
  EXPECT_EQ(threads.at(7).waited_ns, 20'000);
  EXPECT_EQ(threads.at(8).ran_ns, 42 * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
  EXPECT_EQ(threads.at(8).waited_ns, 0);
  EXPECT_TRUE(read_threads(9, root.path().string()).empty());
  EXPECT_TRUE(read_threads(::getpid()).contains(::getpid()));
}

}  // namespace
}  // namespace spscope
