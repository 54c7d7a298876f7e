// What was set otherwise for two stored runs: every key of their configs and clusters that differs.
#pragma once

#include <string>
#include <vector>

#include "backend/store/records.h"

namespace spscope {

struct ChangedSetting {
  std::string key;            // "run.dtype", "cluster network.link_gbps"
  std::string before, after;  // as TOML; "" where a side does not have the key
};

// In order of their keys, those of the config first. Sources and notes of a cluster's numbers are not settings.
std::vector<ChangedSetting> changed_settings(const WorkloadRecord& before, const WorkloadRecord& after);

}  // namespace spscope
