// What the collector cupti costs, from CUPTI's buffers to a shard on disk, on the fake CUPTI of CUDA 13:
//
//   launch    begin_launch() and end_launch() of an op on its rank's thread: at most 100 ns
//   stream    1 M records a second for some seconds, in launches of three records each: a kernel, its call and its op.
//             None may be dropped, the collector's thread and the one that writes the shard may take one core together,
//             and the process may grow by 64 MB
//
// The program that launches is a third thread, which makes its records every millisecond. Beside the figures stands
// what this machine can do: memory copy and multiply-adds. Exits with 1 when a limit is missed.
//
//   collectors_bench [--seconds 10]
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "backend/collect/shard_writer.h"
#include "bench/flags.h"
#include "collectors/cupti/collector.h"
#include "kernels/calibrate.h"
#include "tests/fake_cupti/control.h"
#include "tests/support/fake_library.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

constexpr double kMostLaunchNs = 100, kMostCores = 1, kMostMemoryMb = 64;
constexpr int kRecordsOfALaunch = 3;
constexpr double kRecordsPerSecond = 1e6;
constexpr std::int64_t kMillisecond = 1'000'000;

constexpr const char* kCupti = SPSCOPE_BINARY_DIR "/tests/fake_cupti/13/libcupti.so.13";

class FakeCupti {
 public:
  FakeCupti() {
    // 800 shapes: as many kernels as a model has, each with the grid of its layer.
    library_.call<decltype(spscope_fake_cupti_reset)>("spscope_fake_cupti_reset")("shapes=800");
  }
  void launch(std::int64_t count) {
    const FakeWork work = {.launches = 1};
    run_(&work, static_cast<unsigned>(count));
  }
  std::int64_t made() { return library_.call<decltype(spscope_fake_cupti_made)>("spscope_fake_cupti_made")(); }

 private:
  FakeLibrary library_{kCupti};
  decltype(&spscope_fake_cupti_run) run_ = library_.call<decltype(spscope_fake_cupti_run)>("spscope_fake_cupti_run");
};

// A line of /proc/self/status: "VmHWM:   1234 kB".
double status_mb(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::stod(line.substr(field.size() + 1)) * 1024e-6;
  return 0;
}

// CPU time of the thread of this name.
std::int64_t cpu_ns_of(std::string_view thread) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    std::int64_t ns = 0;
    if (name == thread && std::ifstream(task.path() / "schedstat") >> ns) return ns;
  }
  return 0;
}

ShardWriterOptions shard_options() {
  ShardWriterOptions options;
  options.shard = {ShardKind::kRank, ShardClock::kRaw, 0, std::string(32, '0')};
  return options;
}

struct Figures {
  double launch_ns = 0;
  std::int64_t made = 0, stored = 0, dropped = 0;  // records of CUPTI, and those among them that are no event
  double seconds = 0, collector_cores = 0, writer_cores = 0, program_cores = 0;
  double memory_mb = 0, own_memory_mb = 0;  // growth of the process; what the collector says of itself
};

// Launches at an even pace. Seconds that it took.
double launch_at_pace(FakeCupti& cupti, Collector& collector, int seconds) {
  const std::int64_t begin_ns = now_ns(), end_ns = begin_ns + seconds * 1'000 * kMillisecond;
  std::int64_t launched = 0;
  for (std::int64_t now = begin_ns; now < end_ns; now = now_ns()) {
    const double due = static_cast<double>(now - begin_ns) * 1e-9 * kRecordsPerSecond;
    const std::int64_t more = static_cast<std::int64_t>(due) / kRecordsOfALaunch - launched;
    collector.begin_launch(0, RunId{1}, launched % 800);
    cupti.launch(more);
    collector.end_launch();
    launched += more;
    std::this_thread::sleep_for(std::chrono::nanoseconds(kMillisecond));
  }
  return static_cast<double>(now_ns() - begin_ns) * 1e-9;
}

double launch_ns(Collector& collector) {
  constexpr int kLaunches = 1'000'000;
  const std::int64_t begin_ns = now_ns();
  for (OpId op = 0; op < kLaunches; ++op) {
    collector.begin_launch(0, RunId{1}, op);
    collector.end_launch();
  }
  return static_cast<double>(now_ns() - begin_ns) / kLaunches;
}

Figures measure(int seconds) {
  Figures figures;
  FakeCupti cupti;
  const TemporaryFolder folder;
  ShardWriter shard(folder / "run.rank-0.db", shard_options());
  const double before_mb = status_mb("VmRSS:");
  std::ofstream("/proc/self/clear_refs") << 5 << std::flush;  // VmHWM counts from here
  const std::unique_ptr<Collector> collector =
      cupti::start(shard, {.rank = 0}, {.library = kCupti, .pool = {}, .flush_every = std::chrono::milliseconds(100)});
  figures.launch_ns = launch_ns(*collector);
  const CollectorCost idle = collector->cost();
  const std::int64_t begin_ns = now_ns(), writer_ns = cpu_ns_of(kShardWriterThread), program_ns = thread_cpu_ns();
  figures.seconds = launch_at_pace(cupti, *collector, seconds);
  figures.program_cores = static_cast<double>(thread_cpu_ns() - program_ns);
  collector->stop();
  shard.checkpoint();
  const CollectorCost cost = collector->cost();
  figures.writer_cores = static_cast<double>(cpu_ns_of(kShardWriterThread) - writer_ns);
  figures.collector_cores = static_cast<double>(cost.thread_ns - idle.thread_ns);
  const auto whole_ns = static_cast<double>(now_ns() - begin_ns);
  for (double* const cores : {&figures.program_cores, &figures.writer_cores, &figures.collector_cores})
    *cores /= whole_ns;
  figures.memory_mb = status_mb("VmHWM:") - before_mb;
  figures.own_memory_mb = static_cast<double>(cost.memory_bytes) * 1e-6;
  figures.made = cupti.made();
  figures.dropped = cost.dropped;
  shard.finish();
  for (const ShardWriter::TrackCount& count : shard.counts()) {
    figures.stored += count.stored;
    figures.dropped += count.dropped;
  }
  return figures;
}

int run(int seconds) {
  const Figures figures = measure(seconds);
  const double copy = kernels::measure_copy_gbps(), fma = kernels::measure_fma_gflop_per_s();
  const double rate = static_cast<double>(figures.made) / figures.seconds;
  const std::int64_t events = figures.made / kRecordsOfALaunch * 2;  // the op of a launch is a part of both
  const std::int64_t lost = events - figures.stored;
  std::cout << "memory copy   " << copy << " GB/s, multiply-adds " << fma << " GFLOP/s\n"
            << "launch        " << figures.launch_ns << " ns (at most " << kMostLaunchNs << ")\n"
            << "stream        " << rate * 1e-6 << " M records/s for " << figures.seconds << " s; dropped "
            << figures.dropped << ", not stored " << lost << " (none)\n"
            << "cores         " << figures.collector_cores << " of the collector + " << figures.writer_cores
            << " of the writer (at most " << kMostCores << "); the fake program " << figures.program_cores << '\n'
            << "memory        " << figures.memory_mb << " MB, of which the collector counts " << figures.own_memory_mb
            << " (at most " << kMostMemoryMb << ")\n";
  const bool slow = figures.launch_ns > kMostLaunchNs || figures.memory_mb > kMostMemoryMb ||
                    figures.collector_cores + figures.writer_cores > kMostCores;
  return figures.dropped != 0 || lost != 0 || slow ? 1 : 0;
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  int seconds = 10;
  if (!spscope::read_flags(argc, argv, {{"--seconds", &seconds}})) return 2;
  const spscope::Result<int> code = spscope::capture([&] { return spscope::run(seconds); });
  if (code) return *code;
  std::cerr << spscope::render(code.error());
  return 1;
}
