// Rules order, unmatched and deadlock: every op of the plan can end, and starts after the compute before it.
//
// The certificate comes first: ops are listed in post order, depend on earlier posts only, and all members of a
// two-sided op are in one post, so that the lowest unfinished post can always finish. Only a plan that lacks it is
// searched for a deadlock, since a broken order may still be harmless: events start(o) and end(o); end(o) needs
// start(o) and the start of its partners, start(o) the end of its dependencies and of the op before it on its lane.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "backend/base/stop_point.h"
#include "backend/plan/verify_internal.h"

namespace spscope::verifying {
namespace {

void check_order(const Plan& p, Findings& found) {
  for (OpId id = 0; id < static_cast<OpId>(p.ops.size()); ++id) {
    stop_point();
    const Op& op = p.ops[at(id)];
    if (id > 0 && p.ops[at(id - 1)].post > op.post)
      found.add(Rule::kOrder, fmt::format("op {} is listed after an op of a later post", id));
    for (OpId dep : p.deps(op))
      if (p.ops[at(dep)].post >= op.post)
        found.add(Rule::kOrder, fmt::format("op {} depends on op {} of the same or a later post", id, dep));
    const auto messages = p.messages_of(op);
    // Both ends list what passes between them in one order, so that a backend can match it by position.
    if (std::ranges::adjacent_find(messages, std::greater_equal<>()) != messages.end())
      found.add(Rule::kOrder, fmt::format("op {} does not list its messages in order", id));
  }
}

void check_members(const Plan& p, const PlanIndex& index, Findings& found) {
  std::vector<PostId> last_post(at(p.ranks), kNone);
  std::vector<int> present(p.groups.size(), 0);
  for (PostId id = 0; id < static_cast<PostId>(p.posts.size()); ++id) {
    const PostKind kind = p.posts[at(id)].kind;
    if (!communicates(kind)) continue;
    stop_point();
    for (OpId op_id : index.ops_of_post(id)) {
      const Op& op = p.ops[at(op_id)];
      if (std::exchange(last_post[at(op.rank)], id) == id)
        found.add(Rule::kOrder, fmt::format("rank {} is twice in post {}", op.rank, id));
      if (index.member(op.group, op.rank))
        ++present[at(op.group)];
      else
        found.add(Rule::kUnmatched, fmt::format("the rank of op {} is not a member of its group {}", op_id, op.group));
    }
    for (OpId op_id : index.ops_of_post(id)) {
      const GroupId group = p.ops[at(op_id)].group;
      const int count = std::exchange(present[at(group)], 0);
      if (two_sided(kind) && count != 0 && count != p.groups[at(group)].size())
        found.add(Rule::kUnmatched, fmt::format("post {} lacks members of group {}", id, group));
    }
  }
}

// The ranks whose ops must name a message: both ends of a two-sided one, else the rank that starts it.
std::pair<int, int> wanted_ends(PostKind kind, const Message& m) {
  if (two_sided(kind)) return {std::min(m.src, m.dst), std::max(m.src, m.dst)};
  const int starter = kind == PostKind::kPush ? m.src : m.dst;
  return {starter, starter};
}

void check_message(const Plan& p, const PlanIndex& index, MessageId id, Findings& found) {
  const Message& m = p.messages[at(id)];
  const auto ends = index.ends(id);
  const auto bad = [&](const char* what) { found.add(Rule::kUnmatched, fmt::format("message {} {}", id, what)); };
  if (ends.empty()) return bad("belongs to no op");
  const Op &first = p.ops[at(ends.front())], &last = p.ops[at(ends.back())];
  const PostKind kind = p.kind_of(first);
  const auto [low, high] = wanted_ends(kind, m);
  const std::size_t wanted = low == high ? 1 : 2;
  if (ends.size() != wanted || std::min(first.rank, last.rank) != low || std::max(first.rank, last.rank) != high)
    return bad("is not named by its ends, once each");
  if (first.post != last.post || first.group != last.group) return bad("joins two posts or groups");
  if (kind == PostKind::kCopy ? m.src != m.dst : !index.member(first.group, m.src) || !index.member(first.group, m.dst))
    bad("leaves its group");
}

// Events of all ops and of groups that meet, as a graph that is emptied from its sources.
class EventGraph {
 public:
  explicit EventGraph(const Context& c) : c_(c), out_(2 * c.plan.ops.size()), missing_(2 * c.plan.ops.size(), 0) {
    for (OpId id = 0; id < static_cast<OpId>(c.plan.ops.size()); ++id, stop_point())
      if (c.plan.post_of(c.plan.ops[at(id)]).lane > 0) member_[{c.plan.ops[at(id)].post, c.plan.ops[at(id)].rank}] = id;
  }

  void check(Findings& found) {
    for (OpId id = 0; id < static_cast<OpId>(c_.plan.ops.size()); ++id, stop_point()) add_op(id, found);
    for (int rank = 0; rank < c_.plan.ranks; ++rank)
      for (int lane = 0; lane < c_.plan.lanes; ++lane) {
        const auto ops = c_.index.ops_of_lane(rank, lane);
        for (std::size_t i = 1; i < ops.size(); ++i) edge(end(ops[i - 1]), start(ops[i]));
      }
    if (const OpId stuck = first_stuck(); stuck != kNone)
      found.add(Rule::kDeadlock, fmt::format("op {} never ends", stuck));
  }

 private:
  static std::size_t start(OpId id) { return 2 * at(id); }
  static std::size_t end(OpId id) { return 2 * at(id) + 1; }
  void edge(std::size_t from, std::size_t to) {
    out_[from].push_back(to);
    ++missing_[to];
  }

  void add_op(OpId id, Findings& found) {
    const Op& op = c_.plan.ops[at(id)];
    edge(start(id), end(id));
    for (OpId dep : c_.plan.deps(op)) edge(end(dep), start(id));
    const PostKind kind = c_.plan.kind_of(op);
    if (kind == PostKind::kBarrier || kind == PostKind::kReduce)
      for (int rank : c_.plan.group(op.group)) add_partner(id, rank, found);
    if (kind == PostKind::kExchange)
      for (MessageId m : c_.plan.messages_of(op)) {
        add_partner(id, c_.plan.messages[at(m)].src, found);
        add_partner(id, c_.plan.messages[at(m)].dst, found);
      }
  }

  void add_partner(OpId id, int rank, Findings& found) {
    const PostId post = c_.plan.ops[at(id)].post;
    const auto partner = member_.find({post, rank});
    if (partner == member_.end())
      found.add(Rule::kDeadlock, fmt::format("op {} waits for rank {} in post {} forever", id, rank, post));
    else
      edge(start(partner->second), end(id));
  }

  OpId first_stuck() {
    std::vector<std::size_t> ready;
    for (std::size_t e = 0; e < out_.size(); ++e)
      if (missing_[e] == 0) ready.push_back(e);
    while (!ready.empty()) {
      const std::size_t event = ready.back();
      ready.pop_back();
      for (std::size_t next : out_[event])
        if (--missing_[next] == 0) ready.push_back(next);
    }
    const auto stuck = std::ranges::find_if(missing_, [](int count) { return count > 0; });
    return stuck == missing_.end() ? kNone : static_cast<OpId>((stuck - missing_.begin()) / 2);
  }

  const Context& c_;
  std::vector<std::vector<std::size_t>> out_;
  std::vector<int> missing_;  // edges into an event whose origin has not happened
  std::map<std::pair<PostId, int>, OpId> member_;
};

}  // namespace

void check_certificate(const Plan& plan, const PlanIndex& index, Findings& found) {
  check_order(plan, found);
  check_members(plan, index, found);
  for (MessageId id = 0; id < static_cast<MessageId>(plan.messages.size()); ++id) check_message(plan, index, id, found);
}

void check_progress(const Context& c, Findings& found) {
  check_certificate(c.plan, c.index, found);
  if (!found.empty()) EventGraph(c).check(found);
}

// Walks the ops of all ranks in post order, and keeps by (rank, lane) up to which op of the program its next op waits.
void check_program_order(const Context& c, Findings& found) {
  const Plan& p = c.plan;
  std::vector<std::int32_t> recorded(at(p.ranks), 0);  // by rank: compute ops and barriers so far, the program
  std::vector<std::int32_t> lane_ended(at(p.ranks) * at(p.lanes), 0);
  std::vector<std::int32_t> ended(p.ops.size(), 0);  // by op: how much of its rank's program has ended when it ends
  for (OpId id = 0; id < static_cast<OpId>(p.ops.size()); ++id) {
    stop_point();
    const Op& op = p.ops[at(id)];
    const Post& post = p.post_of(op);
    std::int32_t& before = lane_ended[at(op.rank) * at(p.lanes) + at(post.lane)];
    std::int32_t known = before;
    for (OpId dep : p.deps(op))
      if (p.ops[at(dep)].rank == op.rank) known = std::max(known, ended[at(dep)]);
    if (known < recorded[at(op.rank)])
      found.add(Rule::kOrder, fmt::format("op {} ({}) may start before what its rank computes before it has ended", id,
                                          post_kind_name(post.kind)));
    if (post.lane == 0 || post.kind == PostKind::kBarrier) known = ++recorded[at(op.rank)];
    ended[at(id)] = before = known;
  }
}

}  // namespace spscope::verifying
