// The profiles of GPUs, code and clusters that fitted values make, as the program has them built in: each number to
// three digits.
#pragma once

#include <map>
#include <span>
#include <string>

#include "bench/fit/evaluation.h"

namespace spscope {

struct FittedProfiles {
  std::map<std::string, GpuProfile> gpus;
  std::map<std::string, ImplementationProfile> codes;
  std::map<std::string, ClusterPreset> clusters;  // layered
};
FittedProfiles fitted_profiles(const Evaluation& e, std::span<const double> values);

// As the program predicts with the files that are written.
double seconds_with(const RowModel& row, const FittedProfiles& fitted);

// Files of GPUs and code. `root`: the repository.
void write_layers(const std::string& root, const FittedProfiles& fitted);
// Every cluster file of a folder that leaves numbers to the layers.
void write_clusters(const std::string& folder, const Evaluation& e, std::span<const double> values);

}  // namespace spscope
