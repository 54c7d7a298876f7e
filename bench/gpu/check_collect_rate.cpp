// How many records a second the collector `cupti` takes: threads that launch a kernel of one block as fast as they can,
// each launch with the op that asks for it, into a shard on disk.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "backend/collect/shard_writer.h"
#include "backend/execute/cuda/driver.h"
#include "backend/execute/cuda/gpu.h"
#include "backend/execute/cuda/memory.h"
#include "bench/gpu/all_checks.h"
#include "bench/gpu/cupti_here.h"

namespace spscope::gpu_check {
namespace {

namespace kc = kernels::cuda;

constexpr double kMostCores = 1;
constexpr int kOps = 800;  // launches take turns among so many, as those of a model do
// A launch is as long as its thread is not held up by others in the driver: which number is fastest depends on it.
constexpr int kThreads[] = {1, 2, 4};

// A copy of 16 bytes.
class TinyLaunch {
 public:
  explicit TinyLaunch(cuda::Gpu& gpu)
      : gpu_(gpu), current_(gpu.context()), memory_(gpu.context(), kBytes + sizeof(kc::CopyPiece)) {
    kc::CopyPiece piece{};
    piece.from = reinterpret_cast<const void*>(memory_.address() + sizeof piece);
    piece.to = reinterpret_cast<void*>(memory_.address() + sizeof piece + kBytes / 2);
    piece.cell_bytes = piece.from_stride_bytes = piece.to_stride_bytes = kBytes / 2;
    piece.cells = 1;
    memory_.write(std::as_bytes(std::span(&piece, 1)));
    launch_ = {kc::choose_copy(), 1, kc::Copy{reinterpret_cast<const kc::CopyPiece*>(memory_.address()), 1, 0}};
    gpu.load(launch_.kernel);
  }
  // By any thread, on a stream of its own.
  void operator()(const cuda::Stream& stream) const { gpu_.launch(launch_, stream.get()); }

 private:
  static constexpr std::size_t kBytes = 32;
  const cuda::Gpu& gpu_;
  const cuda::CurrentContext current_;
  const cuda::DeviceMemory memory_;
  cuda::Launch launch_;
};

struct Rate {
  int threads = 0;
  std::int64_t launches = 0, kernels = 0;  // launched, stored
  std::int64_t dropped = 0;                // records of all tracks that came to no event
  double records_per_s = 0, launches_per_s = 0, cores = 0;
};

// Launches for so long, at most so many on each thread. How many it were.
std::int64_t launch_on(int threads, const cuda::Gpu& gpu, const TinyLaunch& launch, Collector& collector,
                       std::int64_t for_ns, int most) {
  std::atomic<std::int64_t> launches = 0;
  std::vector<std::optional<Error>> failures(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (std::optional<Error>& failure : failures)
    running.emplace_back([&] {
      failure = failure_of([&] {
        const cuda::CurrentContext current(gpu.context());
        const cuda::Stream stream(gpu.context());
        const std::int64_t end_ns = now_ns() + for_ns;
        int done = 0;
        for (; done < most && now_ns() < end_ns; ++done) {
          collector.begin_launch(0, RunId{1}, done % kOps);
          launch(stream);
          collector.end_launch();
        }
        cuda::check(cuda::driver().cuStreamSynchronize(stream.get()), "cuStreamSynchronize");
        launches += done;
      });
    });
  for (std::thread& thread : running) thread.join();
  for (const std::optional<Error>& failure : failures)
    if (failure) throw Error(*failure);
  return launches;
}

Rate measure(int threads, cuda::Gpu& gpu, const CuptiHere& cupti, const CheckContext& context, CheckResult& result) {
  const std::string path = context.out + "/collected.db";
  std::filesystem::remove(path);
  Rate rate{.threads = threads};
  ShardWriterOptions options;
  options.shard = {ShardKind::kRank, ShardClock::kRaw, 0, std::string(32, '0')};
  ShardWriter shard(path, options);
  {
    const TinyLaunch launch(gpu);
    const std::unique_ptr<Collector> collector = cupti.start(shard);
    const std::int64_t begin_ns = now_ns(), own_ns = collector->cost().thread_ns;
    rate.launches = launch_on(threads, gpu, launch, *collector, context.tiny ? 200'000'000 : 4'000'000'000,
                              context.tiny ? 500 : INT32_MAX);
    const double seconds = static_cast<double>(now_ns() - begin_ns) * 1e-9;
    collector->stop();
    const CollectorCost cost = collector->cost();
    rate.records_per_s = static_cast<double>(cost.records + cost.dropped) / seconds;
    rate.launches_per_s = static_cast<double>(rate.launches) / seconds;
    rate.cores =
        static_cast<double>(cost.thread_ns - own_ns) * 1e-9 / (static_cast<double>(now_ns() - begin_ns) * 1e-9);
    add_notes(*collector, result);
  }
  shard.finish();
  if (const std::optional<Error> failed = shard.failure()) throw Error(*failed);
  for (const ShardWriter::TrackCount& count : shard.counts()) {
    // Before an op's launch nothing runs on the streams.
    if (count.track.kind == TrackKind::kDeviceStream) rate.kernels += count.stored;
    rate.dropped += count.dropped + count.unreadable;  // of the collector, and where the ring was full
  }
  std::filesystem::remove(path);
  return rate;
}

}  // namespace

CheckResult check_collect_rate(const CheckContext& context) {
  CheckResult result;
  const CuptiHere cupti(context, result);
  if (cupti.is_missing()) return result;
  cuda::Gpu& gpu = cuda::Gpu::of(0);
  std::vector<Rate> rates;
  for (const int threads : kThreads) rates.push_back(measure(threads, gpu, cupti, context, result));
  std::int64_t dropped = 0;
  for (const Rate& rate : rates) {
    dropped += rate.dropped;
    if (const std::int64_t lost = rate.launches - rate.kernels; lost < 0 || lost > rate.dropped)
      result.faults.push_back(fmt::format("of {} launches of {} threads {} kernels are stored and {} records counted",
                                          rate.launches, rate.threads, rate.kernels, rate.dropped));
  }
  const Rate& fastest = *std::ranges::max_element(rates, {}, &Rate::records_per_s);
  result.facts["workload"] = fmt::format("copies of 16 bytes, fastest on {} threads, {} processors", fastest.threads,
                                         std::thread::hardware_concurrency());
  result.figures = {
      {"records dropped, all rates", "", static_cast<double>(dropped), Bound::kAtMost, 0},
      {"cores of the collector's thread at the highest rate", "", fastest.cores, Bound::kAtMost, kMostCores},
  };
  for (const Rate& rate : rates) {
    result.figures.push_back({fmt::format("records, {} threads", rate.threads), "M/s", rate.records_per_s * 1e-6});
    result.figures.push_back({fmt::format("launches, {} threads", rate.threads), "M/s", rate.launches_per_s * 1e-6});
  }
  return result;
}

}  // namespace spscope::gpu_check
