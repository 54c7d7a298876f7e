// Rule type: operands and results of each kind of op; and rule reduce, as far as it concerns the making of shares.
#include <fmt/format.h>

#include <algorithm>

#include "backend/base/stop_point.h"
#include "backend/plan/layer_kernels.h"
#include "backend/plan/verify_internal.h"

namespace spscope::verifying {
namespace {

bool same_groups(const Plan& plan, const Value& a, const Value& b) {
  return std::ranges::equal(plan.group_list(a.pending), plan.group_list(b.pending));
}

// Same tensor, with any placement.
bool same_tensor(const Value& a, const Value& b) {
  return a.tensors == b.tensors && a.columns == b.columns && a.layer == b.layer && a.partial == b.partial;
}

bool same_tokens(const Box& a, const Box& b) { return a.outer == b.outer && a.inner == b.inner; }

class Types {
 public:
  Types(const Context& c, Findings& found) : c_(c), p_(c.plan), found_(found) {}

  void check() {
    for (ValueId id = 0; id < static_cast<ValueId>(p_.values.size()); ++id, stop_point()) check_value(id);
    for (PostId id = 0; id < static_cast<PostId>(p_.posts.size()); ++id, stop_point()) check_post(id);
    for (OpId id = 0; id < static_cast<OpId>(p_.ops.size()); ++id) {
      stop_point();
      const Op& op = p_.ops[at(id)];
      if (p_.kind_of(op) != PostKind::kAttend) check_work(id, op);
    }
  }

 private:
  void bad_value(ValueId id, const char* what) { found_.add(Rule::kType, fmt::format("value {} {}", id, what)); }
  void bad_post(PostId id, const char* what) {
    found_.add(Rule::kType, fmt::format("post {} ({}) {}", id, post_kind_name(p_.posts[at(id)].kind), what));
  }

  void check_value(ValueId id) {
    const Value& v = c_.value(id);
    if ((v.partial != kNone) != (v.tensors == kPartialRows)) bad_value(id, "is marked as unfinished rows wrongly");
    if (v.given && (!v.sources.empty() || !v.pending.empty() || v.partial != kNone))
      bad_value(id, "is an input and also a view, a pending sum or unfinished rows");
    for (int rank = 0; rank < p_.ranks; ++rank) {
      if ((v.given || !v.sources.empty()) && !c_.index.makers(id, rank).empty())
        bad_value(id, "is an input or a view and also made by an op");
      check_disjoint(id, v.placement.at(rank));
    }
    if (!v.sources.empty()) check_view(id);
  }

  void check_disjoint(ValueId id, std::span<const Box> boxes) {
    for (std::size_t i = 1; i < boxes.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (meet(c_.sets, boxes[i], boxes[j])) bad_value(id, "holds a part twice at one rank");
  }

  void check_view(ValueId id) {
    const Value& v = c_.value(id);
    for (ValueId source : p_.value_list(v.sources))
      if (!same_tensor(v, c_.value(source)) || !same_groups(p_, v, c_.value(source)))
        bad_value(id, "is a view of another tensor");
    BoxList held;
    for (int rank = 0; rank < p_.ranks; ++rank) {
      held.clear();
      for (ValueId source : p_.value_list(v.sources))
        held.insert(held.end(), c_.value(source).placement.at(rank).begin(), c_.value(source).placement.at(rank).end());
      for (const Box& box : v.placement.at(rank))
        if (!covered(c_.sets, box, held)) return bad_value(id, "is a view of more than its sources hold");
    }
  }

  void check_post(PostId id) {
    const Post& post = p_.posts[at(id)];
    switch (post.kind) {
      case PostKind::kLocal:
        return check_local(id, post);
      case PostKind::kAttend:
      case PostKind::kMerge:
        return check_rows(id, post);
      case PostKind::kFinish:
        return check_finish(id, post);
      case PostKind::kCopy:
      case PostKind::kExchange:
      case PostKind::kPull:
      case PostKind::kPush:
      case PostKind::kReduce:
        return check_move(id, post);
      case PostKind::kBarrier:
        return;
    }
  }

  void check_move(PostId id, const Post& post) {
    const Value &from = c_.value(post.src), &to = c_.value(post.dst);
    if (!same_tensor(from, to)) bad_post(id, "changes the tensor that it moves");
    const bool adds = post.kind == PostKind::kReduce;
    if (from.pending.empty() == adds || (!to.pending.empty() && (!adds || !same_groups(p_, from, to))))
      bad_post(id, "must add pending shares, and only a reduce may");
    if (!adds) return;
    for (ValueId own : p_.value_list(post.operands))
      if (!same_tensor(from, c_.value(own)) || !same_groups(p_, from, c_.value(own)))
        bad_post(id, "adds shares of different sums");
    const auto pending_in = [&](GroupId group) {
      return std::ranges::any_of(p_.group_list(from.pending), [&](GroupId whole) {
        return std::ranges::all_of(p_.group(group), [&](int rank) { return c_.index.member(whole, rank); });
      });
    };
    for (OpId op : c_.index.ops_of_post(id))
      if (p_.ops[at(op)].group == kNone || !pending_in(p_.ops[at(op)].group))
        return found_.add(Rule::kReduce, fmt::format("op {} adds shares of a group that has none pending", op));
  }

  void check_local(PostId id, const Post& post) {
    const Kernel& kernel = p_.kernels[at(post.kernel)];
    const Value &from = c_.value(post.src), &to = c_.value(post.dst);
    const TensorSet tensors = kernel.contracts ? kernel.tensors : from.tensors;
    const bool adds = adds_shares(kernel);
    if (from.columns != kernel.in || to.columns != kernel.out || to.tensors != tensors || to.layer != from.layer)
      bad_post(id, "has operands that its kernel does not take");
    if (from.pending.empty() == adds || from.partial != kNone || to.partial != kNone)
      bad_post(id, adds ? "adds shares of no pending sum" : "reads unfinished data");
    if (adds) return check_added_shares(id, post);
    for (OpId op : c_.index.ops_of_post(id)) check_local_op(id, post, kernel, p_.ops[at(op)].rank);
    const SetId all = c_.all_columns(kernel.in);
    const bool shares = kernel.contracts &&
                        std::ranges::any_of(from.placement.boxes(), [&](const Box& box) { return box.columns != all; });
    if (shares && to.pending.empty())
      found_.add(Rule::kReduce, fmt::format("value {} is not marked as the pending sum that it is", post.dst));
    if (!kernel.contracts && !to.pending.empty())
      found_.add(Rule::kReduce, fmt::format("value {} has a sum pending that its kernel does not make", post.dst));
    for (GroupId group : p_.group_list(to.pending)) check_shares(post, group, all);
  }

  // Every operand is pending in the same groups, and so is the result, box by box.
  void check_added_shares(PostId id, const Post& post) {
    const Value &from = c_.value(post.src), &to = c_.value(post.dst);
    std::vector<ValueId> all(p_.value_list(post.operands).begin(), p_.value_list(post.operands).end());
    all.push_back(post.dst);
    for (ValueId other : all)
      if (!same_tensor(from, c_.value(other)) || !same_groups(p_, from, c_.value(other)))
        return bad_post(id, "adds shares of sums that are not pending in the same groups");
    for (OpId op : c_.index.ops_of_post(id)) {
      const int rank = p_.ops[at(op)].rank;
      const auto here = from.placement.at(rank);
      if (!std::ranges::equal(here, to.placement.at(rank)))
        bad_post(id, "has a result of other tokens than its operand");
      for (ValueId operand : p_.value_list(post.operands))
        for (const Box& box : here)
          if (!covered(c_.sets, box, c_.value(operand).placement.at(rank))) bad_post(id, "lacks a part of an operand");
    }
  }

  // Result and operands have the tokens of the source, box by box.
  void check_local_op(PostId id, const Post& post, const Kernel& kernel, int rank) {
    const auto here = c_.value(post.src).placement.at(rank), made = c_.value(post.dst).placement.at(rank);
    const bool same = std::ranges::equal(here, made, [&](const Box& a, const Box& b) {
      return same_tokens(a, b) && (kernel.contracts || a.columns == b.columns);
    });
    const bool zeros = here.empty() && !c_.value(post.dst).pending.empty();
    if (!same && !zeros) bad_post(id, "has a result of other tokens than its operand");
    const auto whole = [&](const Value& v) {
      return std::ranges::all_of(v.placement.at(rank),
                                 [&](const Box& box) { return box.columns == c_.all_columns(v.columns); });
    };
    if (kernel.whole_rows && !whole(c_.value(post.src))) bad_post(id, "needs whole rows and has some columns of them");
    for (ValueId operand : p_.value_list(post.operands)) {
      const Value& v = c_.value(operand);
      if (!v.pending.empty() || v.partial != kNone || v.layer != c_.value(post.src).layer)
        bad_post(id, "reads unfinished data or another layer");
      for (Box box : here) {
        if (v.columns != kernel.in) box.columns = c_.all_columns(v.columns);
        if (!covered(c_.sets, box, v.placement.at(rank))) bad_post(id, "lacks a part of an operand");
      }
    }
  }

  // The input columns that the members of a group contract are disjoint and together all of them. A member that holds
  // none has a share of zeros.
  void check_shares(const Post& post, GroupId group, SetId all) {
    std::vector<SetId> shares;
    std::int64_t count = 0;
    for (int rank : p_.group(group)) {
      const auto boxes = c_.value(post.src).placement.at(rank);
      const bool uniform =
          std::ranges::all_of(boxes, [&](const Box& box) { return box.columns == boxes.front().columns; });
      if (!uniform)
        return found_.add(Rule::kReduce, fmt::format("rank {} has no share of value {} to add", rank, post.dst));
      if (boxes.empty()) continue;
      shares.push_back(boxes.front().columns);
      count += c_.sets.size(shares.back());
    }
    if (count != c_.sets.size(all) || c_.sets.unite(shares) != all)
      found_.add(Rule::kReduce, fmt::format("shares of value {} in group {} do not add up", post.dst, group));
  }

  void check_rows(PostId id, const Post& post) {
    const Accumulator& acc = c_.accumulator(post.acc);
    const Value &q = c_.value(acc.q), &from = c_.value(post.src);
    if (q.tensors != kQueries || !q.pending.empty()) bad_post(id, "has an accumulator without queries");
    if (from.layer != q.layer || !from.pending.empty()) bad_post(id, "reads unfinished data or another layer");
    if (post.kind == PostKind::kAttend) {
      if (from.tensors != kKeysValues) bad_post(id, "attends to a value other than keys and values");
      return;
    }
    if (from.partial == kNone || c_.accumulator(from.partial).axis != acc.axis ||
        c_.accumulator(from.partial).mask != acc.mask)
      bad_post(id, "merges a value other than unfinished rows of this attention");
  }

  void check_finish(PostId id, const Post& post) {
    const Accumulator& acc = c_.accumulator(post.acc);
    const Value &q = c_.value(acc.q), &rows = c_.value(post.dst);
    if (q.tensors != kQueries || !q.pending.empty()) bad_post(id, "has an accumulator without queries");
    const bool tensors = rows.tensors == (rows.partial == kNone ? kOutputs : kPartialRows);
    if (!tensors || rows.layer != q.layer || !rows.pending.empty() ||
        (rows.partial != kNone && rows.partial != post.acc))
      bad_post(id, "has a result other than its rows");
    for (OpId op : c_.index.ops_of_post(id)) {
      const int rank = p_.ops[at(op)].rank;
      if (!std::ranges::equal(rows.placement.at(rank), q.placement.at(rank)))
        return bad_post(id, "has other rows than its accumulator");
    }
  }

  // FLOPs of a local kernel follow from its shapes; attends are counted on the mask.
  void check_work(OpId id, const Op& op) {
    const Post& post = p_.post_of(op);
    std::int64_t flops = 0;
    if (post.kind == PostKind::kLocal) {
      const Kernel& kernel = p_.kernels[at(post.kernel)];
      const Value &from = c_.value(post.src), &to = c_.value(post.dst);
      const auto here = from.placement.at(op.rank), made = to.placement.at(op.rank);
      std::vector<SetId> columns;
      for (std::size_t i = 0; i < std::min(here.size(), made.size()); ++i) {
        const std::int64_t cells = volume(c_.sets, here[i]) * p_.batch, elements = cells * p_.width(from.tensors);
        if (kernel.contracts)
          flops += 2 * elements * c_.sets.size(made[i].columns) * p_.width(to.tensors);
        else
          flops += kernel.flops_per_cell > 0 ? cells * kernel.flops_per_cell : elements;
        columns.push_back(here[i].columns);
      }
      if (!kernel.contracts) flops += kernel.flops_per_column * c_.sets.size(c_.sets.unite(columns)) * p_.batch;
    }
    if (op.flops != flops || op.tiles != 0 || op.heads != kEmptySet || op.seq != kEmptySet || op.q != kEmptySet ||
        op.k != kEmptySet)
      found_.add(Rule::kType,
                 fmt::format("op {} ({}) states work other than that of its shapes", id, post_kind_name(post.kind)));
  }

  const Context& c_;
  const Plan& p_;
  Findings& found_;
};

}  // namespace

void check_types(const Context& c, Findings& found) { Types(c, found).check(); }

}  // namespace spscope::verifying
