// The config of a published or own time: the run that `spscope run` simulates to predict it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backend/fit/timing_row.h"

namespace spscope {

// Keys of a config with their values, in the order in which a file has them.
using ConfigKeys = std::vector<std::pair<std::string, std::string>>;

// The keys that say what ran. `cluster`: a preset, or a profile when it ends with .toml; "": cluster_of(row).
// With dense masks layers of one kind are alike, so one of each kind runs. The guidance passes of a step are one batch
// in eager code (model.passes_in_batch) and follow each other in other code; with cfg_parallel they run at once on
// parts of the GPUs.
ConfigKeys row_config(const TimingRow& row, const std::string& cluster = "");
// "h100x8", or "clusters/l40-pcie.toml" where there is no preset of this GPU and interconnect.
std::string cluster_of(const TimingRow& row);
// Writes that file into `folder`: a host whose GPUs are connected by PCIe has the network of the preset l40sx8,
// whatever its GPUs. Writes nothing where cluster_of() is a preset. Throws Error.
void write_cluster_of(const TimingRow& row, const std::string& folder);
bool is_video(const TimingRow& row);
// "l20" of "L20", "a100" of "A100/A800": the name of the GPU's profile.
std::string gpu_of(const TimingRow& row);

// As settings for load_job().
std::vector<std::string> settings_of(const ConfigKeys& keys);

}  // namespace spscope
