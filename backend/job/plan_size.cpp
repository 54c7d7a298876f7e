#include "backend/job/plan_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/base/error.h"
#include "backend/base/memory_limit.h"
#include "backend/base/number_text.h"
#include "backend/base/process.h"

namespace spscope {
namespace {

constexpr double kSecondsOfPair = 15e-6, kLeastBytesOfPair = 600;
constexpr double kLeastSaidSeconds = 20;

// "about 40 s", "about 3 min", "about 2 h"
std::string about(double seconds) {
  constexpr double kMinute = 60, kHour = 3600;
  if (seconds < 2 * kMinute) return fmt::format("about {:.0f} s", std::ceil(seconds / 10) * 10);
  if (seconds < 2 * kHour) return fmt::format("about {:.0f} min", seconds / kMinute);
  return fmt::format("about {:.0f} h", seconds / kHour);
}

}  // namespace

PlanSize plan_size(const Decision& decision, const Request& request) {
  const bool is_known = decision.ring > 1 || decision.ulysses > 1;
  const double in_ring = static_cast<double>(std::max(decision.ring, 1)) * decision.rounds;
  const double met = is_known ? in_ring + std::max(decision.ulysses, 1) : request.ranks;
  const double pairs = met * request.ranks;
  return {kSecondsOfPair * pairs, is_known ? static_cast<std::int64_t>(kLeastBytesOfPair * pairs) : 0};
}

void require_room_for_plan(const std::string& id, const Decision& decision, const Request& request) {
  constexpr std::int64_t kSurelyThere = 64 << 20;
  const std::int64_t bytes = plan_size(decision, request).bytes;
  if (bytes <= kSurelyThere) return;
  const SystemLimit left = memory_left();
  if (bytes <= left.value) return;
  throw Error(ErrorCode::kPlanTooLarge,
              fmt::format("the plan of {} for {} ranks takes at least {} of memory, and this machine has {} left ({})",
                          id, request.ranks, memory_text(bytes), memory_text(left.value), left.source),
              "use fewer ranks, or a strategy that communicates in smaller groups (usp with a larger ulysses degree)");
}

std::string planning_note(std::string_view what, int ranks, double seconds) {
  if (seconds < kLeastSaidSeconds) return {};
  return fmt::format("{} for {} ranks takes {}; Ctrl-C or SIGTERM stops it within a second", what, count_text(ranks),
                     about(seconds));
}

}  // namespace spscope
