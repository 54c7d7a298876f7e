// Which settings of a strategy the conformance tests run, and on which workloads and patterns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "backend/strategies/strategy.h"

namespace spscope {

// Whether the wide set is asked for (SPSCOPE_WIDE in the environment), else the default one.
bool wide_set();

struct ConformanceCase {
  std::size_t workload, pattern;  // of workloads() and patterns()
};
std::vector<ConformanceCase> all_cases();
// Those of some patterns: to an executor a pattern is no more than which tiles are active.
std::vector<ConformanceCase> cases_of(std::initializer_list<std::string_view> names);
// For names of tests.
std::string case_name(const ConformanceCase& conformance_case);

// Adds settings to a list, each once and only if it is legal.
class SettingList {
 public:
  SettingList(const Strategy& strategy, const Request& request, std::vector<Parameters> settings = {})
      : strategy_(strategy), request_(request), settings_(std::move(settings)) {}

  void add(const Parameters& setting);
  // Every product of degrees; where blocks are drawn to their home (dbsp), also without: each block is then wherever it
  // balances best, at odd ring degrees too.
  void add_all_degrees();
  std::vector<Parameters> take() { return std::move(settings_); }

 private:
  const Strategy& strategy_;
  const Request& request_;
  std::vector<Parameters> settings_;
};

// Settings of a strategy that this test runs: all that the strategy calls worth comparing (one of dbsp refines heads),
// its defaults, the defaults with each choice of each parameter (of pieces, two), and, if wanted, all products of
// degrees.
std::vector<Parameters> settings_to_run(const Strategy& strategy, const Request& request, bool all_degrees);

}  // namespace spscope
