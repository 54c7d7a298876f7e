// Times of single collectives by the schedule, for comparing with nccl-tests: bench/fit/collectives. Each line of the
// input is
//   CLUSTER COLLECTIVE RANKS RANKS_PER_NODE BYTES
// with CLUSTER a preset or a file, COLLECTIVE as nccl-tests names it (alltoall, all_gather, reduce_scatter, all_reduce,
// sendrecv) and BYTES its size: the buffer of one rank, of all_gather the result. Gathers and sums are rings, as the
// strategies make them by default. Each line of the output is a time in nanoseconds.
//
//   echo "h100x8 alltoall 8 8 1048576" | collective_bench
#include <iostream>
#include <sstream>
#include <string>

#include "backend/base/error.h"
#include "backend/schedule/schedule.h"
#include "backend/strategies/collectives.h"

namespace spscope {
namespace {

struct Line {
  std::string cluster, collective;
  int ranks = 0, ranks_per_node = 0;
  std::int64_t bytes = 0;
};

ClusterPreset cluster_of(const std::string& name) {
  if (const ClusterPreset* preset = find_cluster_preset(name)) return *preset;
  auto read = read_profile(name);
  if (!read.has_value()) throw read.error();
  return *std::move(read);
}

// A square of ranks x ranks cells of one tensor, so that heads and tokens divide evenly.
Request request_of(const Line& line) {
  const bool of_one_rank = line.collective == "alltoall" || line.collective == "sendrecv";
  const std::int64_t cells = std::int64_t{line.ranks} * line.ranks * dtype_bytes(Dtype::kBf16);
  const std::int64_t tensor = line.bytes * (of_one_rank ? line.ranks : 1);
  if (tensor % cells != 0) throw Error(ErrorCode::kConfigRange, "the size does not divide by the square of the ranks");
  BlockMask mask(line.ranks, BlockMask::uniform_starts(line.ranks, line.ranks));
  Request request = Request::attention(line.ranks, line.ranks, static_cast<int>(tensor / cells), std::move(mask));
  request.ranks_per_node = line.ranks_per_node;
  request.kernels = {{"w", true, Axis::kHeads, Axis::kHidden, kHiddenState}};
  return request;
}

Plan plan_of(const Line& line, const Request& request) {
  PlanBuilder b(request);
  const auto cut = [&](SetId all, auto&& box) {
    const std::vector<SetId> parts = b.sets().even(all, request.ranks);
    return b.place([&](int rank) { return BoxList{box(parts[static_cast<std::size_t>(rank)])}; });
  };
  const auto tokens_of = [&](Axis axis) {
    return cut(request.all_inner(), [&](SetId t) { return Box{request.all_columns(axis), request.all_outer(), t}; });
  };
  const auto whole_of = [&](Axis axis) { return b.place([&](int) { return BoxList{request.whole(axis)}; }); };
  const Placement heads = cut(request.all_heads(), [&](SetId h) {
    return Box{h, request.all_outer(), request.all_inner()};
  });
  const std::vector<int>& everyone = b.everyone().front();
  const CollectiveAlgorithm ring = CollectiveAlgorithm::kRing;
  if (line.collective == "reduce_scatter" || line.collective == "all_reduce") {
    const ValueId sum = b.linear(b.input(kQueries, heads), "w");
    if (line.collective == "all_reduce")
      all_reduce(b, sum, tokens_of(Axis::kHidden), whole_of(Axis::kHidden), everyone, ring);
    else
      reduce_scatter(b, sum, tokens_of(Axis::kHidden), everyone, ring);
    return b.take();
  }
  const ValueId rows = b.input(kQueries, tokens_of(Axis::kHeads));
  if (line.collective == "alltoall")
    b.reshard(rows, heads);
  else if (line.collective == "all_gather")
    all_gather(b, rows, whole_of(Axis::kHeads), {everyone}, ring);
  else if (line.collective == "sendrecv")
    b.wait(b.shift(rows, b.everyone()));
  else
    throw Error(ErrorCode::kConfigUnknownName, "there is no collective " + line.collective);
  return b.take();
}

int run() {
  std::string text;
  while (std::getline(std::cin, text)) {
    Line line;
    std::istringstream words(text);
    if (!(words >> line.cluster >> line.collective >> line.ranks >> line.ranks_per_node >> line.bytes))
      throw Error(ErrorCode::kConfigType,
                  "a line is CLUSTER COLLECTIVE RANKS RANKS_PER_NODE BYTES, not \"" + text + "\"");
    const ClusterPreset cluster = cluster_of(line.cluster);
    const Request request = request_of(line);
    const Plan plan = plan_of(line, request);
    // Of the collective alone: nccl-tests neither packs nor computes.
    const Network network = Network::from_profile(cluster.network, line.ranks, line.ranks_per_node);
    std::cout << schedule(plan, std::vector<std::int64_t>(plan.ops.size(), 0), network).makespan_ns() << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace spscope

int main() {
  try {
    return spscope::run();
  } catch (const spscope::Error& error) {
    std::cerr << spscope::render(error) << "\n";
    return 1;
  }
}
