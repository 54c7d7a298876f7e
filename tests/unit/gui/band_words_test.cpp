// Heads of bands: slower than another only where backend/analysis lets times be compared; and the order of bands.
#include "gui/views/timeline/band_words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gui/views/timeline/band_order.h"

namespace spscope::gui {
namespace {

// Three strategies of one workload, with the times of one layer pass.
struct Bands {
  explicit Bands(RunMode mode) {
    for (const std::int64_t ms : {10, 14, 20}) {
      StrategyResult s;
      s.id = s.label = "s" + std::to_string(ms);
      s.mode = mode;
      s.makespan_ns = ms * 1'000'000;
      s.makespan_spread_ns = 10'000;
      s.provenance = RunProvenance{};
      comparison.strategies.push_back(s);
    }
    comparison.workload.density = 0.5;
    comparison.workload.cluster = "local";
  }
  std::string words(std::size_t index) {
    std::vector<Chosen> chosen;
    for (const StrategyResult& s : comparison.strategies)
      chosen.push_back({{0, s.id}, nullptr, &comparison, &s, s.label});
    std::vector<BandTime> all;
    for (const Chosen& c : chosen) all.push_back({&c, *c.strategy->makespan_ns});
    return band_words(all[index], all);
  }
  Comparison comparison;
};

TEST(BandWords, SlowerThanTheFastestByName) {
  Bands bands(RunMode::kExecute);
  EXPECT_EQ(bands.words(0), "10.0 ms");
  EXPECT_EQ(bands.words(1), "14.0 ms, 4.00 ms slower than s10");
  EXPECT_EQ(bands.words(2), "20.0 ms, 10.0 ms slower than s10");
}

TEST(BandWords, WhatIsLevelIsSaidToBe) {
  Bands bands(RunMode::kExecute);
  for (StrategyResult& s : bands.comparison.strategies) s.makespan_spread_ns = 900'000;
  bands.comparison.strategies[1].makespan_ns = 10'400'000;
  EXPECT_NE(bands.words(1).find("too close to call"), std::string::npos) << bands.words(1);
  EXPECT_EQ(bands.words(2).find("too close to call"), std::string::npos) << bands.words(2);
}

TEST(BandWords, TimesThatDoNotCompareAreNotCompared) {
  const auto silent = [](Bands& bands, std::size_t index, const std::string& why) {
    const std::string words = bands.words(index);
    EXPECT_EQ(words.find("slower"), std::string::npos) << words;
    EXPECT_NE(words.find(why), std::string::npos) << words;
  };
  {
    Bands bands(RunMode::kExecute);
    for (StrategyResult& s : bands.comparison.strategies) s.provenance->timing = Timing::kOversubscribed;
    silent(bands, 2, "ranks shared cores");
  }
  {
    Bands bands(RunMode::kExecute);
    bands.comparison.strategies[2].verify = "failed";
    silent(bands, 2, "output is wrong");
    EXPECT_NE(bands.words(1).find("slower than s10"), std::string::npos);
    bands.comparison.strategies[0].verify = "failed";  // of two, one is left
    silent(bands, 1, "14.0 ms");
  }
  {
    Bands bands(RunMode::kProject);
    bands.comparison.workload.cluster = "h100x8";
    for (StrategyResult& s : bands.comparison.strategies) s.compute_scale = 300;
    silent(bands, 2, "another machine's");
  }
  {
    Bands bands(RunMode::kExecute);
    for (StrategyResult& s : bands.comparison.strategies) s.compute_deviation = 0.9;
    silent(bands, 2, "no times to compare");
  }
}

TEST(BandOrder, FirstWhereRanksWaitThenTheFastest) {
  Bands bands(RunMode::kSimulate);
  const auto order = [&] {
    std::vector<Chosen> chosen;
    for (const int file : {1, 0})
      for (const StrategyResult& s : bands.comparison.strategies)
        chosen.push_back({{file, s.id}, nullptr, &bands.comparison, &s, s.label});
    order_bands(chosen);
    std::string text;
    for (const Chosen& c : chosen) text += std::to_string(c.key.file) + c.key.id + " ";
    return text;
  };
  EXPECT_EQ(order(), "0s10 0s14 0s20 1s10 1s14 1s20 ");
  bands.comparison.strategies[2].times.wait_late_peer_ns = {4'000'000, 0};
  EXPECT_EQ(order(), "0s20 0s10 0s14 1s20 1s10 1s14 ");
}

}  // namespace
}  // namespace spscope::gui
