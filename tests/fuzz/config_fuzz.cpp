// A run configuration, and the same as a cluster file; one without problems must read back equal from what is written.
#include <fstream>
#include <iterator>

#include "backend/base/check.h"
#include "backend/config/cluster.h"
#include "backend/config/config_text.h"
#include "tests/fuzz/fuzz_target.h"

namespace spscope::fuzz {

std::vector<std::string> seeds() {
  std::vector<std::string> texts = {
      runnable_toml({}),
      "[run]\nstrategies = [\"usp:ulysses=2,ring=2\", \"dbsp\"]\n[strategy.usp]\nring = 4\n"
      "[mask]\npattern = \"radial\"\n[mask.radial]\ndecay = 1.5\n",
      "model.grid = [1, 2, 3]\n'run'.\"repeats\" = 0x10\nrun.seed = 1_000\n"};
  for (const char* name : {"local", "a800x8", "p4de-x4"}) texts.push_back(cluster_toml(*find_cluster_preset(name)));
  for (const char* name : {"photo.toml", "st-mini.toml", "wan-14b.toml"}) {
    std::ifstream file(std::string(SPSCOPE_SOURCE_DIR) + "/samples/" + name);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

void read_cluster(std::string_view input) {
  const Result<ClusterPreset> preset = parse_cluster(input, "input.toml");
  if (preset.has_value()) SPSCOPE_CHECK(*parse_cluster(cluster_toml(*preset), "again.toml") == *preset);
}

void read(std::string_view input) {
  read_cluster(input);
  const ReadConfig read = parse_config(input, "input.toml");
  const RunConfig& config = read.config;
  // Files that the input names stay closed.
  const bool names_file =
      !config.cluster.profile.empty() || !config.mask.file.empty() || !config.model.activations.empty();
  if (!names_file) validate(config, {}, read.faulty);
  if (!read.problems.empty()) return;
  const ReadConfig again = parse_config(runnable_toml(config), "again.toml");
  SPSCOPE_CHECK(again.problems.empty());
  SPSCOPE_CHECK(names_file || again.config == config);
  SPSCOPE_CHECK(!config.mask.file.empty() || config_hash(again.config) == config_hash(config));
}

}  // namespace spscope::fuzz
