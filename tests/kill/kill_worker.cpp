// One process of a collection, to be killed at any moment by kill_test.py, and what reads the files that it leaves. The
// ring, the writer, the page and the shard are those of a run; an event's op_id is its number in its lane, from 0.
//
//   head FOLDER RANKS          the head shard; begins a run and commits every 5 ms until standard input ends
//   rank FOLDER RANK [MODE]    two lanes that push events until standard input ends; each commit is acknowledged on
//                              standard output as lines "rank lane events". MODE `checkpoint`: the log is played back
//                              into the shard after every commit; `fast`: lanes do not sleep
//   trace FOLDER               a collector of another program's trace: a device stream, a host thread and a counter,
//                              without ranks and without a page; acknowledged as "-1 number events"
//   merge OUT SHARD...         merges them as `recover` does
//   check OUT                  prints what the file holds of each lane, as JSON
//   now PAGE                   prints what each lane did, as JSON
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "backend/base/clock.h"
#include "backend/base/host.h"
#include "backend/collect/shard_writer.h"
#include "backend/record/now_page.h"
#include "backend/store/merge/merge_shards.h"
#include "backend/store/sqlite/sqlite.h"
#include "tests/fuzz/sample_plans.h"

namespace spscope {
namespace {

using json = nlohmann::json;

constexpr CollectionId kCollection = {1, 2, 3};
constexpr int kLanes = 2;
constexpr RunId kRun{1};
constexpr std::size_t kRoom = 1 << 18;

bool told_to_end() {
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return poll(&input, 1, 0) > 0;
}

void write_head(const std::string& folder, int ranks) {
  StoreWriter writer = StoreWriter::shard(folder + "/kill.head.db",
                                          {ShardKind::kHead, ShardClock::kRun, -1, collection_text(kCollection)}, {});
  const StrategyId strategy =
      writer.add_strategy(testing::sample_strategy(writer.add_workload(testing::sample_workload())));
  RunRecord run = testing::sample_run(strategy, writer.add_plan(fuzz::ring_plan(3)));
  SPSCOPE_CHECK(writer.begin_run(run) == kRun);
  for (int rank = 0; rank < ranks; ++rank) {
    writer.add_rank_clock({rank, {}});
    writer.add_rank_process({rank, "here", 0, boot_id(), rank + 1, ""});
  }
  writer.checkpoint();
  std::puts("ready");
  std::fflush(stdout);
  for (run.denoise_step = 2; !told_to_end(); ++run.denoise_step) {
    writer.begin_run(run);
    writer.checkpoint();
    usleep(5'000);
  }
  writer.finish();
}

// What a lane of the executor does, with work that takes no time.
void push_events(EventRing& ring, NowLine& line, NameId name, bool fast, const std::atomic<bool>& stop) {
  for (std::int32_t op = 0; !stop.load(std::memory_order_relaxed); ++op) {
    const std::int64_t begin_ns = now_ns();
    line.publish({.state = LaneState::kComputing,
                  .op = static_cast<OpId>(op),
                  .run = kRun,
                  .begin_ns = begin_ns,
                  .sent = ring.sent(),
                  .dropped = ring.dropped()});
    if (!fast || op % 64 == 0) usleep(20);
    ring.push({.span = {.begin_ns = begin_ns, .end_ns = now_ns(), .op_id = op, .name = name}, .run = kRun});
    line.publish({.state = LaneState::kEndedRepeat, .run = kRun, .sent = ring.sent(), .dropped = ring.dropped()});
  }
}

// Of a track without a rank, the rank is -1 and the lane its number in the shard, from 0.
void acknowledge(std::span<const CommittedTrack> tracks) {
  for (const CommittedTrack& t : tracks) {
    const int lane = t.track->lane.value_or(static_cast<int>(t.track->track_id) - 1);
    std::printf("%d %d %lld\n", t.track->rank.value_or(kNoRank), lane, static_cast<long long>(t.events));
  }
  std::fflush(stdout);
}

void write_rank(const std::string& folder, int rank, const std::string& mode) {
  const std::string stem = folder + "/kill.rank-" + std::to_string(rank);
  NowPageWriter page(stem + ".now", this_process(rank, 1, kLanes, kCollection));
  ShardWriterOptions options;
  options.shard = {ShardKind::kRank, ShardClock::kRaw, rank, collection_text(kCollection)};
  options.on_commit = acknowledge;
  ShardWriter writer(stem + ".db", options);
  if (mode == "checkpoint")
    writer.write([](StoreWriter& store) { store.database().execute("PRAGMA wal_autocheckpoint = 1"); });
  const NameId name = writer.name("work");
  std::array<EventRing*, kLanes> rings;
  for (int lane = 0; lane < kLanes; ++lane)
    rings[lane] = &writer.ring({.rank = rank, .lane = lane}, kRoom);  // takes memory and time
  std::puts("ready");
  std::fflush(stdout);
  std::atomic<bool> stop = false;
  std::vector<std::jthread> lanes;
  for (int lane = 0; lane < kLanes; ++lane)
    lanes.emplace_back([&, lane] { push_events(*rings[lane], page.line(rank, lane), name, mode == "fast", stop); });
  while (!told_to_end()) {
    usleep(2'000);
    if (mode == "checkpoint") writer.checkpoint();
  }
  stop = true;
  lanes.clear();
  writer.finish();
  if (const auto failure = writer.failure()) throw *failure;
}

void write_trace(const std::string& folder) {
  ShardWriterOptions options;
  options.shard = {ShardKind::kRank, ShardClock::kRaw, kNoRank, collection_text(kCollection)};
  options.on_commit = acknowledge;
  ShardWriter writer(folder + "/kill.rank-trace.db", options);
  const NameId name = writer.name("kernel");
  EventRing& stream = writer.ring({.kind = TrackKind::kDeviceStream, .name = "stream 7", .device = "gpu 0"}, kRoom);
  EventRing& thread = writer.ring({.kind = TrackKind::kHostThread, .name = "loader", .process = "trainer"}, kRoom);
  EventRing& power = writer.ring({.kind = TrackKind::kCounter, .name = "power_w", .device = "gpu 0"}, kRoom);
  std::puts("ready");
  std::fflush(stdout);
  for (std::int64_t i = 0; !told_to_end(); ++i) {
    const std::int64_t begin_ns = now_ns();
    power.push(RingRecord::of(CounterSample{begin_ns, static_cast<double>(i)}));
    usleep(20);
    for (EventRing* ring : {&stream, &thread})
      ring->push({.span = {.begin_ns = begin_ns, .end_ns = now_ns(), .op_id = i, .name = name}});
  }
  writer.finish();
  if (const auto failure = writer.failure()) throw *failure;
}

void merge(const std::string& out, std::span<const std::string> shards) {
  OutputFile file(out, true);
  merge_shards(file, shards, {.tolerant = true, .tool_version = "kill"});
}

// `number`: of a track without a lane.
json lane_of(const StoreReader& reader, const Track& track, int number) {
  json unfinished = json::array();
  std::int64_t next = 0;
  bool unbroken = true;
  for (const SpanEvent& event : reader.events().spans(track.track_id)) {  // throws where a checksum does not fit
    if ((event.flags & kEventUnfinished) != 0) {
      unfinished.push_back(event.op_id);
      continue;
    }
    unbroken = unbroken && event.op_id == next++;
  }
  for (const CounterSample& sample : reader.events().counters(track.track_id))
    unbroken = unbroken && sample.value == static_cast<double>(next++);
  json ledger;
  for (const LedgerRecord& row : reader.events().ledger())
    if (row.track_id == track.track_id)
      ledger = {{"sent", row.sent},
                {"stored", row.stored},
                {"dropped", row.dropped},
                {"unreadable", row.unreadable},
                {"lost", row.lost}};
  return {{"rank", track.rank.value_or(kNoRank)},
          {"lane", track.lane.value_or(number)},
          {"events", next},
          {"unbroken", unbroken},
          {"unfinished", std::move(unfinished)},
          {"ledger", std::move(ledger)}};
}

void check(const std::string& out) {
  const StoreReader reader(out);
  json lanes = json::array();
  int number = 0;  // of tracks without a rank
  for (const Track& track : reader.events().tracks())
    lanes.push_back(lane_of(reader, track, track.rank ? 0 : number++));
  std::cout << lanes << '\n';
}

void print_now(const std::string& path) {
  json lines = json::array();
  const NowPage page = read_now_page(path);
  for (const NowPage::Line& line : page.lines)
    lines.push_back({{"rank", line.rank},
                     {"lane", line.lane},
                     {"whole", line.whole},
                     {"op", line.now.inside_op() && line.now.repeat >= 0 ? static_cast<std::int64_t>(line.now.op) : -1},
                     {"sent", line.now.sent},
                     {"dropped", line.now.dropped}});
  std::cout << lines << '\n';
}

void work(std::span<const std::string> words) {
  const std::string& mode = words[0];
  if (mode == "head") return write_head(words[1], std::stoi(words[2]));
  if (mode == "rank") return write_rank(words[1], std::stoi(words[2]), words.size() > 3 ? words[3] : "");
  if (mode == "trace") return write_trace(words[1]);
  if (mode == "merge") return merge(words[1], words.subspan(2));
  if (mode == "check") return check(words[1]);
  if (mode == "now") return print_now(words[1]);
  throw Error(ErrorCode::kUsage, "unknown mode " + mode);
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() < 2) return 2;
    spscope::work(words);
    return 0;
  } catch (const spscope::Error& error) {
    std::cerr << spscope::render(error);
    return 1;
  }
}
