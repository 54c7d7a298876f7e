#include "bench/fit/fitted_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "backend/base/whole_file.h"
#include "backend/config/text_file.h"

namespace spscope {
namespace {

constexpr const char* kFrom = "fitted to published times of whole runs (docs/accuracy.md)";

// The least and the most that a fit to the times of each machine gives, over what is common to all. `ending`: of the
// names of their parameters.
NumberRange range_of_hosts(const Evaluation& e, std::span<const double> values, std::string_view ending) {
  NumberRange range{1, 1};
  for (std::size_t p = e.num_layer_parameters; p < e.parameters.size(); ++p)
    if (e.parameters[p].fitted.name.ends_with(ending))
      range = {std::min(range.low, values[p]), std::max(range.high, values[p])};
  return range;
}

// The least and the most that the host of eager code takes on one machine, over what it takes on all: a factor for each
// machine, fitted to its rows with all else as it is.
NumberRange range_of_eager_hosts(const Evaluation& e, std::span<const double> values) {
  constexpr double kSpread = 0.4;
  std::vector<std::string> hosts;
  std::vector<double> weights(e.rows.size(), 0);
  FitProblem problem;
  problem.measured = e.problem.measured;
  for (std::size_t i = 0; i < e.rows.size(); ++i) {
    // What its source adds is no host's.
    for (std::size_t p = e.parameters.size(); p < values.size(); ++p)
      if (e.problem.affects(i, p)) problem.measured[i] /= values[p];
    if (e.rows[i].choices().implementation != "eager") continue;
    weights[i] = e.weights[i];
    if (std::ranges::find(hosts, host_of(e.rows[i])) == hosts.end()) hosts.push_back(host_of(e.rows[i]));
  }
  for (const std::string& host : hosts) problem.parameters.push_back({host, 1, kSpread});
  problem.affects = [&](std::size_t row, std::size_t host) { return host_of(e.rows[row]) == hosts[host]; };
  problem.predict = [&](std::size_t row, std::span<const double> factors) {
    ClusterPreset cluster = with_values(e.rows[row], e.parameters, values);
    const auto host = std::ranges::find(hosts, host_of(e.rows[row]));
    for (double KernelCostProfile::*number :
         {&KernelCostProfile::host_ns_per_launch, &KernelCostProfile::host_ns_per_collective,
          &KernelCostProfile::host_ns_per_hop})
      cluster.cost.*number *= factors[static_cast<std::size_t>(host - hosts.begin())];
    return e.rows[row].seconds(cluster);
  };
  const Fit found = fit(problem, weights);
  return {std::min(1.0, std::ranges::min(found.values)), std::max(1.0, std::ranges::max(found.values))};
}

double rounded(double value) { return std::stod(fmt::format("{:.3g}", value)); }

// Numbers of `profile` that differ from those built in are fitted ones. `as`: of what they are a copy; "": their own.
template <typename Profile>
void mark_fitted(Profile& profile, Profile built_in, const std::string& as = "") {
  auto numbers = numbers_of(profile), before = numbers_of(built_in);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    SourcedNumber& number = *numbers[i].second;
    if (number.value == before[i].second->value) continue;
    number.value = rounded(number.value);
    number.from = NumberOrigin::kFitted;
    number.source = as.empty() ? kFrom : fmt::format("{}, as {}", kFrom, as);
  }
}

// Rates that are said to be a share of that of FA2 ("0.44 of FA2: ...").
void follow_fa2(GpuProfile& gpu) {
  const AttentionKernelProfile* fa2 = gpu.find_kernel("fa2");
  if (fa2 == nullptr) return;
  const double rate = fa2->tflops.value;
  for (AttentionKernelProfile& kernel : gpu.kernels) {
    const std::string_view source = kernel.tflops.source;
    const std::size_t end = source.find(" of FA2");
    if (end == source.npos) continue;
    const std::size_t begin = source.rfind(' ', end - 1) + 1;  // npos + 1 is 0
    kernel.tflops.value = rounded(std::stod(std::string(source.substr(begin, end - begin))) * rate);
  }
}

// Every parameter that sets a number of this GPU, as far as some row shows it.
GpuProfile fitted_gpu(const Evaluation& e, std::span<const double> values, const std::string& name) {
  RowProfile profile{*find_gpu(name), *find_implementation("eager"), {}};
  std::string as;
  for (std::size_t p = 0; p < e.num_layer_parameters; ++p) {
    const LayerParameter& parameter = e.parameters[p];
    if (std::ranges::find(parameter.gpus, name) == parameter.gpus.end()) continue;
    if (std::ranges::none_of(e.rows, parameter.affects)) continue;
    const bool own = std::ranges::any_of(e.rows, [&](const RowModel& row) { return row.layered().gpu == name; });
    if (!own) as = parameter.gpus.front();
    parameter.apply(profile, values[p]);
  }
  mark_fitted(profile.gpu, *find_gpu(name), as);
  follow_fa2(profile.gpu);
  return profile.gpu;
}

// Every parameter that affects a row of this code, with the range of `hosts` where it is eager, and the times outside
// of the layers, which are one for all code.
ImplementationProfile fitted_code(const Evaluation& e, std::span<const double> values, const NumberRange& hosts,
                                  const std::string& name) {
  ImplementationProfile code = *find_implementation(name);
  for (std::size_t p = 0; p < e.num_layer_parameters; ++p) {
    const auto row = std::ranges::find_if(e.rows, [&](const RowModel& known) {
      return (known.choices().implementation == name || e.parameters[p].fitted.name.starts_with("outside.") ||
              e.parameters[p].fitted.name.starts_with("vae.")) &&
             e.parameters[p].affects(known);
    });
    if (row == e.rows.end()) continue;
    RowProfile profile{*find_gpu(row->layered().gpu), code, {}};
    e.parameters[p].apply(profile, values[p]);
    code = profile.implementation;
  }
  mark_fitted(code, *find_implementation(name));
  if (name == kDefaultImplementation) return code;
  for (auto& [key, number] : numbers_of(code))
    if (key.starts_with("host_us_"))
      number->range = {rounded(number->value * hosts.low), rounded(number->value * hosts.high)};
  return code;
}

// Sets a number of a cluster to what was fitted, with the range that it has, if any.
void set_fitted(ClusterPreset& cluster, const std::string& name, double value, std::optional<NumberRange> range) {
  for (const ClusterFieldRow& field : cluster_fields())
    if (field.name == name) field.ref(cluster) = rounded(value);
  cluster.ranges.erase(name);
  if (range)
    cluster.ranges[name] = {std::min(rounded(range->low), rounded(value)),
                            std::max(rounded(range->high), rounded(value))};
  cluster.sources[name] = kFrom;
  cluster.origins[name] = NumberOrigin::kFitted;
}

// What rates over PCIe differ by from host to host.
std::optional<NumberRange> range_over_pcie(const Evaluation& e, std::span<const double> values, std::string_view name,
                                           double value) {
  constexpr std::string_view kHop = " network.point_to_point.gbps", kOf4 = " network.all_to_all.of_4_gbps",
                             kOf8 = " network.all_to_all.of_8_gbps";
  const bool is_hop = kHop.ends_with(name);
  if (!is_hop && !kOf4.ends_with(name) && !kOf8.ends_with(name)) return std::nullopt;
  const NumberRange of_hosts = range_of_hosts(e, values, is_hop ? kHop : kOf4);
  return NumberRange{value * of_hosts.low, value * of_hosts.high};
}

// The network of a cluster of GPUs: over NVLink hops and the slowdown, over PCIe the rest too, of which rings of other
// collectives take that of a hop. Sparse runs are slowed less than the dense ones that are fitted (db-SP's rings), so
// the range of the slowdown begins at 1.
ClusterPreset fitted_cluster(const Evaluation& e, std::span<const double> values, ClusterPreset cluster) {
  const bool pcie = cluster.network.all_to_all.of_8_gbps > 0;
  constexpr std::string_view kHop = "network.point_to_point.";
  for (std::size_t p = 0; p < e.num_layer_parameters; ++p) {
    const std::string& name = e.parameters[p].fitted.name;
    const double value = values[p], link_gbps = cluster.network.link_gbps;
    if (name == kSlowdown[pcie ? 0 : 1]) set_fitted(cluster, "network.compute_slowdown", value, NumberRange{1, value});
    if (name == kHopShare && !pcie && cluster.network.point_to_point.gbps > 0)
      set_fitted(cluster, "network.point_to_point.gbps", value * link_gbps,
                 NumberRange{value * link_gbps, kMostHopShare * link_gbps});
    if (!pcie || !name.starts_with("network.")) continue;
    set_fitted(cluster, name, value, range_over_pcie(e, values, name, value));
    if (!name.starts_with(kHop)) continue;
    for (const char* ring : {"network.all_gather.", "network.reduce_scatter."}) {
      const std::string same = ring + name.substr(kHop.size());
      set_fitted(cluster, same, value, range_over_pcie(e, values, name, value));
      cluster.sources[same] = "assumption: rings of hops point to point";
      cluster.origins[same] = NumberOrigin::kAssumed;
    }
  }
  return cluster;
}

}  // namespace

FittedProfiles fitted_profiles(const Evaluation& e, std::span<const double> values) {
  FittedProfiles fitted;
  for (const std::string_view gpu : gpu_names()) fitted.gpus.emplace(gpu, fitted_gpu(e, values, std::string(gpu)));
  const NumberRange hosts = range_of_eager_hosts(e, values);
  for (const std::string_view code : implementation_names())
    fitted.codes.emplace(code, fitted_code(e, values, hosts, std::string(code)));
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
