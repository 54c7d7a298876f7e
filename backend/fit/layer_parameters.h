// The parameters that fit_bench finds: numbers of the profile layers (GPUs, implementations), each with its prior. None
// belongs to one row or one source. Networks are fitted to collectives alone (bench/fit/collectives).
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/fit/least_squares.h"
#include "backend/fit/row_model.h"

namespace spscope {

// What the parameters of one row set.
struct RowProfile {
  GpuProfile gpu;
  ImplementationProfile implementation;
  ClusterPreset cluster;  // before the layers fill it
};

// The parameter that sets network.point_to_point.gbps over NVLink, a share of link_gbps.
inline constexpr std::string_view kHopShare = "share of link_gbps of hops under attention, NVLink";
// The most that it can be on other hosts: db-SP's ring on 8 H800 attends Wan2.1-14B in 46 s (figure of thu-nics/db-SP),
// so that a layer pass of 50 steps x 40 layers x 2 passes moves its 7 hops of 193.5 MB in 11.5 ms: 118 of 164.8 GB/s.
inline constexpr double kMostHopShare = 0.716;

// The parameters that set network.compute_slowdown. Runs on one kind of link say nothing of the other.
inline constexpr std::string_view kSlowdown[] = {"compute_slowdown, PCIe", "compute_slowdown, NVLink"};

struct LayerParameter {
  FitParameter fitted;
  std::function<bool(const RowModel&)> affects;
  std::function<void(RowProfile&, double value)> apply;
  std::vector<std::string> gpus = {};  // whose profiles it sets, those without a row among them; empty: of none
};

// Those of GPUs are shared by all of one chip, those of code by all implementations that are not compiled, those of the
// network by all clusters with NVLink, without it, or both. Priors are from kernels timed alone and
// from what code is made of, not from the times that are fitted.
std::vector<LayerParameter> layer_parameters();

// The numbers of a row's cluster with these values, by position in `parameters`.
ClusterPreset with_values(const RowModel& row, std::span<const LayerParameter> parameters,
                          std::span<const double> values);

}  // namespace spscope
