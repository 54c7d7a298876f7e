// Where a store may be written, and that nothing is ever left half-written.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "backend/store/output_file.h"
#include "backend/store/sqlite/sqlite.h"
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::error_of;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;
using testing::write_sample;
using Names = std::vector<std::string>;

class Output : public ::testing::Test {
 protected:
  // The error of writing to a path, which must leave the folder as it was.
  Error refused(const std::string& path, const WriteOptions& options = {}) {
    const Names before = folder_.names();
    const Error error = error_of([&] { write_sample(path, options); });
    EXPECT_EQ(folder_.names(), before);
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    EXPECT_FALSE(error.hint().empty());
    return error;
  }
  TemporaryFolder folder_;
  const std::string out_ = folder_ / "out.db";
};

// OutputFile::check says the same beforehand.
TEST_F(Output, AnExistingFileIsKept) {
  EXPECT_NO_THROW(OutputFile::check(out_, false));
  EXPECT_EQ(folder_.names(), Names{});
  write_sample(out_);
  EXPECT_EQ(error_of([&] { OutputFile::check(out_, false); }).code(), ErrorCode::kStoreExists);
  EXPECT_NO_THROW(OutputFile::check(out_, true));
  EXPECT_EQ(error_of([&] { OutputFile::check(folder_ / "absent/out.db", true); }).code(), ErrorCode::kOutputPlace);
  const std::string before = read_file(out_);
  const Error error = refused(out_);
  EXPECT_EQ(error.code(), ErrorCode::kStoreExists);
  EXPECT_NE(error.hint().find("--force"), std::string::npos);
  EXPECT_EQ(read_file(out_), before);
}

TEST_F(Output, AWriterThatDoesNotFinishLeavesNothing) {
  {
    StoreWriter writer(out_);
    writer.add_workload(testing::sample_workload());
  }
  EXPECT_EQ(folder_.names(), Names{});
  write_sample(out_, {.tool_version = "kept"});
  { StoreWriter writer(out_, {.force = true}); }
  EXPECT_EQ(StoreReader(out_).file().tool_version, "kept");
}

TEST_F(Output, WhatACrashLeftIsTakenOver) {
  const pid_t child = ::fork();
  if (child == 0) {
    StoreWriter writer(out_);
    writer.add_workload(testing::sample_workload());
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(folder_.names(), Names{"out.db.tmp"});
  write_sample(out_);
  EXPECT_EQ(folder_.names(), Names{"out.db"});
  EXPECT_EQ(StoreReader(out_).workloads().size(), 1u);
}

// A second name of a file is what a crash never leaves, and what others make to have it overwritten.
TEST_F(Output, OnlyWhatACrashOfThisUserLeftIsTakenOver) {
  write_sample(folder_ / "precious.db");
  const std::string precious = read_file(folder_ / "precious.db"), temporary = out_ + ".tmp";
  const std::vector<std::function<void()>> stand_ins = {
      [&] { write_file(temporary, "my notes"); },
      [&] { std::filesystem::create_symlink(folder_ / "elsewhere", temporary); },
      [&] { std::filesystem::create_hard_link(folder_ / "precious.db", temporary); },
      [&] { std::filesystem::create_symlink(folder_ / "precious.db", temporary); },
      [&] { ASSERT_EQ(::mkfifo(temporary.c_str(), 0600), 0); },
      [&] {
        write_file(temporary, "");
        ASSERT_EQ(::chown(temporary.c_str(), 65534, 65534), 0);
      }};
  const std::size_t possible = stand_ins.size() - (::geteuid() == 0 ? 0 : 1);  // only root can give a file away
  for (std::size_t i = 0; i < possible; ++i) {
    stand_ins[i]();
    const bool is_notes = i == 0;
    EXPECT_EQ(refused(out_).code(), ErrorCode::kStoreForeign) << i;
    EXPECT_TRUE(!is_notes || read_file(temporary) == "my notes");
    std::filesystem::remove(temporary);
  }
  EXPECT_EQ(read_file(folder_ / "precious.db"), precious);
}

// In a folder that others may write to without the sticky bit, they can move files of ours. And the link of a
// descriptor says "NAME (deleted)" once its file has no name: somebody may give that name to a file.
TEST_F(Output, WhatIsPutInThePlaceOfTheTemporaryFileIsNotWrittenThrough) {
  write_sample(folder_ / "precious.db");
  const std::string precious = read_file(folder_ / "precious.db"), temporary = out_ + ".tmp";
  for (const bool is_moved : {true, false}) {
    {
      OutputFile out(out_, false);
      if (is_moved) {
        std::filesystem::rename(temporary, folder_ / "moved");
        std::filesystem::create_symlink(folder_ / "precious.db", temporary);
      } else {
        std::filesystem::remove(temporary);
        std::filesystem::create_hard_link(folder_ / "precious.db", temporary + " (deleted)");
        std::filesystem::create_hard_link(folder_ / "precious.db", temporary);
      }
      const Error error = error_of([&] {
        if (is_moved) out.clear();
        Database::create(out.held_path(), out.path()).execute("CREATE TABLE written (x)");
        out.commit();
      });
      EXPECT_EQ(error.code(), ErrorCode::kStoreWrite) << error.what();
      EXPECT_NE(std::string(error.what()).find("was replaced"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(read_file(folder_ / "precious.db") == precious);
    std::filesystem::remove(temporary);
  }
  EXPECT_NE(read_file(folder_ / "moved").find("CREATE TABLE written"), std::string::npos);
  EXPECT_EQ(folder_.names(), (Names{"moved", "out.db.tmp (deleted)", "precious.db"}));
}

TEST_F(Output, SideFilesOfAnOlderDatabaseAreNotPlayedBack) {
  write_file(out_, "");
  write_file(out_ + "-wal", "of another database");
  EXPECT_EQ(refused(out_, {.force = true}).code(), ErrorCode::kStoreExists);
  EXPECT_EQ(read_file(out_ + "-wal"), "of another database");
  for (const std::string& old : {out_, out_ + "-wal"}) std::filesystem::remove(old);
  write_file(out_ + "-journal", "old");
  EXPECT_EQ(refused(out_).code(), ErrorCode::kStoreExists);
  std::filesystem::remove(out_ + "-journal");
  write_sample(out_);
  write_file(out_ + "-journal", "old");
  write_file(out_ + "-wal", "old");
  write_sample(out_, {.force = true});
  EXPECT_EQ(folder_.names(), Names{"out.db"});
}

TEST_F(Output, AFileThatAppearsMeanwhileIsKept) {
  StoreWriter writer(out_);
  write_file(out_, "somebody was faster");
  EXPECT_EQ(error_of([&] { writer.finish(); }).code(), ErrorCode::kStoreForeign);
  EXPECT_EQ(read_file(out_), "somebody was faster");
}

// The limit of the process on the size of a file: write() itself fails, at any of its calls.
TEST_F(Output, AFullDiskAndAFailingWriteAreNamedAndLeaveNothing) {
  const Error full = refused(out_, {.max_bytes = 100'000});
  EXPECT_EQ(full.code(), ErrorCode::kStoreWrite);
  EXPECT_NE(std::string(full.what()).find("full"), std::string::npos) << full.what();
  write_sample(folder_ / "whole.db");
  const auto whole = static_cast<rlim_t>(std::filesystem::file_size(folder_ / "whole.db"));
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  for (rlim_t bytes : {rlim_t{0}, rlim_t{8192}, whole / 2, whole - 1}) {
    const rlimit low = {bytes, old.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &low);
    const Error error = error_of([&] { write_sample(out_); });
    ::setrlimit(RLIMIT_FSIZE, &old);
    EXPECT_EQ(error.code(), ErrorCode::kStoreWrite) << error.what();
    EXPECT_FALSE(error.hint().empty());
    EXPECT_EQ(folder_.names(), Names{"whole.db"});
  }
  std::signal(SIGXFSZ, previous);
}

TEST_F(Output, ManyWritersOfOneFileLeaveOneWhole) {
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    for (int k = 0; k < 4; ++k) try {
        write_sample(out_, {.force = true});
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kStoreBusy) ::_exit(1);
      }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(folder_.names(), Names{"out.db"});
  EXPECT_EQ(StoreReader(out_).workloads().size(), 1u);
}

}  // namespace
}  // namespace spscope
