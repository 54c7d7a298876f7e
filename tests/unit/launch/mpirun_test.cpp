// How a launcher ends an mpirun: a script that stands for it, with children that stand for ranks of this host.
#include "backend/launch/mpirun.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

// `script` as the mpirun of this process.
class FakeMpirun {
 public:
  explicit FakeMpirun(const std::string& script) {
    std::filesystem::permissions(folder_.write("mpirun", "#!/bin/sh\n" + script), std::filesystem::perms::owner_all);
    ::setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
  }
  ~FakeMpirun() { ::setenv("PATH", path_.c_str(), 1); }
  FakeMpirun(const FakeMpirun&) = delete;

 private:
  const TemporaryFolder folder_;
  const std::string path_ = ::getenv("PATH");
};

LaunchEnd launch(const MpiLaunch& launch) {
  const std::atomic<bool> stop = false;
  return run_mpirun(launch, stop, [] { return true; });
}

// What is seen here is one rank, which ends at once; ranks of other hosts go on for as long as mpirun does.
TEST(MpiLaunch, KillsAnMpirunThatOutlivesItsRanksUnlessOthersWork) {
  const FakeMpirun mpirun("PMIX_NAMESPACE=7 sleep 0.3\nsleep 2\nexit 3\n");
  MpiLaunch job;
  job.alone_seconds = 0.2;
  job.others_seconds = 120;
  EXPECT_TRUE(launch(job).mpirun_hung);
  job.others_work = [] { return false; };
  EXPECT_TRUE(launch(job).mpirun_hung);
  job.others_work = [] { return true; };
  const LaunchEnd end = launch(job);
  EXPECT_FALSE(end.mpirun_hung);
  EXPECT_EQ(end.exit_code, 3);
  job.others_seconds = 0.5;
  EXPECT_TRUE(launch(job).mpirun_hung);
}

}  // namespace
}  // namespace spscope
