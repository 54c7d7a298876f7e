// What makes one plan slower than another, by taking causes away: both are scheduled anew without one, and the cause is
// what their difference shrinks by. The largest difference of terms would not do. The critical paths of two plans run
// through different resources, a ring's along its hops and that of Ulysses through attention and transfers, so terms
// that are equal in both would differ along the paths.
//
//   tiles, kernels: the slower one spends no more on them than the faster one, since neither would be a layer without
//   all others: neither of the two has any
//
// A cause on which the slower one spends no more than the other is none, whatever the schedules say.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/analysis/time_edits.h"

namespace spscope {

struct StrategyResult;

// Passes of one strategy that can be scheduled anew.
class Probe {
 public:
  // `only`: the makespan of this pass alone counts; absent: of all together.
  explicit Probe(EditablePasses passes, std::optional<std::size_t> only = {});
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  const Rescheduler& rescheduler() const { return rescheduler_; }
  const EditablePasses& passes() const { return passes_; }
  std::int64_t makespan_ns(const CauseScales& scales = {}) const;

 private:
  EditablePasses passes_;
  Rescheduler rescheduler_;
  std::optional<std::size_t> only_;
};
// Of as many places (layer, denoise step) as a strategy has, in one order for all strategies.
using Probes = std::vector<std::shared_ptr<const Probe>>;

struct Attribution {
  std::string than;                // StrategyResult::id of the faster one
  std::int64_t slower_by_ns = 0;   // of the makespans of both
  std::int64_t difference_ns = 0;  // of both scheduled anew; > 0
  // The cause without which at most a third of the difference remains. Where there is none: the one without which at
  // most half remains, or else the one that shrinks it most; and a second one, if it takes a twentieth more away.
  // Empty: no cause shrinks the difference.
  std::vector<Cause> causes;
  // By cause, as fractions of the difference. The first: what goes away without it alone. The second: what then goes
  // away without it, too. What goes away only without both is divided evenly between them.
  std::vector<double> shares;
  std::int64_t remaining_ns = 0;  // without `causes`
};
// A cause with at least kNamedAlone of the difference is named alone, and none with less than kNamed is named second.
inline constexpr double kNamedAlone = 2.0 / 3, kNamed = 0.05;

// What the probes of one strategy take without causes, each set of them scheduled once.
class Without {
 public:
  explicit Without(const Probes& probes);
  std::int64_t makespan_ns(const CauseScales& scales);
  const TimeTerms& compute() const { return compute_; }  // Rescheduler::compute_terms, of all

 private:
  const Probes& probes_;
  TimeTerms compute_;
  std::map<std::array<double, kNumCauses>, std::int64_t> known_;
};

// Absent where either has no probes, they are of different places, or the slower one is none when scheduled anew.
std::optional<Attribution> attribute(const StrategyResult& slower, const StrategyResult& faster);
// The same with what is known of them from other pairs. REQUIRES: of their probes.
std::optional<Attribution> attribute(const StrategyResult& slower, const StrategyResult& faster, Without& of_slower,
                                     Without& of_faster);

}  // namespace spscope
