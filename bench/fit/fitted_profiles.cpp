#include "bench/fit/fitted_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backend/base/whole_file.h"
#include "backend/config/text_file.h"

namespace spscope {
namespace {

constexpr const char* kFrom = "fitted to published times of whole runs (docs/accuracy.md)";

double rounded(double value) { return std::stod(fmt::format("{:.3g}", value)); }

// Numbers of `profile` that differ from those built in are fitted ones.
template <typename Profile>
void mark_fitted(Profile& profile, Profile built_in) {
  auto numbers = numbers_of(profile), before = numbers_of(built_in);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    SourcedNumber& number = *numbers[i].second;
    if (number.value == before[i].second->value) continue;
    number.value = rounded(number.value);
    number.from = NumberOrigin::kFitted;
    number.source = kFrom;
  }
}

// Every parameter that affects a row of this GPU; those of code change nothing here.
GpuProfile fitted_gpu(const Evaluation& e, std::span<const double> values, const std::string& name) {
  RowProfile profile{*find_gpu(name), *find_implementation("eager"), {}};
  for (std::size_t p = 0; p < e.num_layer_parameters; ++p)
    if (std::ranges::any_of(
            e.rows, [&](const RowModel& row) { return row.layered().gpu == name && e.parameters[p].affects(row); }))
      e.parameters[p].apply(profile, values[p]);
  mark_fitted(profile.gpu, *find_gpu(name));
  return profile.gpu;
}

// Every parameter that affects a row of this code, and the times outside of the layers, which are one for all code.
ImplementationProfile fitted_code(const Evaluation& e, std::span<const double> values, const std::string& name) {
  ImplementationProfile code = *find_implementation(name);
  for (std::size_t p = 0; p < e.num_layer_parameters; ++p) {
    const auto row = std::ranges::find_if(e.rows, [&](const RowModel& known) {
      return (known.choices().implementation == name || e.parameters[p].fitted.name.starts_with("outside.")) &&
             e.parameters[p].affects(known);
    });
    if (row == e.rows.end()) continue;
    RowProfile profile{*find_gpu(row->layered().gpu), code, {}};
    e.parameters[p].apply(profile, values[p]);
    code = profile.implementation;
  }
  mark_fitted(code, *find_implementation(name));
  return code;
}

// The network of a cluster of GPUs: what is fitted of NVLink and PCIe alike, and over PCIe the rest, of which rings of
// other collectives take that of a hop. Ranges keep their distance.
ClusterPreset fitted_cluster(const Evaluation& e, std::span<const double> values, ClusterPreset cluster) {
  const bool pcie = cluster.network.all_to_all.of_8_gbps > 0;
  const auto set = [&](const std::string& name, double value) {
    for (const ClusterFieldRow& field : cluster_fields()) {
      if (field.name != name) continue;
      double& number = field.ref(cluster);
      if (const auto range = cluster.ranges.find(name); range != cluster.ranges.end())
        range->second = {rounded(range->second.low * value / number), rounded(range->second.high * value / number)};
      number = value;
    }
    cluster.sources[name] = kFrom;
    cluster.origins[name] = NumberOrigin::kFitted;
  };
  constexpr std::string_view kHop = "network.point_to_point.";
  for (std::size_t p = 0; p < e.num_layer_parameters; ++p) {
    const std::string& name = e.parameters[p].fitted.name;
    if (name == kHopShare && !pcie && cluster.network.point_to_point.gbps > 0)
      set("network.point_to_point.gbps", rounded(values[p] * cluster.network.link_gbps));
    if (!name.starts_with("network.") || (!pcie && name != "network.compute_slowdown")) continue;
    set(name, rounded(values[p]));
    if (!name.starts_with(kHop)) continue;
    for (const char* ring : {"network.all_gather.", "network.reduce_scatter."}) {
      const std::string same = ring + name.substr(kHop.size());
      set(same, rounded(values[p]));
      cluster.sources[same] = "assumption: rings of hops point to point";
      cluster.origins[same] = NumberOrigin::kAssumed;
    }
  }
  return cluster;
}

}  // namespace

FittedProfiles fitted_profiles(const Evaluation& e, std::span<const double> values) {
  FittedProfiles fitted;
  for (const GpuProfile& gpu : gpu_profiles()) fitted.gpus.emplace(gpu.name, fitted_gpu(e, values, gpu.name));
  for (const ImplementationProfile& code : implementation_profiles())
    fitted.codes.emplace(code.name, fitted_code(e, values, code.name));
  for (const RowModel& row : e.rows)
    fitted.clusters.emplace(row.layered().name, fitted_cluster(e, values, row.layered()));
  return fitted;
}

double seconds_with(const RowModel& row, const FittedProfiles& fitted) {
  ClusterPreset cluster = fitted.clusters.at(row.layered().name);
  const std::string& code = row.choices().implementation;
  resolve_profiles(cluster, fitted.gpus.at(cluster.gpu),
                   fitted.codes.at(code.empty() ? std::string(kDefaultImplementation) : code), row.choices());
  return row.seconds(cluster);
}

void write_layers(const std::string& root, const FittedProfiles& fitted) {
  for (const auto& [name, gpu] : fitted.gpus)
    write_whole_file(fmt::format("{}/backend/config/gpus/{}.toml", root, name), gpu_toml(gpu));
  for (const auto& [name, code] : fitted.codes)
    write_whole_file(fmt::format("{}/backend/config/implementations/{}.toml", root, name), implementation_toml(code));
}

void write_clusters(const std::string& folder, const Evaluation& e, std::span<const double> values) {
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const Result<ClusterPreset> cluster = read_profile(file.path().string());
    if (!cluster) throw cluster.error();
    if (!cluster->layered) continue;
    ClusterPreset fitted = fitted_cluster(e, values, *cluster);
    // What the file leaves to the GPU's profile, it still does.
    const std::string text = *read_text_file(file.path().string(), 1 << 20);
    if (text.find("\nattention_kernel") == text.npos) fitted.attention_kernel.clear();
    if (text.find("\nimplementation") == text.npos) fitted.implementation.clear();
    write_profile(file.path().string(), fitted);
  }
}

}  // namespace spscope
