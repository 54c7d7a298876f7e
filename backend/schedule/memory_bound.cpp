// memory_bound(): what is live at the start of each op, by the events that are ordered before it.
//
// Every op has a clock: for each lane of its rank, the position of the last op that has ended when it starts. A buffer
// is known to be free at an op if the last user on every lane is within its clock and every user on another rank is
// known to have ended. Clocks only grow along a lane, so on each lane a buffer counts for one run of ops: from the
// first whose post is not before its first writer's, to the first that knows it is free. Runs are added up as
// differences, and the peak is the highest sum on any lane.
//
// It is safe: memory grows only when an op starts. Take any instant and the started op of the rank with the highest
// post. Every buffer that is live then had a writer that started, so its post is not higher, and some user of it has
// not ended now, so none knew it had when that op started. So the buffer counts at that op. A buffer that another rank
// fills by a push counts from the last barrier of both before the push, else from the very start.
#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "backend/base/ids.h"
#include "backend/base/stop_point.h"
#include "backend/schedule/buffers.h"
#include "backend/schedule/memory.h"

namespace spscope {
namespace {

constexpr std::int32_t kLate = std::numeric_limits<std::int32_t>::max();
constexpr PostId kBeforeAll = -1;

// When a buffer is born and who must have ended before it is free.
struct Use {
  PostId born = kLate;
  bool used = false;
};
struct RemoteUser {
  std::int32_t buffer;
  OpId op;
};

class BoundedMemory {
 public:
  explicit BoundedMemory(const Plan& plan) : plan_(plan), table_(plan) {}
  std::vector<std::int64_t> peaks();

 private:
  const Op& op(OpId id) const { return plan_.ops[at(id)]; }
  int lane_of(OpId id) const { return plan_.post_of(op(id)).lane; }
  std::vector<OpId>& lane(int rank, int lane) { return lanes_[at(rank) * at(plan_.lanes) + at(lane)]; }
  std::int32_t* clock(OpId id) { return clocks_.data() + at(id) * at(plan_.lanes); }

  void set_clocks();
  void collect_uses();
  void use_at_home(std::int32_t buffer, OpId id, bool writes);
  void use_from_afar(std::int32_t buffer, OpId id, bool writes);
  // Whether a rank is a member of a barrier.
  bool joins(OpId barrier, int rank) const {
    const std::span<const int> group = plan_.group(op(barrier).group);
    return static_cast<int>(group.size()) == plan_.ranks || std::ranges::find(group, rank) != group.end();
  }
  OpId fence(int rank, int other, PostId after) const;
  PostId last_fence_post(int rank, int other, PostId before) const;
  // The first position on a lane of the rank whose op is ordered after the end of op `id` of this rank.
  std::int32_t first_after(int rank, int lane_index, OpId id);
  std::int32_t first_free(std::int32_t buffer, int lane_index);
  std::int32_t first_after_remote(const RemoteUser& user, int rank, int lane_index);

  const Plan& plan_;
  BufferTable table_;
  std::vector<std::vector<OpId>> lanes_;   // by rank and lane, in post order
  std::vector<std::int32_t> position_;     // of each op on its lane
  std::vector<std::int32_t> clocks_;       // [ops, lanes]; -1: none has ended
  std::vector<std::vector<OpId>> fences_;  // barriers of each rank
  std::map<std::pair<OpId, int>, std::vector<OpId>>
      remote_dependents_;                 // ops of a rank that depend directly on an op of another
  std::vector<Use> uses_;                 // by buffer
  std::vector<std::int32_t> last_user_;   // [buffers, lanes]: position; -1: none
  std::vector<RemoteUser> remote_users_;  // sorted by buffer
};

void BoundedMemory::set_clocks() {
  const auto num_lanes = at(plan_.lanes);
  lanes_.resize(at(plan_.ranks) * num_lanes);
  position_.resize(plan_.ops.size());
  clocks_.assign(plan_.ops.size() * num_lanes, -1);
  fences_.resize(at(plan_.ranks));
  for (OpId id = 0; id < static_cast<OpId>(plan_.ops.size()); ++id, stop_point()) {
    const int rank = op(id).rank;
    std::int32_t* mine = clock(id);
    const auto learn = [&](OpId before) {
      const std::int32_t* theirs = clock(before);
      for (std::size_t l = 0; l < num_lanes; ++l) mine[l] = std::max(mine[l], theirs[l]);
      mine[lane_of(before)] = std::max(mine[lane_of(before)], position_[at(before)]);
    };
    std::vector<OpId>& queue = lane(rank, lane_of(id));
    if (!queue.empty()) learn(queue.back());
    for (OpId d : plan_.deps(op(id))) {
      if (op(d).rank == rank)
        learn(d);
      else
        remote_dependents_[{d, rank}].push_back(id);
    }
    position_[at(id)] = static_cast<std::int32_t>(queue.size());
    queue.push_back(id);
    if (plan_.kind_of(op(id)) == PostKind::kBarrier) fences_[at(rank)].push_back(id);
  }
}

void BoundedMemory::use_at_home(std::int32_t buffer, OpId id, bool writes) {
  std::int32_t& last = last_user_[at(buffer) * at(plan_.lanes) + at(lane_of(id))];
  last = std::max(last, position_[at(id)]);
  if (writes) uses_[at(buffer)].born = std::min(uses_[at(buffer)].born, op(id).post);
}

void BoundedMemory::use_from_afar(std::int32_t buffer, OpId id, bool writes) {
  remote_users_.push_back({buffer, id});
  if (!writes) return;
  const PostId born = last_fence_post(table_.buffers()[at(buffer)].rank, op(id).rank, op(id).post);
  uses_[at(buffer)].born = std::min(uses_[at(buffer)].born, born);
}

void BoundedMemory::collect_uses() {
  uses_.resize(table_.buffers().size());
  last_user_.assign(table_.buffers().size() * at(plan_.lanes), -1);
  for (OpId id = 0; id < static_cast<OpId>(plan_.ops.size()); ++id, stop_point())
    table_.for_each_use(plan_, op(id), [&](std::int32_t buffer, bool writes) {
      uses_[at(buffer)].used = true;
      if (table_.buffers()[at(buffer)].rank == op(id).rank)
        use_at_home(buffer, id, writes);
      else
        use_from_afar(buffer, id, writes);
    });
  std::ranges::stable_sort(remote_users_, {}, &RemoteUser::buffer);
}

// The first barrier of both ranks after a post, as the op of `rank`; kNone: there is none.
OpId BoundedMemory::fence(int rank, int other, PostId after) const {
  for (OpId f : fences_[at(rank)])
    if (op(f).post > after && joins(f, other)) return f;
  return kNone;
}

PostId BoundedMemory::last_fence_post(int rank, int other, PostId before) const {
  PostId last = kBeforeAll;
  for (OpId f : fences_[at(rank)])
    if (op(f).post < before && joins(f, other)) last = op(f).post;
  return last;
}

std::int32_t BoundedMemory::first_after(int rank, int lane_index, OpId id) {
  const std::vector<OpId>& queue = lane(rank, lane_index);
  const auto is_after = [&](OpId o) { return clock(o)[lane_of(id)] >= position_[at(id)]; };
  return static_cast<std::int32_t>(std::ranges::partition_point(queue, std::not_fn(is_after)) - queue.begin());
}

std::int32_t BoundedMemory::first_after_remote(const RemoteUser& user, int rank, int lane_index) {
  std::int32_t first = kLate;
  if (const auto found = remote_dependents_.find({user.op, rank}); found != remote_dependents_.end())
    for (OpId o : found->second) {
      if (lane_of(o) == lane_index) first = std::min(first, position_[at(o)]);  // it waits for the user itself
      first = std::min(first, first_after(rank, lane_index, o));
    }
  const OpId barrier = fence(rank, op(user.op).rank, op(user.op).post);
  return barrier == kNone ? first : std::min(first, first_after(rank, lane_index, barrier));
}

// The first position on the lane whose op is ordered after the last use of the buffer; the length of the lane when none
// does.
std::int32_t BoundedMemory::first_free(std::int32_t buffer, int lane_index) {
  const Buffer& held = table_.buffers()[at(buffer)];
  const std::vector<OpId>& queue = lane(held.rank, lane_index);
  const auto size = static_cast<std::int32_t>(queue.size());
  if (held.kept || !uses_[at(buffer)].used) return size;
  const std::int32_t* last = last_user_.data() + at(buffer) * at(plan_.lanes);
  const auto is_after = [&](OpId o) {
    const std::int32_t* ended = clock(o);
    for (int l = 0; l < plan_.lanes; ++l)
      if (ended[l] < last[l]) return false;
    return true;
  };
  auto free = static_cast<std::int32_t>(std::ranges::partition_point(queue, std::not_fn(is_after)) - queue.begin());
  auto user = std::ranges::lower_bound(remote_users_, buffer, {}, &RemoteUser::buffer);
  for (; user != remote_users_.end() && user->buffer == buffer; ++user)
    free = std::max(free, first_after_remote(*user, held.rank, lane_index));
  return std::min(free, size);
}

std::vector<std::int64_t> BoundedMemory::peaks() {
  set_clocks();
  collect_uses();
  std::vector<std::vector<std::int64_t>> change(lanes_.size());  // of live bytes from op to op of each lane
  for (std::size_t l = 0; l < lanes_.size(); ++l) change[l].assign(lanes_[l].size() + 1, 0);
  std::vector<std::int64_t> at_start(at(plan_.ranks));
  for (std::int32_t b = 0; b < static_cast<std::int32_t>(table_.buffers().size()); ++b) {
    const Buffer& buffer = table_.buffers()[at(b)];
    const PostId born = buffer.given || uses_[at(b)].born == kLate ? kBeforeAll : uses_[at(b)].born;
    if (born == kBeforeAll) at_start[at(buffer.rank)] += buffer.num_bytes;
    for (int l = 0; l < plan_.lanes; ++l) {
      const std::vector<OpId>& queue = lane(buffer.rank, l);
      const auto from = static_cast<std::int32_t>(
          std::ranges::partition_point(queue, [&](OpId o) { return op(o).post < born; }) - queue.begin());
      const std::int32_t to = first_free(b, l);
      if (from >= to) continue;
      std::vector<std::int64_t>& row = change[at(buffer.rank) * at(plan_.lanes) + at(l)];
      row[at(from)] += buffer.num_bytes;
      row[at(to)] -= buffer.num_bytes;
    }
  }
  std::vector<std::int64_t> peak = at_start;
  for (std::size_t l = 0; l < change.size(); ++l) {
    std::int64_t live = 0;
    std::int64_t& highest = peak[l / at(plan_.lanes)];
    for (std::int64_t delta : change[l]) highest = std::max(highest, live += delta);
  }
  return peak;
}

}  // namespace

std::vector<std::int64_t> memory_bound(const Plan& plan) { return BoundedMemory(plan).peaks(); }

}  // namespace spscope
