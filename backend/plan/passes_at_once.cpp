#include "backend/plan/passes_at_once.h"

#include <algorithm>
#include <span>
#include <utility>

#include "backend/base/check.h"

namespace spscope {
namespace {

// Adds the plan of one pass after what the whole plan has: every id and rank moves by what was there before.
class Appender {
 public:
  Appender(Plan& whole, const Plan& pass, int number, int attentions)
      : whole_(whole),
        pass_(pass),
        rank_(number * pass.ranks),
        layer_(number * attentions),
        op_(size_of(whole.ops)),
        post_(size_of(whole.posts)),
        value_(size_of(whole.values)),
        acc_(size_of(whole.accumulators)),
        message_(size_of(whole.messages)),
        group_(size_of(whole.groups)),
        dep_ref_(size_of(whole.dep_refs)),
        message_ref_(size_of(whole.message_refs)),
        value_ref_(size_of(whole.value_refs)),
        group_ref_(size_of(whole.group_refs)),
        member_(size_of(whole.group_members)) {}

  void append() {
    for (const Value& value : pass_.values) add(value);
    for (const Accumulator& acc : pass_.accumulators)
      whole_.accumulators.push_back({value_ + acc.q, acc.axis, acc.mask});
    for (const Post& post : pass_.posts) add(post);
    for (const Op& op : pass_.ops) add(op);
    for (const Message& m : pass_.messages) whole_.messages.push_back({rank_ + m.src, rank_ + m.dst, m.box, m.bytes});
    for (const IdRange members : pass_.groups) whole_.groups.push_back(moved(members, member_));
    for (const Output& output : pass_.outputs)
      whole_.outputs.push_back({value_ + output.value, placed(output.placement)});
    add_all(whole_.dep_refs, pass_.dep_refs, op_);
    add_all(whole_.message_refs, pass_.message_refs, message_);
    add_all(whole_.value_refs, pass_.value_refs, value_);
    add_all(whole_.group_refs, pass_.group_refs, group_);
    add_all(whole_.group_members, pass_.group_members, rank_);
  }

 private:
  template <typename T>
  static std::int32_t size_of(const std::vector<T>& list) {
    return static_cast<std::int32_t>(list.size());
  }
  static IdRange moved(IdRange range, std::int32_t by) {
    return range.empty() ? IdRange() : IdRange{range.begin + by, range.end + by};
  }
  static std::int32_t moved(std::int32_t id, std::int32_t by) { return id == kNone ? kNone : id + by; }
  static void add_all(std::vector<std::int32_t>& to, const std::vector<std::int32_t>& from, std::int32_t by) {
    for (const std::int32_t id : from) to.push_back(id + by);
  }

  Placement placed(const Placement& placement) const {
    return Placement::make(whole_.ranks, [&](int rank) {
      const int of_pass = rank - rank_;
      if (of_pass < 0 || of_pass >= pass_.ranks) return BoxList();
      const std::span<const Box> boxes = placement.at(of_pass);
      return BoxList(boxes.begin(), boxes.end());
    });
  }
  void add(Value value) {
    value.placement = placed(value.placement);
    value.layer += layer_;
    value.pending = moved(value.pending, group_ref_);
    value.partial = moved(value.partial, acc_);
    value.sources = moved(value.sources, value_ref_);
    whole_.values.push_back(std::move(value));
  }
  void add(Post post) {
    post.src = moved(post.src, value_);
    post.dst = moved(post.dst, value_);
    post.operands = moved(post.operands, value_ref_);
    post.acc = moved(post.acc, acc_);
    whole_.posts.push_back(post);
  }
  void add(Op op) {
    op.post += post_;
    op.rank += rank_;
    op.group = moved(op.group, group_);
    op.deps = moved(op.deps, dep_ref_);
    op.messages = moved(op.messages, message_ref_);
    whole_.ops.push_back(op);
  }

  Plan& whole_;
  const Plan& pass_;
  const int rank_, layer_;
  const std::int32_t op_, post_, value_, acc_, message_, group_;
  const std::int32_t dep_ref_, message_ref_, value_ref_, group_ref_, member_;
};

}  // namespace

Plan passes_at_once(const Plan& pass, int passes, int attentions) {
  SPSCOPE_CHECK(passes >= 1);
  Plan whole;
  whole.ranks = passes * pass.ranks;
  whole.lanes = pass.lanes;
  whole.batch = pass.batch;
  whole.dtype = pass.dtype;
  std::ranges::copy(pass.num_columns, whole.num_columns);
  std::ranges::copy(pass.tensor_width, whole.tensor_width);
  whole.outer_tokens = pass.outer_tokens;
  whole.inner_tokens = pass.inner_tokens;
  whole.sets = pass.sets;
  whole.masks = pass.masks;
  whole.kernels = pass.kernels;
  for (int number = 0; number < passes; ++number) Appender(whole, pass, number, attentions).append();
  return whole;
}

Request request_of_pass(const Request& at_once) {
  Request request = at_once;
  request.ranks = at_once.ranks / at_once.passes;
  request.passes = 1;
  request.outputs.resize(at_once.outputs.size() / static_cast<std::size_t>(at_once.passes));
  return request;
}

std::vector<std::vector<int>> groups_at_once(const std::vector<std::vector<int>>& of_pass, int passes, int pass_ranks) {
  std::vector<std::vector<int>> groups;
  for (int number = 0; number < passes; ++number)
    for (std::vector<int> group : of_pass) {
      for (int& rank : group) rank += number * pass_ranks;
      groups.push_back(std::move(group));
    }
  return groups;
}

}  // namespace spscope
