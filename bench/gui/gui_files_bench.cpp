// Makes the large files that the limits of the desktop app speak of, and says what the machine can do.
//
//   gui_files_bench events OUT --events N --ranks N   a run of 40 layers and 2 repeats, one lane a rank: shards of the
//                                                     ranks, merged as those of a real run, pyramids included
//   gui_files_bench masks OUT --masks N               N layer passes of 40 heads at 1,184 blocks, each with a mask of
//                                                     its own, stored as bits
//   gui_files_bench names FILE --name TEXT            milliseconds to find a name and to have its statistics, as JSON
//   gui_files_bench mask FILE --layer N --step N      milliseconds of the thumbnails of a layer pass and of its mask,
//                                                     from bits or recipe, as JSON
//   gui_files_bench machine                           FMA peak in GFLOP/s and memory copy in GB/s, as JSON
//
// Each time is the median of 5 with an open reader, as the threads of the window have it.
// bench/gui/measure calls it, and makes what `spscope run` can make (recipes, thousands of layer passes) with that.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/analysis/mask_recipe.h"
#include "backend/base/check.h"
#include "backend/base/clock.h"
#include "backend/base/error.h"
#include "backend/base/median.h"
#include "backend/mask/pattern.h"
#include "backend/store/merge/merge_shards.h"
#include "backend/store/store_reader.h"
#include "backend/store/store_writer.h"
#include "bench/event_shards.h"
#include "bench/flags.h"
#include "kernels/calibrate.h"

namespace spscope {
namespace {

constexpr int kLayers = 40, kRepeats = 2, kHeads = 40, kEventsOfAPass = 976;
constexpr std::int64_t kPassNs = 16'000'000, kGapNs = 60'000;

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const char* what : {"attend head ", "send k head ", "send v head ", "merge head "})
    for (int head = 0; head < kHeads; ++head) names.push_back(what + std::to_string(head));
  for (const char* what :
       {"qkv projection", "norm of q", "norm of k", "rope", "all-to-all q", "all-to-all o", "output projection"})
    names.emplace_back(what);
  return names;
}

// For each head what is sent, attended and merged, and between heads what a layer has besides. Each pass is at its own
// place, so that all ranks are in the same one, and one rank in eight computes a fifth longer than the others.
BenchPasses passes_of(int ranks, std::vector<RunId> runs) {
  BenchPasses passes{.ranks = ranks, .kernels = {}, .run = {}, .begin_ns = {}};
  passes.run = [runs = std::move(runs)](std::int64_t pass) { return runs[static_cast<std::size_t>(pass / kRepeats)]; };
  passes.begin_ns = [](std::int64_t pass, std::int64_t, Rng& jitter) { return pass * kPassNs + jitter.below(40'000); };
  passes.slowness = [](int rank, std::int64_t pass) { return rank % 8 == pass % 8 ? 1.2 : 1.0; };
  for (int i = 0; i < kEventsOfAPass; ++i) {
    const int turn = i / 5, head = turn % kHeads;
    const auto name = [&](int group) { return static_cast<NameId>(1 + group * kHeads + head); };
    const BenchKernel of_turn[] = {{name(1), EventCategory::kTransfer, 3'000, 6'000},
                                   {name(2), EventCategory::kTransfer, 3'000, 6'000},
                                   {name(0), EventCategory::kAttend, 24'000, 0},
                                   {name(3), EventCategory::kRearrange, 2'000, 0},
                                   {static_cast<NameId>(1 + 4 * kHeads + turn % 7), EventCategory::kLocal, 5'000, 0}};
    passes.kernels.push_back(of_turn[i % 5]);
  }
  return passes;
}

std::vector<RunId> write_head(const std::string& path, int ranks, std::int64_t passes) {
  StoreWriter writer = StoreWriter::shard(path, {.kind = ShardKind::kHead, .collection = kBenchCollection});
  const std::int64_t num_runs = (passes + kRepeats - 1) / kRepeats;
  WorkloadRecord workload;
  workload.model = workload.pattern = workload.cluster = "bench";
  workload.scope = "attention";
  workload.ranks = ranks;
  workload.heads = kHeads;
  workload.layers = kLayers;
  workload.denoise_steps = static_cast<int>((num_runs + kLayers - 1) / kLayers);
  StrategyRecord strategy;
  strategy.workload_id = writer.add_workload(workload);
  strategy.id = strategy.name = "ring";
  strategy.label = "ring r" + std::to_string(ranks);
  strategy.meshes = {{1, ranks}};
  strategy.rank_map.resize(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) strategy.rank_map[static_cast<std::size_t>(rank)] = rank / 8;
  const StrategyId id = writer.add_strategy(strategy);
  std::vector<RunId> runs;
  for (std::int64_t i = 0; i < num_runs; ++i) {
    RunRecord run;
    run.strategy_id = id;
    run.layer = static_cast<int>(i % kLayers);
    run.denoise_step = static_cast<int>(i / kLayers);
    run.provenance = {Source::kMeasured, Source::kMeasured, Timing::kClean};
    runs.push_back(writer.add_run(run));
    for (int repeat = 0; repeat < kRepeats; ++repeat)
      writer.add_repeat(runs.back(), {.repeat = repeat,
                                      .begin_ns = (i * kRepeats + repeat) * kPassNs,
                                      .makespan_ns = kPassNs - kGapNs,
                                      .has_timeline = true});
  }
  for (int rank = 0; rank < ranks; ++rank) writer.add_rank_clock({rank, {}});
  writer.checkpoint();
  writer.finish();
  return runs;
}

void make_events(const std::string& out, std::int64_t num_events, int ranks) {
  const std::string folder = out + ".shards";
  std::filesystem::create_directories(folder);
  const std::int64_t of_a_rank = (num_events + ranks - 1) / ranks;
  std::vector<std::string> shards = {folder + "/head.db"};
  const BenchPasses passes =
      passes_of(ranks, write_head(shards.front(), ranks, (of_a_rank + kEventsOfAPass - 1) / kEventsOfAPass));
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t count = num_events / ranks + (rank < num_events % ranks);
    shards.push_back(folder + "/rank-" + std::to_string(rank) + ".db");
    write_bench_shard(shards.back(), rank, kernel_names(), passes, count);
  }
  OutputFile file(out, true);
  const MergeReport report = merge_shards(file, shards, {.tool_version = "bench"});
  std::filesystem::remove_all(folder);
  SPSCOPE_CHECK(report.events == num_events && report.lost == 0);
}

// A mask with the heads of another in turn: as large and as dense, with content of its own.
BlockMask turned(const BlockMask& mask, int by) {
  const auto starts = mask.block_starts();
  BlockMask result(mask.heads(), {starts.begin(), starts.end()});
  for (int head = 0; head < mask.heads(); ++head)
    for (std::int32_t q = 0; q < mask.coarse_blocks(); ++q)
      std::ranges::copy(mask.row((head + by) % mask.heads(), q), result.mutable_row(head, q).begin());
  return result;
}

void make_masks(const std::string& out, int num_masks) {
  StoreWriter writer(out, {.force = true, .tool_version = "bench"});
  WorkloadRecord workload;
  workload.model = workload.pattern = workload.cluster = "bench";
  workload.scope = "attention";
  workload.heads = kHeads;
  workload.layers = kLayers;
  workload.denoise_steps = (num_masks + kLayers - 1) / kLayers;
  const WorkloadId id = writer.add_workload(workload);
  StrategyRecord strategy;
  strategy.workload_id = id;
  strategy.id = strategy.name = strategy.label = "single";
  strategy.meshes = {{1, 1}};
  RunRecord run;
  run.strategy_id = writer.add_strategy(strategy);
  PatternRequest request;
  request.heads = kHeads;
  request.grid = {16, 64, 74};
  request.density = 0.3;
  const Pattern* pattern = find_pattern("sparge");
  SPSCOPE_CHECK(pattern != nullptr);
  request.parameters = Parameters(pattern->parameters());
  BlockMask mask;
  for (int i = 0; i < num_masks; ++i) {
    if (i % kHeads == 0) {
      request.seed = static_cast<std::uint64_t>(1 + i / kHeads);
      mask = pattern->generate(request);
      SPSCOPE_CHECK(mask.coarse_blocks() == 1184);
    }
    run.layer = i % kLayers;
    run.denoise_step = i / kLayers;
    run.density = mask.density();
    writer.place_mask(
        id, {run.layer, run.denoise_step, AttendedAxis::kInner, writer.add_mask(turned(mask, i % kHeads), "")});
    writer.add_repeat(writer.add_run(run), {.repeat = 0, .makespan_ns = 1'000'000 + i});
  }
  writer.finish();
}

template <typename Ask>
double median_ms(const Ask& ask) {
  std::vector<double> samples;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t begin_ns = now_ns();
    SPSCOPE_CHECK(ask());
    samples.push_back(static_cast<double>(now_ns() - begin_ns) * 1e-6);
  }
  return median(samples);
}

void ask_names(const std::string& path, const std::string& name) {
  const StoreReader reader(path);
  const double found = median_ms([&] { return !reader.find_name(name).empty(); });
  const double statistics = median_ms([&] { return reader.name_statistics({.name = name}).all.count > 0; });
  std::cout << "{\"find_ms\": " << found << ", \"statistics_ms\": " << statistics << "}\n";
}

void ask_mask(const std::string& path, int layer, int step) {
  const StoreReader reader(path);
  const WorkloadId workload = reader.workloads().at(0).workload_id;
  const double thumbnails = median_ms([&] {
    const std::vector<MaskPlace> places = reader.mask_places(workload);
    const auto place =
        std::ranges::find_if(places, [&](const MaskPlace& p) { return p.layer == layer && p.denoise_step == step; });
    return place != places.end() && reader.thumbnails(place->mask_id).size() == kHeads;
  });
  const double mask =
      median_ms([&] { return stored_mask(reader, workload, layer, step, AttendedAxis::kInner)->heads() == kHeads; });
  std::cout << "{\"thumbnails_ms\": " << thumbnails << ", \"mask_ms\": " << mask << "}\n";
}

int run(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (argc == 2 && what == "machine") {
    std::cout << "{\"fma_gflops\": " << kernels::measure_fma_gflop_per_s()
              << ", \"copy_gbps\": " << kernels::measure_copy_gbps() << "}\n";
    return 0;
  }
  std::int64_t events = 10'000'000;
  int ranks = 64, masks = 500, layer = 0, step = 0;
  std::string name = "attend head 7";
  const bool understood = argc > 2 && read_flags(argc - 2, argv + 2,
                                                 {{"--events", &events, 1, INT64_MAX},
                                                  {"--ranks", &ranks, 1, 4096},
                                                  {"--masks", &masks, 1, 10'000},
                                                  {"--name", &name},
                                                  {"--layer", &layer, 0},
                                                  {"--step", &step, 0}});
  if (understood && what == "events" && events >= ranks) {
    make_events(argv[2], events, ranks);
  } else if (understood && what == "masks") {
    make_masks(argv[2], masks);
  } else if (understood && what == "names") {
    ask_names(argv[2], name);
  } else if (understood && what == "mask") {
    ask_mask(argv[2], layer, step);
  } else {
    std::cerr << "usage: gui_files_bench events OUT [--events N] [--ranks N] | masks OUT [--masks N] |\n"
                 "       names FILE [--name TEXT] | mask FILE [--layer N] [--step N] | machine\n";
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  try {
    return spscope::run(argc, argv);
  } catch (const spscope::Error& error) {
    std::cerr << spscope::render(error) << "\n";
    return 1;
  }
}
