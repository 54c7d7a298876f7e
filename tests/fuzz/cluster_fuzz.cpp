// A cluster file; one without problems must read back equal from what the program writes of it.
#include "backend/base/check.h"
#include "backend/config/cluster.h"
#include "tests/fuzz/fuzz_target.h"

namespace spscope::fuzz {

std::vector<std::string> seeds() {
  std::vector<std::string> texts;
  for (const std::string_view name : {"local", "a800x8", "p4de-x4"})
    texts.push_back(cluster_toml(*find_cluster_preset(name)));
  return texts;
}

void read(std::string_view input) {
  Result<ClusterPreset> preset = parse_cluster(input, "input.toml");
  if (!preset.has_value()) return;
  Result<ClusterPreset> again = parse_cluster(cluster_toml(*preset), "again.toml");
  SPSCOPE_CHECK(again.has_value());
  SPSCOPE_CHECK(*again == *preset);
}

}  // namespace spscope::fuzz
