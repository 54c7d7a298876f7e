#include "backend/analysis/changed_settings.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

std::string text_of(const std::vector<ChangedSetting>& settings) {
  std::string text;
  for (const ChangedSetting& s : settings) text += s.key + ": " + s.before + " -> " + s.after + "\n";
  return text;
}

TEST(ChangedSettings, AreEveryKeyThatDiffersWithBothValues) {
  WorkloadRecord a, b;
  a.config_toml = "[run]\ndtype = \"bf16\"\nrepeats = 5\nstrategies = [\"ring\"]\n[mask]\ndensity = 0.5\n";
  b.config_toml =
      "[mask]\ndensity = 0.25\n[run]\ndtype = \"fp32\"\nrepeats = 5\nstrategies = [\"ring\", \"usp\"]\nseed = 3\n";
  a.cluster_toml = "name = \"h100\"\nnote = \"x\"\n[network]\nlink_gbps = { value = 370.8, source = \"old\" }\n";
  b.cluster_toml = "name = \"h100\"\nnote = \"y\"\n[network]\nlink_gbps = { value = 185.4, source = \"new\" }\n";
  EXPECT_EQ(text_of(changed_settings(a, b)),
            "mask.density: 0.5 -> 0.25\n"
            "run.dtype: \"bf16\" -> \"fp32\"\n"
            "run.seed:  -> 3\n"
            "run.strategies: [\"ring\"] -> [\"ring\", \"usp\"]\n"
            "cluster network.link_gbps: 370.8 -> 185.4\n");
  EXPECT_TRUE(changed_settings(a, a).empty());
}

TEST(ChangedSettings, TextsThatAreNoTomlDifferAsAWhole) {
  WorkloadRecord a, b;
  a.config_toml = "= 1";
  b.config_toml = "[run]\nrepeats = 5\n";
  EXPECT_EQ(text_of(changed_settings(a, b)), "run.repeats:  -> 5\ntext: \"= 1\" -> \n");
}

}  // namespace
}  // namespace spscope
