#include "backend/schedule/memory.h"

#include <algorithm>
#include <limits>

#include "backend/base/check.h"
#include "backend/schedule/buffers.h"

namespace spscope {
namespace {

constexpr std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

constexpr std::int64_t kStart = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct Life {
  std::int64_t from_ns = kNever, to_ns = kStart;
};

std::vector<Life> lives(const Plan& plan, const Timeline& timeline, const BufferTable& table) {
  std::vector<Life> lives(table.buffers().size());
  for (std::size_t id = 0; id < plan.ops.size(); ++id)
    table.for_each_use(plan, plan.ops[id], [&](std::int32_t buffer, bool writes) {
      Life& life = lives[at(buffer)];
      if (writes) life.from_ns = std::min(life.from_ns, timeline.ops[id].post_ns);
      life.to_ns = std::max(life.to_ns, timeline.ops[id].end_ns);
    });
  for (std::size_t b = 0; b < lives.size(); ++b) {
    const bool unused = lives[b].to_ns == kStart;
    if (table.buffers()[b].given || lives[b].from_ns == kNever) lives[b].from_ns = kStart;
    if (table.buffers()[b].kept || unused) lives[b].to_ns = kNever;
  }
  return lives;
}

// At one instant buffers that were there before go first, then new ones come, then those that came and go at once.
enum class Step : std::int8_t { kRelease = 0, kAllocate = 1, kReleaseAtOnce = 2 };

struct Change {
  int rank;
  std::int64_t ns;
  Step step;
  std::int64_t num_bytes;
  bool operator<(const Change& other) const {
    if (rank != other.rank) return rank < other.rank;
    return ns != other.ns ? ns < other.ns : step < other.step;
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
    changes.push_back({buffer.rank, all[b].from_ns, Step::kAllocate, buffer.num_bytes});
    if (all[b].to_ns == kNever) continue;
    const Step step = all[b].to_ns > all[b].from_ns ? Step::kRelease : Step::kReleaseAtOnce;
    changes.push_back({buffer.rank, all[b].to_ns, step, -buffer.num_bytes});
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
