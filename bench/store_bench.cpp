// What the store costs, on events like those of a run: 8 ranks, 842 names, durations of some microseconds.
//   record     a lane's push into its ring, with and without the two looks at the clock that an event takes
//   write      lanes push as fast as they can, one thread packs and commits to a shard: events a second of that thread
//   merge      8 shards with 10 M events to one file, with pyramids and fsync
//   memory     the most that a process of its own needs to merge them, and to merge the shard of one rank with a
//              quarter of the events and with all
//   bytes      of that file an event, and of the shards with their logs
//   stats      event_stats of one name over all of it
//   window     1,000 events of one rank by SQL
//   run        with --run: bytes an event of the file of a run
// Beside them what the machine can do: memory copy, and writing to the disk with fsync. Medians of 5. Exits with 1 when
// a limit is broken.
//
//   store_bench [--events 10000000] [--repeats 5] [--run FILE]
//   store_bench --merge OUT SHARD...    merges once, and prints the largest size of the process in MB
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/check.h"
#include "backend/base/clock.h"
#include "backend/base/error.h"
#include "backend/base/median.h"
#include "backend/record/event_ring.h"
#include "backend/store/merge/merge_shards.h"
#include "backend/store/store_reader.h"
#include "bench/event_shards.h"
#include "bench/flags.h"
#include "kernels/calibrate.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

constexpr int kRanks = 8, kNames = 842, kOpsOfAPass = 2000;

struct Flags {
  std::int64_t events = 10'000'000;
  int repeats = 5;
  std::string run;
};

// Pass after pass over the same ops: each has a name, a category and a usual time.
BenchPasses passes_of(RunId run) {
  BenchPasses passes{.ranks = kRanks, .kernels = {}, .run = [run](std::int64_t) { return run; }, .begin_ns = {}};
  passes.begin_ns = [](std::int64_t pass, std::int64_t last_ns, Rng& jitter) {
    return (pass == 0 ? 1'000'000'000 : last_ns) + 50'000 + jitter.below(50'000);
  };
  Rng rng(17);
  for (int op = 0; op < kOpsOfAPass; ++op) {
    const bool moves = op % 5 == 1 || op % 5 == 3;
    const auto category = moves ? EventCategory::kTransfer : static_cast<EventCategory>(1 + rng.below(3));
    passes.kernels.push_back({static_cast<NameId>(1 + rng.below(kNames)), category, 500 + rng.below(20'000),
                              moves ? 500 + rng.below(20'000) : 0});
  }
  return passes;
}

double seconds_since(std::int64_t begin_ns) { return static_cast<double>(now_ns() - begin_ns) * 1e-9; }

RunId write_head(const std::string& path) {
  StoreWriter writer = StoreWriter::shard(path, {.kind = ShardKind::kHead, .collection = kBenchCollection});
  WorkloadRecord workload;
  workload.model = "bench";
  workload.ranks = kRanks;
  StrategyRecord strategy;
  strategy.workload_id = writer.add_workload(workload);
  strategy.id = strategy.name = strategy.label = "bench";
  RunRecord run;
  run.strategy_id = writer.add_strategy(strategy);
  const RunId id = writer.add_run(run);
  for (int rank = 0; rank < kRanks; ++rank)
    writer.add_rank_clock({rank, {.raw_zero_ns = 900'000'000 + rank, .offset_ns = 5, .drift = 1e-6 * rank}});
  writer.checkpoint();
  writer.finish();
  return id;
}

// As write_bench_shard().
double write_shard(const std::string& path, int rank, RunId run, std::int64_t num_events) {
  std::vector<std::string> names;
  for (int name = 1; name <= kNames; ++name) names.push_back("kernel " + std::to_string(name));
  return write_bench_shard(path, rank, names, passes_of(run), num_events);
}

// Bytes of the shards and of their logs.
double shard_bytes(const std::vector<std::string>& shards) {
  double bytes = 0;
  for (const std::string& shard : shards)
    for (const char* suffix : {"", "-wal"})
      if (const std::string path = shard + suffix; std::filesystem::exists(path))
        bytes += static_cast<double>(std::filesystem::file_size(path));
  return bytes;
}

// Nanoseconds of one push: alone, and with the clock read at begin and end of the event.
double push_ns(bool with_clock) {
  constexpr std::int64_t kPushes = kBenchRing - 1;
  EventRing ring(kBenchRing);
  RingRecord record;
  std::int64_t spent_ns = 0;
  constexpr int kRounds = 8;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t begin_ns = now_ns();
    for (std::int64_t i = 0; i < kPushes; ++i) {
      record.span.op_id = i;
      if (with_clock) record.span.begin_ns = now_ns(), record.span.end_ns = now_ns();
      SPSCOPE_CHECK(ring.push(record));
    }
    spent_ns += now_ns() - begin_ns;
    while (!ring.waiting().empty()) ring.release(ring.waiting().size());
  }
  return static_cast<double>(spent_ns) / (static_cast<double>(kPushes) * kRounds);
}

// GB/s of writing so many bytes to a new file and waiting until they are on the disk.
double fsync_gbps(const std::string& path, std::int64_t bytes) {
  const std::vector<char> block(1 << 20, 'x');
  const std::int64_t begin_ns = now_ns();
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  SPSCOPE_CHECK(fd >= 0);
  for (std::int64_t done = 0; done < bytes; done += std::ssize(block))
    SPSCOPE_CHECK(::write(fd, block.data(), block.size()) == std::ssize(block));
  SPSCOPE_CHECK(::fsync(fd) == 0);
  ::close(fd);
  const double seconds = seconds_since(begin_ns);
  std::filesystem::remove(path);
  return static_cast<double>(bytes) * 1e-9 / seconds;
}

double median_of(int repeats, const std::function<double()>& sample) {
  std::vector<double> samples;
  for (int i = 0; i < repeats; ++i) samples.push_back(sample());
  return median(samples);
}

// Seconds of one question; `expected_rows` of an answer that means anything.
double ask(const StoreReader& reader, const std::string& sql, std::size_t least_rows) {
  const std::int64_t begin_ns = now_ns();
  const QueryResult result = reader.query(sql);
  const double seconds = seconds_since(begin_ns);
  SPSCOPE_CHECK(result.rows.size() >= least_rows);
  return seconds;
}

struct Figure {
  std::string name, unit;
  double value = 0;
  std::optional<double> at_least = std::nullopt, at_most = std::nullopt;
  bool kept() const { return (!at_least || value >= *at_least) && (!at_most || value <= *at_most); }
};

double merge_s(const std::string& path, const std::vector<std::string>& shards, const Flags& flags) {
  return median_of(flags.repeats, [&] {
    const std::int64_t begin_ns = now_ns();
    OutputFile out(path, true);
    const MergeReport report = merge_shards(out, shards, {.tool_version = "bench"});
    SPSCOPE_CHECK(report.events == flags.events && report.lost == 0);
    return seconds_since(begin_ns);
  });
}

// The largest size of this process so far. (What getrusage says a process inherits from the one that started it.)
double peak_mb() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) * 1024e-6;
  return 0;
}

// What peak_mb() is at the end of a process that only merges.
double peak_mb_of_merge(const std::string& out, const std::vector<std::string>& shards) {
  std::string command = std::filesystem::read_symlink("/proc/self/exe").string() + " --merge " + out;
  for (const std::string& shard : shards) command += " " + shard;
  std::FILE* const child = ::popen(command.c_str(), "r");
  double peak = 0;
  SPSCOPE_CHECK(child != nullptr && std::fscanf(child, "%lf", &peak) == 1 && ::pclose(child) == 0);
  return peak;
}

double peak_mb_of_one_rank(const TemporaryFolder& folder, const std::string& head, RunId run, std::int64_t num_events) {
  const std::string shard = folder / "one.rank-0.db";
  write_shard(shard, 0, run, num_events);
  const double peak = peak_mb_of_merge(folder / "one.db", {head, shard});
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(shard + suffix);
  std::filesystem::remove(folder / "one.db");
  return peak;
}

// Of a stored run, all tables included.
double bytes_per_event(const std::string& run) {
  const std::string events = StoreReader(run).query("SELECT sum(stored) FROM ledger").rows.at(0).at(0).value();
  return static_cast<double>(std::filesystem::file_size(run)) / std::stod(events);
}

// Opening a file, with the checksums of its pages.
double open_ms(const std::string& path, const Flags& flags) {
  return 1e3 * median_of(flags.repeats, [&] {
           const std::int64_t begin_ns = now_ns();
           const StoreReader reader(path);
           return seconds_since(begin_ns);
         });
}

struct Asked {
  double stats_s = 0, window_s = 0;
};

Asked ask_file(const std::string& path, const Flags& flags) {
  const StoreReader reader(path);
  Asked asked;
  asked.stats_s = median_of(flags.repeats, [&] {
    return ask(reader, "SELECT sum(count), sum(total_ns) FROM event_stats WHERE name = 'kernel 400'", 1);
  });
  const std::string middle = "(SELECT (min(begin_min_ns) + max(end_max_ns)) / 2 FROM chunk)";
  asked.window_s = median_of(flags.repeats, [&] {
    return ask(reader,
               "SELECT name, begin_ns, end_ns FROM event WHERE rank = 3 AND begin_ns < " + middle +
                   " + 14600000 AND end_ns > " + middle,
               std::min<std::size_t>(900, static_cast<std::size_t>(flags.events / 100)));
  });
  return asked;
}

std::vector<Figure> measure(const Flags& flags) {
  const TemporaryFolder folder;  // below TMPDIR
  std::vector<std::string> shards = {folder / "b.head.db"};
  const RunId run = write_head(shards.front());
  std::vector<double> rates;
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::int64_t count = flags.events / kRanks + (rank < flags.events % kRanks);
    shards.push_back(folder / ("b.rank-" + std::to_string(rank) + ".db"));
    rates.push_back(static_cast<double>(count) * 1e-6 / write_shard(shards.back(), rank, run, count));
  }
  const double of_shards = shard_bytes(shards);
  const std::string merged = folder / "merged.db";
  const double merged_s = merge_s(merged, shards, flags);
  const double peak = peak_mb_of_merge(folder / "peak.db", shards);
  std::filesystem::remove(folder / "peak.db");
  const double quarter = peak_mb_of_one_rank(folder, shards.front(), run, flags.events / 4),
               whole = peak_mb_of_one_rank(folder, shards.front(), run, flags.events);
  const Asked asked = ask_file(merged, flags);
  std::vector<Figure> figures = {
      {"write", "M events/s", median(rates), 6, std::nullopt},
      {"merge of 8 shards", "s", merged_s, {}, 1.5 * static_cast<double>(flags.events) / 10e6},
      {"its memory", "MB", peak, {}, 48},
      {"of one rank, a quarter", "MB", quarter, {}, 48},
      {"of one rank, all events", "MB", whole, {}, 48},
      {"bytes an event", "", bytes_per_event(merged), {}, 12},
      {"bytes an event, shards", "", of_shards / static_cast<double>(flags.events)},
      {"open", "ms", open_ms(merged, flags), {}, 5},
      {"event_stats of one name", "ms", asked.stats_s * 1e3, {}, 100},
      {"window of 1,000 events", "ms", asked.window_s * 1e3, {}, 10},
      {"push", "ns", median_of(flags.repeats, [] { return push_ns(false); }), {}, 100},
      {"push and two clocks", "ns", median_of(flags.repeats, [] { return push_ns(true); }), {}, 100},
      {"memory copy", "GB/s", kernels::measure_copy_gbps()},
      {"write and fsync", "GB/s", median_of(flags.repeats, [&] { return fsync_gbps(folder / "fsync", 128 << 20); })},
  };
  if (!flags.run.empty()) {
    figures.push_back({"bytes an event of the run", "", bytes_per_event(flags.run), {}, 12});
    figures.push_back({"open the run", "ms", open_ms(flags.run, flags), {}, 50});
  }
  return figures;
}

void print(const std::vector<Figure>& figures) {
  for (const Figure& f : figures) {
    std::cout << (f.kept() ? "  " : "! ") << std::left << std::setw(28) << f.name << std::right << std::setw(10)
              << std::setprecision(4) << f.value << " " << f.unit;
    if (f.at_least) std::cout << "   (at least " << *f.at_least << ")";
    if (f.at_most) std::cout << "   (at most " << *f.at_most << ")";
    std::cout << "\n";
  }
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  if (argc > 3 && std::string_view(argv[1]) == "--merge") {
    spscope::OutputFile out(argv[2], true);
    spscope::merge_shards(out, std::vector<std::string>(argv + 3, argv + argc), {.tool_version = "bench"});
    std::cout << spscope::peak_mb() << "\n";
    return 0;
  }
  spscope::Flags flags;
  if (!spscope::read_flags(
          argc, argv, {{"--events", &flags.events, 100'000}, {"--repeats", &flags.repeats}, {"--run", &flags.run}}))
    return 2;
  const std::vector<spscope::Figure> figures = spscope::measure(flags);
  spscope::print(figures);
  return std::ranges::all_of(figures, &spscope::Figure::kept) ? 0 : 1;
}
