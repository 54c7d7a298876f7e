#include "backend/execute/mpi/rank_results.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "backend/base/ids.h"

namespace spscope::mpi {
namespace {

template <typename T>
void append(std::vector<std::byte>& bytes, const std::vector<T>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const std::size_t before = bytes.size();
  bytes.resize(before + sizeof count + values.size() * sizeof(T));
  std::memcpy(bytes.data() + before, &count, sizeof count);
  if (count > 0) std::memcpy(bytes.data() + before + sizeof count, values.data(), values.size() * sizeof(T));
}

template <typename T>
void take(std::span<const std::byte>& bytes, std::vector<T>& values) {
  std::int64_t count = 0;
  std::memcpy(&count, bytes.data(), sizeof count);
  values.resize(static_cast<std::size_t>(count));
  if (count > 0) std::memcpy(values.data(), bytes.data() + sizeof count, values.size() * sizeof(T));
  bytes = bytes.subspan(sizeof count + values.size() * sizeof(T));
}

std::vector<OpId> ops_of(const Plan& plan, int rank) {
  std::vector<OpId> ops;
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id)
    if (plan.ops[at(id)].rank == rank) ops.push_back(id);
  return ops;
}

// Timelines of all ranks that are known here, from the moment when the first one could start.
void put_together(const MpiWorld& world, const Plan& plan, int repeats, const std::vector<RankResult>& of_rank,
                  ExecuteResult& result) {
  result.timelines.assign(at(repeats), Timeline{std::vector<OpTimes>(plan.ops.size())});
  for (int repeat = 0; repeat < repeats; ++repeat) {
    Timeline& timeline = result.timelines[at(repeat)];
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    const auto run_ns = [&](int rank, std::int64_t raw_ns) { return world.clocks()[at(rank)].to_run_ns(raw_ns); };
    for (int rank = 0; rank < plan.ranks; ++rank)
      if (!of_rank[at(rank)].start_ns.empty())
        first_ns = std::min(first_ns, run_ns(rank, of_rank[at(rank)].start_ns[at(repeat)]));
    for (int rank = 0; rank < plan.ranks; ++rank) {
      const RankResult& known = of_rank[at(rank)];
      if (known.start_ns.empty()) continue;
      const std::vector<OpId> ops = ops_of(plan, rank);
      for (std::size_t i = 0; i < ops.size(); ++i) {
        const OpTimes& raw = known.times[at(repeat) * ops.size() + i];
        timeline.ops[at(ops[i])] = {run_ns(rank, raw.post_ns) - first_ns, run_ns(rank, raw.begin_ns) - first_ns,
                                    run_ns(rank, raw.end_ns) - first_ns};
      }
    }
    result.makespan_ns.push_back(timeline.makespan_ns());
  }
}

}  // namespace

std::vector<std::byte> RankResult::pack() const {
  std::vector<std::byte> bytes;
  append(bytes, start_ns), append(bytes, times), append(bytes, outputs);
  return bytes;
}

RankResult RankResult::unpack(std::span<const std::byte> bytes) {
  RankResult result;
  take(bytes, result.start_ns), take(bytes, result.times), take(bytes, result.outputs);
  return result;
}

void RankResult::add_repeat(const RankRun& run, int rank, std::int64_t start) {
  start_ns.push_back(start);
  for (OpId id : ops_of(run.program.plan(), rank)) times.push_back(run.times[at(id)]);
}

void collect(MpiWorld& world, const RankRun& run, const CountedBytes& counted, RankResult mine, ExecuteResult& result) {
  const Plan& plan = run.program.plan();
  const int repeats = run.options.repeats;
  const auto r = at(world.rank());
  const std::vector<std::int64_t> peak = std::exchange(result.peak_bytes, std::vector<std::int64_t>(at(plan.ranks)));
  const std::vector<std::int64_t> staging =
      std::exchange(result.staging_peak_bytes, std::vector<std::int64_t>(at(plan.ranks)));
  result.peak_bytes[r] = peak[r];
  result.staging_peak_bytes[r] = staging[r];
  result.peak_bytes = world.sum(std::move(result.peak_bytes));
  result.staging_peak_bytes = world.sum(std::move(result.staging_peak_bytes));
  result.traffic = {world.sum(counted.sent), world.sum(counted.received), world.sum(counted.sent_intra_node),
                    world.sum(counted.sent_inter_node)};
  world.measure_clocks();
  const std::vector<std::vector<std::byte>> all = world.gather(mine.pack());
  std::vector<RankResult> of_rank(at(plan.ranks));
  if (world.rank() != 0) {
    of_rank[r] = std::move(mine);
    put_together(world, plan, repeats, of_rank, result);
    return;
  }
  std::vector<std::vector<float>> held;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    of_rank[rank] = RankResult::unpack(all[rank]);
    held.push_back(std::move(of_rank[rank].outputs));
  }
  put_together(world, plan, repeats, of_rank, result);
  result.outputs = run.program.outputs().gather(held);
}

}  // namespace spscope::mpi
