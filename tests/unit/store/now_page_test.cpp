// The now page outlives its process, and a reader believes nothing that it finds in one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "backend/base/clock.h"
#include "backend/record/now_page.h"
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::error_of;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

class Page : public ::testing::Test {
 protected:
  void make(int first_rank = 4, int ranks = 2, int lanes = 3) {
    NowPageWriter page(path_, this_process(first_rank, ranks, lanes, {1, 2, 3}));
    page.line(first_rank, 1).publish(sample_);
  }
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "page.now";
  const LaneNow sample_{LaneState::kTransferring, 7, 5, RunId{9}, kSeveralPeers, -1, 4096, -5, 100, 3, 6};
};

TEST_F(Page, HoldsWhatWasWritten) {
  make();
  const NowPage page = read_now_page(path_);
  ASSERT_EQ(page.lines.size(), 6u);
  for (int i = 0; i < 6; ++i) {
    const NowPage::Line& line = page.lines[static_cast<std::size_t>(i)];
    EXPECT_EQ(std::tuple(line.rank, line.lane, line.whole), std::tuple(4 + i / 3, i % 3, true));
    EXPECT_EQ(line.now, i == 1 ? sample_ : LaneNow());
  }
  EXPECT_EQ(page.owner.pid, ::getpid());
  EXPECT_EQ(collection_text(page.owner.collection), "01020300000000000000000000000000");
}

TEST_F(Page, ALineWhoseWriterWasStoppedInTheMiddleKeepsItsCounts) {
  make();
  std::string bytes = read_file(path_);
  bytes[64 + 64] |= 1;  // the generation of the second line
  write_file(path_, bytes);
  const NowPage::Line line = read_now_page(path_).lines[1];
  EXPECT_FALSE(line.whole);
  EXPECT_FALSE(line.now.inside_op());
  EXPECT_EQ(line.now.sent, 100);
  EXPECT_EQ(line.now.dropped, 3);
}

// Of a lane that does nothing but publish, every read meets another state: no two tell that one of them is whole. Here
// one word changes all the time, and the generation is that of a line at rest.
TEST_F(Page, ALineThatNeverComesToRestIsNotWhole) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "the line rests while its reader runs";
  make();
  const int file = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  void* const page = ::mmap(nullptr, 64 * 7, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  ASSERT_NE(page, MAP_FAILED);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    constexpr std::size_t kSecondLine = 2 * 8, kBytes = 4;  // in words
    const std::atomic_ref<std::int64_t> word(static_cast<std::int64_t*>(page)[kSecondLine + kBytes]);
    for (std::int64_t bytes = 0; !done; ++bytes) word.store(bytes, std::memory_order_relaxed);
    word.store(sample_.bytes);
  });
  constexpr std::int64_t kMostNs = 30'000'000'000;
  bool was_restless = false;
  for (const std::int64_t begin_ns = now_ns(); !was_restless && now_ns() - begin_ns < kMostNs;)
    was_restless = !read_now_page(path_).lines[1].whole;
  done = true;
  writer.join();
  ::munmap(page, 64 * 7);
  EXPECT_TRUE(was_restless);
  EXPECT_TRUE(read_now_page(path_).lines[1].whole);
  EXPECT_EQ(read_now_page(path_).lines[1].now, sample_);
}

// Of the sizes, numbers that would overflow a size or a rank.
TEST_F(Page, RefusesWhatIsNoPage) {
  const auto refusal = [&](const std::string& path) { return error_of([&] { read_now_page(path); }).code(); };
  EXPECT_EQ(refusal(folder_ / "absent.now"), ErrorCode::kStoreOpen);
  EXPECT_EQ(refusal(folder_ / "."), ErrorCode::kStoreOpen);
  make();
  const std::string good = read_file(path_);
  constexpr std::size_t kFirstRank = 24, kRanks = 28, kLanes = 32;
  const auto with = [&](std::size_t field, const std::string& bytes) {
    return std::string(good).replace(field, bytes.size(), bytes);
  };
  const std::string most = "\xff\xff\xff\xff", sign("\x00\x00\x00\x80\x00\x00\x00\x80", 8);
  const std::pair<std::string, ErrorCode> pages[] = {{"", ErrorCode::kStoreForeign},
                                                     {std::string(64, '\0'), ErrorCode::kStoreForeign},
                                                     {std::string(1000, 'x'), ErrorCode::kStoreForeign},
                                                     {good.substr(0, good.size() - 1), ErrorCode::kStoreCorrupt},
                                                     {good + "x", ErrorCode::kStoreCorrupt},
                                                     {good.substr(0, 64), ErrorCode::kStoreCorrupt},
                                                     {with(kFirstRank, most), ErrorCode::kStoreCorrupt},
                                                     {with(kRanks, most), ErrorCode::kStoreCorrupt},
                                                     {with(kLanes, most), ErrorCode::kStoreCorrupt},
                                                     {with(kRanks, sign), ErrorCode::kStoreCorrupt}};
  for (const auto& [bytes, code] : pages) {
    write_file(path_, bytes);
    EXPECT_EQ(refusal(path_), code) << bytes.size() << " bytes";
  }
}

TEST_F(Page, CannotBeMadeWhereNothingCan) {
  const Error error = error_of([] { NowPageWriter("/proc/page.now", this_process(0, 1, 1, {})); });
  EXPECT_EQ(error.code(), ErrorCode::kOutputPlace);
  EXPECT_NE(std::string(error.what()).find("/proc/page.now"), std::string::npos);
  make();
  EXPECT_EQ(error_of([&] { make(); }).code(), ErrorCode::kOutputPlace);  // never over another one
}

// A limit of the size of a file stands for a full disk: making the page meets it, no lane does later.
TEST_F(Page, AFullDiskIsMetWhenItIsMade) {
  const int child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Error error = error_of([&] { make(0, 1000, 4); });
    const std::string text = error.what();
    const bool told = error.code() == ErrorCode::kStoreWrite && text.find(path_) != std::string::npos &&
                      text.find("256064 bytes") != std::string::npos;
    ::_exit(told && !std::filesystem::exists(path_) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace spscope
