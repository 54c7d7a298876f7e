#include "backend/schedule/memory.h"

#include <algorithm>
#include <compare>
#include <limits>

#include "backend/base/check.h"
#include "backend/base/ids.h"
#include "backend/base/stop_point.h"
#include "backend/schedule/buffers.h"

namespace spscope {
namespace {

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
  for (std::size_t id = 0; id < plan.ops.size(); ++id, stop_point()) {
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
  Instant when;
  bool release;  // after what the same op allocates
  std::int64_t num_bytes;
  bool operator<(const Change& other) const { return when != other.when ? when < other.when : release < other.release; }
};

// The buffers of each rank, one rank after the other; those of rank r end at ends[r].
struct ByRank {
  std::vector<std::int32_t> buffers, ends;
};

ByRank sort_by_rank(const std::vector<Buffer>& buffers, int ranks) {
  ByRank sorted{std::vector<std::int32_t>(buffers.size()), std::vector<std::int32_t>(at(ranks) + 1)};
  for (const Buffer& buffer : buffers) ++sorted.ends[at(buffer.rank) + 1];
  for (std::size_t r = 1; r < sorted.ends.size(); ++r) sorted.ends[r] += sorted.ends[r - 1];
  for (std::size_t b = 0; b < buffers.size(); ++b)
    sorted.buffers[at(sorted.ends[at(buffers[b].rank)]++)] = static_cast<std::int32_t>(b);
  return sorted;
}

}  // namespace

// Rank by rank, so that only the changes of one rank are held and sorted at a time.
std::vector<std::int64_t> memory(const Plan& plan, const Timeline& timeline) {
  SPSCOPE_CHECK(timeline.ops.size() == plan.ops.size());
  const BufferTable table(plan);
  const std::vector<Life> all = lives(plan, timeline, table);
  const ByRank by_rank = sort_by_rank(table.buffers(), plan.ranks);
  std::vector<std::int64_t> peak(at(plan.ranks));
  std::vector<Change> changes;
  std::size_t next = 0;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    changes.clear();
    for (; next < at(by_rank.ends[at(rank)]); ++next) {
      const std::size_t b = at(by_rank.buffers[next]);
      const std::int64_t num_bytes = table.buffers()[b].num_bytes;
      changes.push_back({all[b].from, false, num_bytes});
      if (all[b].to.ns != kNever) changes.push_back({all[b].to, true, -num_bytes});
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t live = 0;
    for (const Change& change : changes) {
      live += change.num_bytes;
      peak[at(rank)] = std::max(peak[at(rank)], live);
    }
  }
  return peak;
}

}  // namespace spscope
