// A file goes from one process to another whole or not at all, in pieces of at most the size that was asked for, and
// whatever stops one end stops the other.
#include "backend/launch/file_transfer.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <condition_variable>
#include <csignal>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <sstream>
#include <thread>

#include "backend/execute/agree.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/launch/partial_world.h"

namespace spscope {
namespace {

using ::testing::HasSubstr;

// Two threads in place of processes. Messages arrive in order, and are changed on their way if a test wants it.
class Cable {
 public:
  std::function<void(int number, std::vector<std::byte>& message)> on_message;

  void put(int to, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte> message(bytes.begin(), bytes.end());
    if (on_message) on_message(num_messages_, message);
    ++num_messages_;
    longest_ = std::max(longest_, std::ssize(message));
    boxes_[to].push_back(std::move(message));
    came_.notify_all();
  }
  void take(int rank, std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return !boxes_[rank].empty(); });
    ASSERT_EQ(boxes_[rank].front().size(), bytes.size());
    std::ranges::copy(boxes_[rank].front(), bytes.begin());
    boxes_[rank].pop_front();
  }
  int num_messages() const { return num_messages_; }
  std::int64_t longest() const { return longest_; }
  bool empty() const { return boxes_[0].empty() && boxes_[1].empty(); }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::vector<std::byte>> boxes_[2];
  int num_messages_ = 0;
  std::int64_t longest_ = 0;
};

// One end of the cable. A transfer sends and receives, and needs nothing else of a world.
class CableEnd final : public testing::PartialWorld {
 public:
  CableEnd(Cable& cable, int rank) : PartialWorld(rank), cable_(cable) {}
  void send(int to, std::span<const std::byte> bytes) override { cable_.put(to, bytes); }
  void receive(int, std::span<std::byte> bytes) override { cable_.take(rank(), bytes); }

 private:
  Cable& cable_;
};

class FileTransfer : public ::testing::Test {
 protected:
  struct End {
    std::optional<Error> sender, receiver;
  };

  void make_file(std::int64_t num_bytes) {
    std::string text(static_cast<std::size_t>(num_bytes), '\0');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 + i / 251);
    std::ofstream(from_, std::ios::binary) << text;
  }
  static std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  // `announced` < 0: the size of the file.
  End transfer(std::int64_t piece_bytes, std::int64_t announced = -1) {
    End end;
    std::error_code missing;
    if (announced < 0) announced = static_cast<std::int64_t>(std::filesystem::file_size(from_, missing));
    std::thread sender([&] {
      CableEnd world(cable_, 1);
      end.sender = failure_of([&] { send_file(world, 0, from_, piece_bytes); });
    });
    CableEnd world(cable_, 0);
    end.receiver = failure_of([&] { receive_file(world, 1, to_, announced, piece_bytes); });
    sender.join();
    EXPECT_TRUE(cable_.empty());
    return end;
  }
  // Both ends know why a transfer failed, and nothing is left of it.
  void expect_failure(const End& end, ErrorCode code, const std::string& receiver, const std::string& sender) const {
    ASSERT_TRUE(end.sender && end.receiver) << receiver;
    EXPECT_EQ(end.receiver->code(), code);
    EXPECT_THAT(end.receiver->what(), HasSubstr(receiver));
    EXPECT_THAT(end.sender->what(), HasSubstr(sender));
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      EXPECT_EQ(entry.path().string(), from_);
  }

  Cable cable_;
  TemporaryFolder folder_;
  const std::string from_ = folder_ / "from.db";
  std::string to_ = folder_ / "to.db";
};

TEST_F(FileTransfer, BringsEveryByteAroundTheSizeOfAPiece) {
  constexpr std::int64_t kPiece = 1000;
  for (const std::int64_t num_bytes :
       {std::int64_t{0}, std::int64_t{1}, kPiece - 1, kPiece, kPiece + 1, 3 * kPiece, 3 * kPiece + 5}) {
    make_file(num_bytes);
    const End end = transfer(kPiece);
    ASSERT_FALSE(end.sender) << end.sender->what();
    ASSERT_FALSE(end.receiver) << end.receiver->what();
    EXPECT_EQ(content(to_), content(from_)) << num_bytes;
    EXPECT_LE(cable_.longest(), kPiece);
    std::filesystem::remove(to_);
  }
}

TEST_F(FileTransfer, TellsBothEndsWhyTheFileCannotBeRead) {
  const std::string why = "cannot read \"" + from_ + "\": No such file";
  expect_failure(transfer(1000), ErrorCode::kStoreOpen, "rank 1: " + why, why);
}

TEST_F(FileTransfer, EndsAtTheFirstPieceThatCannotBeWritten) {
  to_ = folder_ / "no folder/to.db";
  make_file(10'000);
  expect_failure(transfer(1000), ErrorCode::kOutputPlace, to_,
                 "rank 0 could not take \"" + from_ + "\" after 1000 bytes");
  EXPECT_EQ(cable_.num_messages(), 3);  // the head of the piece, the piece, the answer
}

TEST_F(FileTransfer, LeavesNothingWhenTheDiskIsFullInTheMiddle) {
  make_file(10'000);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{4500, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &full);
  const End end = transfer(1000);
  ::setrlimit(RLIMIT_FSIZE, &before);
  expect_failure(end, ErrorCode::kStoreWrite, to_, "after 5000 bytes");
}

TEST_F(FileTransfer, RefusesAPieceThatChangedOnItsWay) {
  make_file(3000);
  cable_.on_message = [](int number, std::vector<std::byte>& message) {
    if (number == 4) message[500] ^= std::byte{1};  // of the second piece
  };
  expect_failure(transfer(1000), ErrorCode::kStoreCorrupt, "came damaged from rank 1, at 2000 bytes",
                 "rank 0 could not take");
}

// The sender must know: it would go on to its next file, which nobody receives.
TEST_F(FileTransfer, TellsBothEndsThatTheFileHasAnotherSizeThanAnnounced) {
  make_file(3000);
  for (const std::int64_t announced : {2999, 3001, 1000, 5000})
    expect_failure(transfer(1000, announced), ErrorCode::kStoreCorrupt,
                   "rank 1 announced " + std::to_string(announced) + " bytes", "rank 0 could not take");
}

}  // namespace
}  // namespace spscope
