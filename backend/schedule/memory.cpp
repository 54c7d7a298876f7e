#include "backend/schedule/memory.h"

#include <algorithm>
#include <compare>
#include <limits>

#include "backend/base/check.h"
#include "backend/schedule/buffers.h"

namespace spscope {
namespace {

constexpr std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

constexpr std::int64_t kStart = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// An instant of the schedule. Ops that take no time all happen at one nanosecond, in the order of their posts; whatever
// was running before that nanosecond ends first.
struct Instant {
  std::int64_t ns;
  PostId post = kNone;
  friend auto operator<=>(const Instant&, const Instant&) = default;
};

struct Life {
  Instant from{kNever}, to{kStart};
};

std::vector<Life> lives(const Plan& plan, const Timeline& timeline, const BufferTable& table) {
  std::vector<Life> lives(table.buffers().size());
  for (std::size_t id = 0; id < plan.ops.size(); ++id) {
    const OpTimes& times = timeline.ops[id];
    const PostId post = plan.ops[id].post;
    const Instant begin{times.post_ns, post}, end{times.end_ns, times.end_ns > times.post_ns ? kNone : post};
    table.for_each_use(plan, plan.ops[id], [&](std::int32_t buffer, bool writes) {
      Life& life = lives[at(buffer)];
      if (writes) life.from = std::min(life.from, begin);
      life.to = std::max(life.to, end);
    });
  }
  for (std::size_t b = 0; b < lives.size(); ++b) {
    const bool unused = lives[b].to.ns == kStart;
    if (table.buffers()[b].given || lives[b].from.ns == kNever) lives[b].from = {kStart};
    if (table.buffers()[b].kept || unused) lives[b].to = {kNever};
  }
  return lives;
}

struct Change {
  int rank;
  Instant when;
  bool release;  // after what the same op allocates
  std::int64_t num_bytes;
  bool operator<(const Change& other) const {
    if (rank != other.rank) return rank < other.rank;
    return when != other.when ? when < other.when : release < other.release;
  }
};

}  // namespace

std::vector<std::int64_t> memory(const Plan& plan, const Timeline& timeline) {
  SPSCOPE_CHECK(timeline.ops.size() == plan.ops.size());
  const BufferTable table(plan);
  const std::vector<Life> all = lives(plan, timeline, table);
  std::vector<Change> changes;
  changes.reserve(2 * all.size());
  for (std::size_t b = 0; b < all.size(); ++b) {
    const Buffer& buffer = table.buffers()[b];
    changes.push_back({buffer.rank, all[b].from, false, buffer.num_bytes});
    if (all[b].to.ns != kNever) changes.push_back({buffer.rank, all[b].to, true, -buffer.num_bytes});
  }
  std::sort(changes.begin(), changes.end());
  std::vector<std::int64_t> live(at(plan.ranks)), peak(at(plan.ranks));
  for (const Change& change : changes) {
    live[at(change.rank)] += change.num_bytes;
    peak[at(change.rank)] = std::max(peak[at(change.rank)], live[at(change.rank)]);
  }
  return peak;
}

}  // namespace spscope
