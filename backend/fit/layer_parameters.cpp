#include "backend/fit/layer_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/base/check.h"

namespace spscope {
namespace {

// Standard deviations of logarithms: of a rate that kernels alone were timed at, of one that only whole runs show, and
// of what differs between code bases.
constexpr double kTimedAlone = 0.06, kOfLayers = 0.1, kOfCode = 0.45;

template <typename Profile>
SourcedNumber* number_of(Profile& profile, const std::string& key) {
  for (auto& [name, number] : numbers_of(profile))
    if (name == key) return number;
  return nullptr;
}

const std::string& implementation_of(const RowModel& row) { return row.choices().implementation; }

LayerParameter of_gpus(const std::string& key, const std::vector<std::string>& gpus, double prior, double spread) {
  return {{fmt::format("{}.{}", gpus.front(), key), prior, spread},
          [=](const RowModel& row) {
            if (std::ranges::find(gpus, row.layered().gpu) == gpus.end()) return false;
            if (!key.starts_with("kernel.")) return true;
            const std::string& kernel = row.choices().attention_kernel;
            return key.starts_with(
                fmt::format("kernel.{}.", kernel.empty() ? find_gpu(gpus.front())->dense_kernel : kernel));
          },
          [=](RowProfile& profile, double value) {
            if (SourcedNumber* number = number_of(profile.gpu, key)) number->value = value;
          },
          gpus};
}

// `official` follows `eager` by the ratio that both have now.
LayerParameter of_code(const std::string& key, bool compiled, double prior) {
  const std::string name = compiled ? "compiled" : "eager";
  return {{fmt::format("{}.{}", name, key), prior, kOfCode},
          [=](const RowModel& row) { return (implementation_of(row) == "compiled") == compiled; },
          [=](RowProfile& profile, double value) { number_of(profile.implementation, key)->value = value; }};
}

// Code that is neither fused nor of diffusers: its passes over those of eager code.
LayerParameter of_official() {
  return {{"official over eager passes", 1.3, kOfCode},
          [](const RowModel& row) { return implementation_of(row) == "official"; },
          [](RowProfile& profile, double value) {
            for (const char* key : {"elementwise_passes", "rotary_passes"})
              number_of(profile.implementation, key)->value *= value;
          }};
}

LayerParameter of_outside(const std::string& key, bool video, double prior) {
  return {
      {key, prior, kOfCode},
      [=](const RowModel& row) { return row.row().scope == TimingScope::kEndToEnd && is_video(row.row()) == video; },
      [=](RowProfile& profile, double value) { number_of(profile.implementation, key)->value = value; }};
}

LayerParameter of_vae(std::string_view vae, double prior) {
  const std::string key = fmt::format("vae.{}.mpixel_s", vae);
  return {{key, prior, kOfCode},
          [=](const RowModel& row) {
            return row.row().scope == TimingScope::kEndToEnd && vae_of(row.choices().model) == vae;
          },
          [=](RowProfile& profile, double value) { number_of(profile.implementation, key)->value = value; }};
}

// A number of the network of every cluster that it affects.
LayerParameter of_network(const std::string& name, double prior, double spread,
                          std::function<bool(const TimingRow&)> affects) {
  return {{name, prior, spread},
          [affects = std::move(affects)](const RowModel& row) { return affects(row.row()); },
          [name](RowProfile& profile, double value) {
            for (const ClusterFieldRow& field : cluster_fields())
              if (field.name == name) field.ref(profile.cluster) = value;
            // Over PCIe other collectives are rings of hops.
            NetworkProfile& network = profile.cluster.network;
            if (name.starts_with("network.point_to_point."))
              network.all_gather = network.reduce_scatter = network.point_to_point;
          }};
}

// Hops of rings share memory and multiprocessors with the attention that they are under.
LayerParameter of_slowdown(bool nvlink) {
  return {{std::string(kSlowdown[nvlink ? 1 : 0]), 2, 0.3},
          [=](const RowModel& row) { return row.row().gpus > 1 && row.row().nvlink() == nvlink; },
          [](RowProfile& profile, double value) { profile.cluster.network.compute_slowdown = value; }};
}

// Over NVLink a hop shares memory with the attention that it is under, so that it is slower than one by itself: the
// share of link_gbps that it reaches.
LayerParameter of_nvlink_hops() {
  return {{std::string(kHopShare), 0.8, kOfCode},
          [](const RowModel& row) { return row.row().nvlink() && row.row().gpus > 1; },
          [](RowProfile& profile, double value) {
            profile.cluster.network.point_to_point.gbps = value * profile.cluster.network.link_gbps;
          }};
}

// Over PCIe, where bandwidths are round numbers between what one switch and what two sockets let through. CPUs of two
// sockets are joined alike in all hosts, by links of about 20 GB/s one way.
std::vector<LayerParameter> pcie_parameters() {
  constexpr double kOfOneSwitch = 0.2, kOfHosts = 0.4, kOfStart = 0.5;
  const auto pcie = [](const TimingRow& row) { return row.gpus > 1 && !row.nvlink(); };
  return {of_network("network.point_to_point.t0_ns", 100e3, kOfStart, pcie),
          of_network("network.point_to_point.gbps", 12, kOfHosts, pcie),
          of_network("network.socket_gbps", 20, kOfOneSwitch, pcie),
          of_network("network.all_to_all.t0_ns", 100e3, kOfStart, pcie),
          of_network("network.all_to_all.gbps", 20, kOfOneSwitch, pcie),
          of_network("network.all_to_all.of_4_gbps", 18, kOfHosts, pcie),
          of_network("network.all_to_all.of_8_gbps", 2, kOfHosts, pcie)};
}

// GPUs of one chip with what their kernels reach alone (bench/measured/attention.csv, breakdown.csv): of the peak of
// matrix products, and TFLOP/s of attention by kernel.
struct ChipPrior {
  std::vector<std::string> gpus;
  double matmul_share;
  std::vector<std::pair<std::string, double>> kernels;
};

const std::vector<ChipPrior>& chip_priors() {
  static const std::vector<ChipPrior> chips = {
      {{"a100", "a100-pcie", "a800"}, 0.72, {{"fa2", 205}}},
      {{"h100", "h200", "h800"}, 0.67, {{"fa2", 350}, {"fa3", 650}, {"sage2", 880}, {"xformers", 175}}},
      {{"h20"}, 0.85, {{"fa2", 90}}},
      {{"l20"}, 0.8, {{"fa2", 111}}},
      {{"l40"}, 0.75, {{"fa2", 155}}},
      {{"4090"}, 0.8, {{"fa2", 165}}}};
  return chips;
}

// What code adds around its kernels: round numbers from what its kernels do, of fused and of eager code.
struct CodePrior {
  const char* key;
  double compiled, eager;
};
constexpr CodePrior kCodePriors[] = {{"elementwise_passes", 1.2, 4}, {"rotary_passes", 1.2, 12},
                                     {"merge_passes", 1.5, 4},       {"pack_passes", 1, 2},
                                     {"host_us_per_launch", 3, 12},  {"host_us_per_collective", 30, 120},
                                     {"host_us_per_hop", 50, 100}};

}  // namespace

std::vector<LayerParameter> layer_parameters() {
  std::vector<LayerParameter> parameters;
  for (const ChipPrior& chip : chip_priors()) {
    parameters.push_back(of_gpus("matmul_share", chip.gpus, chip.matmul_share, kOfLayers));
    for (const auto& [kernel, tflops] : chip.kernels)
      parameters.push_back(of_gpus(fmt::format("kernel.{}.tflops", kernel), chip.gpus, tflops,
                                   chip.gpus.front() == "l40" || kernel == "xformers" ? kOfLayers : kTimedAlone));
  }
  for (const CodePrior& prior : kCodePriors) {
    parameters.push_back(of_code(prior.key, true, prior.compiled));
    parameters.push_back(of_code(prior.key, false, prior.eager));
  }
  for (LayerParameter& parameter : pcie_parameters()) parameters.push_back(std::move(parameter));
  for (const bool nvlink : {true, false}) parameters.push_back(of_slowdown(nvlink));
  parameters.push_back(of_nvlink_hops());
  parameters.push_back(of_official());
  parameters.push_back(of_outside("outside.image.per_run_s", false, 0.25));
  parameters.push_back(of_outside("outside.video.per_run_s", true, 5));
  constexpr std::pair<std::string_view, double> kVaePriors[] = {
      {kVaeOfFrames, 0.12}, {kVaeOfWan, 0.5}, {kVaeOfCogvideox, 0.5}, {kVaeOfVideos, 0.5}};
  for (const auto& [vae, seconds] : kVaePriors) parameters.push_back(of_vae(vae, seconds));
  return parameters;
}

ClusterPreset with_values(const RowModel& row, std::span<const LayerParameter> parameters,
                          std::span<const double> values) {
  const std::string& implementation = implementation_of(row);
  RowProfile profile{*find_gpu(row.layered().gpu),
                     *find_implementation(implementation.empty() ? kDefaultImplementation : implementation),
                     row.layered()};
  for (std::size_t p = 0; p < parameters.size(); ++p)
    if (parameters[p].affects(row)) parameters[p].apply(profile, values[p]);
  resolve_profiles(profile.cluster, profile.gpu, profile.implementation, row.choices());
  return std::move(profile.cluster);
}

}  // namespace spscope
