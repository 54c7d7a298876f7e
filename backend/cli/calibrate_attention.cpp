#include "backend/cli/calibrate_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <ostream>

#include "backend/base/json.h"
#include "backend/cli/calibrate_fit.h"
#include "backend/config/cluster.h"
#include "backend/config/model.h"
#include "backend/execute/calibrate/calibrate.h"
#include "backend/fit/table_row.h"

namespace spscope {
namespace {

constexpr std::array<std::string_view, 4> kRequired = {"tokens", "block", "density", "ms"};
constexpr int kHeadDim = 128;
// With fewer times all of each is taken for that of its pairs.
constexpr std::size_t kTimesOfFit = 3;

AttentionTime time_of(const CsvTable& table, std::size_t number, std::vector<Problem>& problems) {
  const std::size_t known = problems.size();
  const TableRow cells(table, number, problems);
  const AttentionTime time{.tokens = cells.count("tokens", 0),
                           .heads = cells.count("heads", 1),
                           .head_dim = cells.count("head_dim", kHeadDim),
                           .block = cells.count("block", 0),
                           .density = cells.positive("density"),
                           .ms = {cells.positive("ms")}};
  if (problems.size() != known) return time;
  const auto refuse = [&](const char* column, std::string message, std::string hint) {
    problems.push_back({ErrorCode::kConfigType, column, std::move(message), std::move(hint), cells.place()});
  };
  if (time.block < 1 || time.block > time.tokens)
    refuse("block", fmt::format("a block of {} tokens is no part of {} tokens", time.block, time.tokens),
           "write the tokens of the sequence, and those of a block of its mask");
  if (time.density > 1)
    refuse("density", fmt::format("density \"{:g}\" is above 1", time.density),
           "write the active share of the blocks, such as 0.3");
  return time;
}

std::vector<AttentionTime> read_times(const std::string& path) {
  const Result<CsvTable> table = read_table(path);
  if (!table) throw table.error();
  std::vector<Problem> problems = missing_columns(*table, kRequired);
  std::vector<AttentionTime> times;
  if (problems.empty())
    for (std::size_t i = 0; i < table->rows.size(); ++i) times.push_back(time_of(*table, i, problems));
  if (problems.empty() && times.empty())
    problems.push_back({ErrorCode::kConfigType, "", "the table has no rows", "", {path, 1, 1}});
  if (!problems.empty()) throw Error(std::move(problems));
  return times;
}

// Launches, query rows, active pairs x head_dim: the terms of KernelCostProfile::attend_ns().
FitSample sample_of(const AttentionTime& time, bool only_pairs) {
  const double rows = static_cast<double>(time.heads) * time.tokens;
  const double pairs = rows * time.tokens * time.density;
  const double others = only_pairs ? 0 : 1;
  return {{others, others * rows, pairs * time.head_dim}, time.ms.value * 1e6};
}

LinearFit fit_of(const std::vector<AttentionTime>& times, const std::string& path) {
  std::vector<FitSample> samples;
  for (const AttentionTime& time : times) samples.push_back(sample_of(time, times.size() < kTimesOfFit));
  LinearFit fit = fit_non_negative(samples);
  if (fit.coefficients[2] > 0) return fit;
  throw Error({{ErrorCode::kConfigType,
                "ms",
                "the times do not grow with the active pairs",
                "give times of other densities and lengths",
                {path, 1, 1}}});
}

ClusterPreset preset_of(const std::string& cluster, const std::string& model) {
  if (cluster.empty())
    throw Error(ErrorCode::kUsage, "--attention needs a cluster, whose other numbers stay as they are",
                "give --cluster a preset (spscope list clusters) or a profile");
  RunConfig config;
  (cluster.ends_with(".toml") ? config.cluster.profile : config.cluster.preset) = cluster;
  if (!model.empty()) config.model.preset = model;
  std::vector<Problem> problems;
  resolve_model(config.model, problems);
  const Cluster resolved = resolve_cluster(config, problems);
  if (!problems.empty()) throw Error(std::move(problems));
  if (resolved.layered && model.empty())
    throw Error(ErrorCode::kUsage,
                "--attention needs a model, which decides what norms, VAE and text encoder of the profile cost",
                "give --model a preset (spscope list models)");
  return resolved.preset;
}

// With the kernel's numbers in the place of those that it has.
ClusterPreset with_kernel(ClusterPreset preset, const std::string& kernel, const LinearFit& fit) {
  const std::string source = fmt::format(
      "calibrate --attention: {} times, off by {:.0f} % in the median and {:.0f} % "
      "at most",
      fit.quality.num_samples, 100 * fit.quality.median_relative_residual, 100 * fit.quality.max_relative_residual);
  KernelCostProfile& cost = preset.cost;
  cost.provenance = Provenance::kFitted;
  cost.attend_ns_per_launch = fit.coefficients[0];
  cost.attend_ns_per_row = fit.coefficients[1];
  cost.attend_ns_per_pair_channel = fit.coefficients[2];
  for (const char* const number :
       {"cost.attend_ns_per_launch", "cost.attend_ns_per_row", "cost.attend_ns_per_pair_channel"}) {
    preset.sources[number] = source;
    preset.origins[number] = NumberOrigin::kFitted;
    preset.ranges.erase(number);
  }
  cost.attend_ramp_keys = 0;  // in the times of rows
  cost.attend_head_dim_multiple = 1;
  for (const char* const number : {"cost.attend_ramp_keys", "cost.attend_head_dim_multiple"}) {
    preset.sources.erase(number);
    preset.origins.erase(number);
    preset.ranges.erase(number);
  }
  preset.name += " with " + kernel;
  preset.attention_kernel = kernel;
  return preset;
}

double fitted_ms(const AttentionTime& time, const LinearFit& fit) {
  const FitSample sample = sample_of(time, false);
  double ns = 0;
  for (std::size_t i = 0; i < sample.terms.size(); ++i) ns += fit.coefficients[i] * sample.terms[i];
  return ns * 1e-6;
}

Json to_json(const ClusterPreset& preset, const std::vector<AttentionTime>& times, const LinearFit& fit,
             const std::string& output) {
  Json rows = Json::array();
  for (const AttentionTime& time : times)
    rows.push_back({{"tokens", time.tokens},
                    {"heads", time.heads},
                    {"head_dim", time.head_dim},
                    {"block", time.block},
                    {"density", time.density},
                    {"measured_ms", time.ms.value},
                    {"fitted_ms", fitted_ms(time, fit)}});
  return {{"schema_version", 1},
          {"name", preset.name},
          {"kernel", preset.attention_kernel},
          {"numbers",
           {{"cost.attend_ns_per_launch", preset.cost.attend_ns_per_launch},
            {"cost.attend_ns_per_row", preset.cost.attend_ns_per_row},
            {"cost.attend_ns_per_pair_channel", preset.cost.attend_ns_per_pair_channel}}},
          {"times", std::move(rows)},
          {"file", output}};
}

void print_text(std::ostream& out, const ClusterPreset& preset, const std::vector<AttentionTime>& times,
                const LinearFit& fit) {
  out << fmt::format("{:>8} {:>6} {:>9} {:>6} {:>8} {:>12} {:>12} {:>7}\n", "tokens", "heads", "head_dim", "block",
                     "density", "measured", "fitted", "error");
  for (const AttentionTime& time : times) {
    const double ms = fitted_ms(time, fit);
    out << fmt::format("{:>8} {:>6} {:>9} {:>6} {:>8.3g} {:>9.4g} ms {:>9.4g} ms {:>+5.0f} %\n", time.tokens,
                       time.heads, time.head_dim, time.block, time.density, time.ms.value, ms,
                       100 * (ms / time.ms.value - 1));
  }
  // One pair and channel is 4 FLOPs.
  out << fmt::format("\n{}: {:.1f} TFLOP/s on long rows\n", preset.attention_kernel,
                     4e-3 / preset.cost.attend_ns_per_pair_channel);
}

}  // namespace

int take_attention(CommandContext& context, const std::string& table, const std::string& cluster,
                   const std::string& model, const std::string& output) {
  const ClusterPreset base = preset_of(cluster, model);
  const std::vector<AttentionTime> times = read_times(table);
  const LinearFit fit = fit_of(times, table);
  const ClusterPreset preset = with_kernel(base, std::filesystem::path(table).stem().string(), fit);
  if (!output.empty()) write_profile(output, preset);
  if (context.json) {
    context.out << fmt::format("{}\n", to_json(preset, times, fit, output).dump(2));
    return kExitDone;
  }
  print_text(context.out, preset, times, fit);
  say_where_profile_is(context, output);
  return kExitDone;
}

}  // namespace spscope
