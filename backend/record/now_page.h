// The now page: what every lane of a process does at this moment, in a small mapped file that outlives the process.
//
// A header of 64 bytes is followed by one line of 64 bytes for each (rank, lane), rank by rank. A lane alone writes its
// line, as a seqlock: the first word is odd while the others change, and grows whenever the lane makes progress. No
// lane or reader is waited for, nothing is flushed, and the page outlives a killed process: what it did, how many
// events it had sent, can be read afterwards. Only on a disk file system may a write fault, while the kernel writes the
// page back; in memory it never does. A run that is not recorded has the same lines in memory of its own.
//
// header  magic "SPSNOW" u64 | layout u32 | pid i32 | hash of the boot id u64 | first rank, ranks, lanes: u32 each |
//         1 when the shard is complete, else 0: u32 | collection id, 16 bytes | start of the process in
//         clock ticks since boot, u64 (a pid is used again)
// line    generation u64 | op i32, sequence i32 | run i32, op that it waits for i32 | peer i32, state u8, repeat i24 |
//         bytes i64 | begin_ns i64 | sent i64 | dropped i64
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/ids.h"

namespace spscope {

// Stored numbers: append only.
enum class LaneState : std::uint8_t {
  kIdle = 0,            // no repeat has begun
  kComputing = 1,       // inside a kernel
  kWaitingForPeer = 2,  // has posted; a partner has not
  kTransferring = 3,    // data moves
  kEndedRepeat = 4,     // has done all its ops of the repeat
  kWaitingForOp = 5,    // for an op, of its own rank or of another, that its op depends on
};
inline constexpr int kNumLaneStates = 6;
std::string_view lane_state_name(LaneState state);

inline constexpr int kSeveralPeers = -1, kNoPeer = -2;

// State of one lane.
struct LaneNow {
  LaneState state = LaneState::kIdle;
  OpId op = kNone;            // of the plan of the run; kNone between ops
  std::int32_t sequence = 0;  // post of the op: its number in its communicator
  RunId run = {};             // as in the head shard; below 2^31
  int peer = kNoPeer;      // the rank that the op exchanges with; while it waits for an op of another rank, that rank
  int repeat = 0;          // of the run; negative: a warm-up
  std::int64_t bytes = 0;  // that the op's rank sends
  std::int64_t begin_ns = 0;  // raw clock: where the op's event would begin
  // Events of this lane since the process began, over all runs. dropped <= sent.
  std::int64_t sent = 0, dropped = 0;
  OpId waits_for = kNone;  // the op, of its rank or of another, without which it cannot go on; kNone: it waits for none

  bool inside_op() const { return op != kNone; }
  friend bool operator==(const LaneNow&, const LaneNow&) = default;
};

using CollectionId = std::array<std::uint8_t, 16>;
std::string collection_text(const CollectionId& id);  // 32 hexadecimal digits

// Identity of the process that writes a page.
struct NowPageOwner {
  int pid = 0;
  std::uint64_t start_ticks = 0;  // of the process, since boot
  std::uint64_t boot_hash = 0;    // hash_of_boot_id()
  int first_rank = 0, ranks = 1, lanes = 1;
  CollectionId collection = {};
};
// This process on this boot of this host.
NowPageOwner this_process(int first_rank, int ranks, int lanes, const CollectionId& collection);
std::uint64_t hash_of_boot_id();
// Start of a process in clock ticks since boot; 0 when there is no such process, or it has ended.
std::uint64_t process_start_ticks(int pid);

// A line in memory that lanes and readers share. All writing calls are made by one thread at a time, the lane's.
class alignas(64) NowLine {
 public:
  void publish(const LaneNow& now) noexcept;
  // A copy of a line of another host, with the generation that it has there.
  void mirror(const LaneNow& now, std::uint64_t generation) noexcept;
  // The lane made progress; what it does is still the same.
  void beat() noexcept { words_[0].store(generation() + 2, std::memory_order_release); }

  // By any thread or process. What the lane does; LaneNow() with the counts of events when each of many tries meets a
  // change of the line.
  LaneNow read() const noexcept;
  // Grows with every publish() and beat(). mirror() sets it, perhaps to a lower number.
  std::uint64_t generation() const noexcept { return words_[0].load(std::memory_order_relaxed); }

 private:
  void write(const LaneNow& now, std::uint64_t odd, std::uint64_t next) noexcept;

  std::atomic<std::uint64_t> words_[8];
};
static_assert(sizeof(NowLine) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);

// The page of this process.
class NowPageWriter {
 public:
  // Makes the file, with all its blocks, so that a full disk fails here and not in a lane. Throws Error: kOutputPlace,
  // or kStoreWrite with path and bytes.
  NowPageWriter(std::string path, const NowPageOwner& owner);
  ~NowPageWriter();
  NowPageWriter(const NowPageWriter&) = delete;
  NowPageWriter& operator=(const NowPageWriter&) = delete;

  const std::string& path() const { return path_; }
  // REQUIRES: the rank and the lane are of this page.
  NowLine& line(int rank, int lane);
  // The shard is complete: when the process goes now, nothing is lost.
  void set_complete() noexcept;

 private:
  std::string path_;
  NowPageOwner owner_;
  void* mapped_ = nullptr;
  std::size_t bytes_ = 0;
};

// The lines of another process of this host as they change.
class NowPageView {
 public:
  // Throws Error as read_now_page() does.
  explicit NowPageView(const std::string& path);
  ~NowPageView();
  NowPageView(const NowPageView&) = delete;
  NowPageView& operator=(const NowPageView&) = delete;

  // nullptr: the page has no such line. Valid as long as the view.
  const NowLine* line(int rank, int lane) const;

 private:
  int first_rank_ = 0, ranks_ = 0, lanes_ = 0;
  std::size_t bytes_ = 0;
  const void* mapped_ = nullptr;
};

// A page as it was found, every number checked.
struct NowPage {
  NowPageOwner owner;
  bool complete = false;  // set_complete()
  struct Line {
    int rank = 0, lane = 0;
    LaneNow now;
    // false: its writer was stopped while it changed the line, or the line holds invalid values. `sent` and
    // `dropped` are then 0 <= dropped <= sent all the same, and the rest is what it would be between ops.
    bool whole = true;
  };
  std::vector<Line> lines;  // rank by rank
};
// Throws Error: kStoreOpen when the file cannot be read, kStoreForeign when it is no page, kStoreCorrupt when its size
// and its header disagree. Only reads, never maps, so that a file that shrinks does no harm.
NowPage read_now_page(const std::string& path);

}  // namespace spscope
