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

struct LayerParameter {
  FitParameter fitted;
  std::function<bool(const RowModel&)> affects;
  std::function<void(RowProfile&, double value)> apply;
};

// Those of GPUs are shared by all of one chip, those of code by all implementations that are not compiled, those of the
// network by all clusters with NVLink, without it, or both. Priors are from kernels timed alone and
// from what code is made of, not from the times that are fitted.
std::vector<LayerParameter> layer_parameters();

// The numbers of a row's cluster with these values, by position in `parameters`.
ClusterPreset with_values(const RowModel& row, std::span<const LayerParameter> parameters,
                          std::span<const double> values);

}  // namespace spscope
