// Timeline: when each op of a plan ran, in whole nanoseconds of one clock, and how far the times can be trusted.
//
// Executors, `project` and `simulate` all produce timelines of this form; the store keeps them and analysis reads them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/config/run_config.h"
#include "backend/plan/plan.h"
#include "backend/record/op_times.h"

namespace spscope {

struct Timeline {
  std::vector<OpTimes> ops;  // by OpId
  // Last end minus first post; 0 for an empty plan.
  std::int64_t makespan_ns() const;
};

// Stored numbers: append only.
enum class Source : std::uint8_t { kMeasured = 0, kModelled = 1 };
enum class Timing : std::uint8_t { kClean = 0, kOversubscribed = 1 };  // oversubscribed: ranks x threads > cores

// The provenance of the times of a run, shown with every figure derived from them. (RunMode is in run_config.h.)
struct RunProvenance {
  Source compute = Source::kMeasured, network = Source::kMeasured;
  Timing timing = Timing::kClean;
  friend bool operator==(const RunProvenance&, const RunProvenance&) = default;
};

// The result of comparing a run's outputs with the reference. Stored numbers: append only.
enum class Verdict : std::uint8_t { kSkipped = 0, kPassed = 1, kFailed = 2 };
constexpr std::string_view verdict_name(Verdict v) {
  return v == Verdict::kPassed ? "passed" : v == Verdict::kFailed ? "failed" : "skipped";
}

constexpr std::string_view source_name(Source s) { return s == Source::kMeasured ? "measured" : "modelled"; }
constexpr std::string_view timing_name(Timing t) { return t == Timing::kClean ? "clean" : "oversubscribed"; }

}  // namespace spscope
