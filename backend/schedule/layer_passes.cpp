#include "backend/schedule/layer_passes.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "backend/base/check.h"
#include "backend/base/ids.h"
#include "backend/schedule/schedule.h"

namespace spscope {
namespace {

template <typename T>
std::int32_t size_of(const std::vector<T>& list) {
  return static_cast<std::int32_t>(list.size());
}

// Appends plans to one; a rank's first ops of a plan on each lane wait for its last ones before.
class Joiner {
 public:
  Joiner(const Plan& first, int lanes) : lanes_(lanes), last_(at(first.ranks) * at(lanes), kNone) {
    joined_.ranks = first.ranks;
    joined_.lanes = lanes;
    joined_.batch = first.batch;
    joined_.dtype = first.dtype;
    joined_.outer_tokens = first.outer_tokens;
    joined_.inner_tokens = first.inner_tokens;
    std::ranges::copy(first.num_columns, joined_.num_columns);
    std::ranges::copy(first.tensor_width, joined_.tensor_width);
    joined_.sets = std::make_shared<SetTable>();
  }

  void add_leads(const RankLeads& leads, std::vector<std::int64_t>& compute_ns) {
    if (std::ranges::all_of(leads, [](std::int64_t ns) { return ns == 0; })) return;
    joined_.posts.push_back({});
    for (int rank = 0; rank < joined_.ranks; ++rank) {
      if (leads[at(rank)] == 0) continue;
      last_[at(rank) * at(lanes_)] = size_of(joined_.ops);
      Op op;
      op.post = 0;
      op.rank = rank;
      joined_.ops.push_back(op);
      compute_ns.push_back(leads[at(rank)]);
    }
  }

  void add(const Plan& plan) {
    const std::int32_t ops = size_of(joined_.ops), posts = size_of(joined_.posts), groups = size_of(joined_.groups),
                       messages = size_of(joined_.messages), refs = size_of(joined_.message_refs);
    const std::int32_t values = size_of(joined_.values);
    for (Post post : plan.posts) {
      if (post.src != kNone) post.src += values;
      post.dst = post.kernel = post.acc = kNone;
      post.operands = {};
      joined_.posts.push_back(post);
    }
    for (const Value& value : plan.values) {
      Value& kept = joined_.values.emplace_back();
      kept.tensors = value.tensors;
      kept.columns = value.columns;
      kept.partial = value.partial;
    }
    add_messages(plan);
    for (const MessageId m : plan.message_refs) joined_.message_refs.push_back(m + messages);
    const std::int32_t members = size_of(joined_.group_members);
    for (const IdRange& group : plan.groups) joined_.groups.push_back({group.begin + members, group.end + members});
    joined_.group_members.insert(joined_.group_members.end(), plan.group_members.begin(), plan.group_members.end());

    const std::vector<OpId> before = last_;
    std::vector<bool> begun(last_.size(), false);
    for (Op op : plan.ops) {
      const std::size_t row = at(op.rank) * at(lanes_), lane = row + at(plan.post_of(op).lane);
      const IdRange deps = op.deps;
      op.deps.begin = size_of(joined_.dep_refs);
      for (std::int32_t i = deps.begin; i < deps.end; ++i) joined_.dep_refs.push_back(plan.dep_refs[at(i)] + ops);
      if (!begun[lane])
        for (std::size_t l = row; l < row + at(lanes_); ++l)
          if (before[l] != kNone) joined_.dep_refs.push_back(before[l]);
      begun[lane] = true;
      op.deps.end = size_of(joined_.dep_refs);
      op.messages = {op.messages.begin + refs, op.messages.end + refs};
      op.post += posts;
      if (op.group != kNone) op.group += groups;
      last_[lane] = size_of(joined_.ops);
      joined_.ops.push_back(op);
    }
  }

  Plan take() { return std::move(joined_); }

 private:
  // Each plan has a table of sets of its own.
  void add_messages(const Plan& plan) {
    std::vector<std::optional<SetId>> known(at(plan.sets->num_sets()));
    const auto set_of = [&](SetId id) {
      std::optional<SetId>& set = known[static_cast<std::size_t>(id)];
      if (!set) {
        const std::span<const Span> spans = plan.sets->spans(id);
        set = joined_.sets->of({spans.begin(), spans.end()});
      }
      return *set;
    };
    for (Message message : plan.messages) {
      message.box = {set_of(message.box.columns), set_of(message.box.outer), set_of(message.box.inner)};
      joined_.messages.push_back(message);
    }
  }

  Plan joined_;
  int lanes_;
  std::vector<OpId> last_;  // by rank and lane
};

std::int64_t latest(const RankLeads& ends) { return ends.empty() ? 0 : *std::ranges::max_element(ends); }

}  // namespace

JoinedPasses join_passes(std::span<const LayerPass> passes, const RankLeads& leads) {
  SPSCOPE_CHECK(!passes.empty());
  const int ranks = passes.front().plan->ranks;
  int lanes = 1;
  for (const LayerPass& pass : passes) {
    SPSCOPE_CHECK(pass.plan->ranks == ranks && pass.compute_ns.size() == pass.plan->ops.size());
    lanes = std::max(lanes, pass.plan->lanes);
  }
  JoinedPasses joined;
  std::vector<std::int64_t> host_ns(at(ranks), 0);
  Joiner joiner(*passes.front().plan, lanes);
  joiner.add_leads(leads, joined.compute_ns);
  joined.issue_ns.assign(joined.compute_ns.size(), 0);
  for (const LayerPass& pass : passes) {
    joiner.add(*pass.plan);
    joined.compute_ns.insert(joined.compute_ns.end(), pass.compute_ns.begin(), pass.compute_ns.end());
    const bool has_host = pass.host != nullptr && !pass.host->issue_ns.empty();
    for (std::size_t i = 0; i < pass.plan->ops.size(); ++i)
      joined.issue_ns.push_back(host_ns[at(pass.plan->ops[i].rank)] + (has_host ? pass.host->issue_ns[i] : 0));
    for (std::size_t rank = 0; has_host && rank < host_ns.size(); ++rank) host_ns[rank] += pass.host->end_ns[rank];
  }
  joined.plan = joiner.take();
  return joined;
}

ScheduledPasses schedule_passes(std::span<const LayerPass> passes, const Network& network, const RankLeads& leads,
                                const CancelToken* cancelled) {
  ScheduledPasses scheduled;
  if (passes.empty()) return scheduled;
  const JoinedPasses joined = join_passes(passes, leads);
  const Timeline whole = schedule(joined.plan, joined.compute_ns, network, joined.issue_ns, cancelled);

  RankLeads ends = leads;  // by rank, on the clock of the whole
  ends.resize(at(joined.plan.ranks), 0);
  std::size_t first = joined.plan.ops.size();
  for (const LayerPass& pass : passes) first -= pass.plan->ops.size();
  for (const LayerPass& pass : passes) {
    ScheduledPass& made = scheduled.passes.emplace_back();
    const std::int64_t end_before = latest(ends);
    const auto begin = whole.ops.begin() + static_cast<std::ptrdiff_t>(first);
    made.timeline.ops.assign(begin, begin + static_cast<std::ptrdiff_t>(pass.plan->ops.size()));
    std::int64_t zero = end_before;
    for (const OpTimes& times : made.timeline.ops) zero = std::min(zero, times.post_ns);
    for (std::size_t i = 0; i < pass.plan->ops.size(); ++i) {
      OpTimes& times = made.timeline.ops[i];
      std::int64_t& end = ends[at(pass.plan->ops[i].rank)];
      end = std::max(end, times.end_ns);
      times.post_ns -= zero, times.begin_ns -= zero, times.end_ns -= zero;
    }
    made.makespan_ns = latest(ends) - end_before;
    made.lead_ns = end_before - zero;
    first += pass.plan->ops.size();
  }
  const std::int64_t earliest = *std::ranges::min_element(ends);
  for (std::int64_t& end : ends) end -= earliest;
  scheduled.leads = std::move(ends);
  return scheduled;
}

}  // namespace spscope
