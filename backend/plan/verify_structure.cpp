// Rules dangling, type (shapes) and mask (which one): everything that the other checks take for granted.
#include <fmt/format.h>

#include <algorithm>

#include "backend/plan/verify_internal.h"

namespace spscope::verifying {
namespace {

class Structure {
 public:
  Structure(const Plan& plan, const Request& request, Findings& found) : p_(plan), request_(request), found_(found) {}

  void check() {
    check_shape();
    if (!found_.empty()) return;
    check_references();
    if (!found_.empty()) return;
    check_groups();
    check_accumulators();
    check_kernels();
    for (std::size_t i = 0; i < p_.values.size(); ++i) check_value(static_cast<ValueId>(i));
    for (std::size_t i = 0; i < p_.posts.size(); ++i) check_post(static_cast<PostId>(i));
    for (std::size_t i = 0; i < p_.messages.size(); ++i) check_message(static_cast<MessageId>(i));
    for (std::size_t i = 0; i < p_.outputs.size(); ++i)
      if (!within(p_.outputs[i].value, p_.values.size()) || !placed(p_.outputs[i].placement, Box()))
        dangling("output", static_cast<std::int32_t>(i));
    if (!found_.empty()) return;
    for (std::size_t i = 0; i < p_.ops.size(); ++i) check_op(static_cast<OpId>(i));
  }

 private:
  static bool within(std::int32_t id, std::size_t count) { return 0 <= id && at(id) < count; }
  static bool within(IdRange range, std::size_t count) {
    return 0 <= range.begin && range.begin <= range.end && at(range.end) <= count;
  }
  static bool absent_or_within(std::int32_t id, std::size_t count) { return id == kNone || within(id, count); }
  static bool known(Axis axis) { return static_cast<int>(axis) < kNumAxes; }
  static bool known(AttendedAxis axis) { return axis == AttendedAxis::kOuter || axis == AttendedAxis::kInner; }
  template <typename Id>
  static bool all_within(const std::vector<Id>& ids, std::size_t count) {
    return std::ranges::all_of(ids, [&](Id id) { return within(id, count); });
  }
  // A set of indices in [0, count).
  bool inside(SetId id, std::int32_t count) const {
    if (!p_.sets->has(id)) return false;
    const auto spans = p_.sets->spans(id);
    return spans.empty() || (spans.front().begin >= 0 && spans.back().end <= count);
  }
  bool inside(const Box& box, std::int32_t columns) const {
    return inside(box.columns, columns) && inside(box.outer, p_.outer_tokens) && inside(box.inner, p_.inner_tokens);
  }
  void dangling(const char* what, std::int32_t id) {
    found_.add(Rule::kDangling, fmt::format("{} {} refers to what the plan does not have", what, id));
  }

  void check_shape() {
    const auto same = [&](const char* what, std::int64_t have, std::int64_t want) {
      if (have != want) found_.add(Rule::kType, fmt::format("the plan has {} {}, the request {}", what, have, want));
    };
    same("ranks", p_.ranks, request_.ranks);
    same("batch", p_.batch, request_.batch);
    same("dtype", static_cast<int>(p_.dtype), static_cast<int>(request_.dtype));
    same("outer tokens", p_.outer_tokens, request_.outer_tokens);
    same("inner tokens", p_.inner_tokens, request_.inner_tokens);
    for (int a = 0; a < kNumAxes; ++a) same("columns", p_.num_columns[a], request_.num_columns(static_cast<Axis>(a)));
    for (int t = 0; t < kNumTensors; ++t)
      same(tensor_name(static_cast<Tensor>(t)), p_.tensor_width[t], request_.tensor_width(static_cast<Tensor>(t)));
    if (!p_.sets || p_.sets != request_.sets)
      found_.add(Rule::kDangling, "the plan does not use the sets of the request");
    int lanes = 1;
    for (const Post& post : p_.posts) lanes = std::max(lanes, post.lane < kMaxLanes ? post.lane + 1 : 1);
    same("lanes", p_.lanes, lanes);
  }

  void check_references() {
    if (!all_within(p_.dep_refs, p_.ops.size())) dangling("a dependency among", static_cast<int>(p_.dep_refs.size()));
    if (!all_within(p_.message_refs, p_.messages.size()))
      dangling("a message among", static_cast<int>(p_.message_refs.size()));
    if (!all_within(p_.value_refs, p_.values.size())) dangling("a value among", static_cast<int>(p_.value_refs.size()));
    if (!all_within(p_.group_refs, p_.groups.size())) dangling("a group among", static_cast<int>(p_.group_refs.size()));
    if (!all_within(p_.group_members, at(p_.ranks)))
      dangling("a rank among", static_cast<int>(p_.group_members.size()));
  }

  void check_groups() {
    std::vector<GroupId> last_group(at(p_.ranks), kNone);
    for (GroupId id = 0; at(id) < p_.groups.size(); ++id) {
      if (!within(p_.groups[at(id)], p_.group_members.size())) {
        dangling("group", id);
        continue;
      }
      if (p_.group(id).empty()) found_.add(Rule::kDangling, fmt::format("group {} has no rank", id));
      for (int rank : p_.group(id))
        if (std::exchange(last_group[at(rank)], id) == id)
          found_.add(Rule::kDangling, fmt::format("group {} has rank {} twice", id, rank));
    }
  }

  // A mask is one that the request runs, in slices that a block can have.
  void check_accumulators() {
    for (std::size_t i = 0; i < p_.masks.size(); ++i) {
      const MaskUse& use = p_.masks[i];
      if (!known(use.axis) || !request_.attends(use.axis) || use.slices < 1 || use.slices > kMaxBlockTokens)
        found_.add(Rule::kMask, fmt::format("mask {} is none of the request", i));
    }
    for (std::size_t i = 0; i < p_.accumulators.size(); ++i) {
      const Accumulator& acc = p_.accumulators[i];
      if (!within(acc.q, p_.values.size()) || !within(acc.mask, p_.masks.size()) || !known(acc.axis))
        dangling("accumulator", static_cast<AccId>(i));
      else if (acc.axis != p_.masks[at(acc.mask)].axis)
        found_.add(Rule::kMask, fmt::format("accumulator {} runs along another axis than its mask", i));
    }
  }

  // A contracting kernel is the request's; any other changes neither columns nor tensors.
  void check_kernels() {
    for (std::size_t i = 0; i < p_.kernels.size(); ++i) {
      const Kernel& kernel = p_.kernels[i];
      if (!known(kernel.in) || !known(kernel.out)) dangling("kernel", static_cast<KernelId>(i));
      const auto wanted = std::ranges::find(request_.kernels, kernel.name, &Kernel::name);
      const bool right =
          wanted == request_.kernels.end() ? !kernel.contracts && kernel.in == kernel.out : kernel == *wanted;
      if (!right) found_.add(Rule::kType, fmt::format("kernel {} ({}) is not that of the request", i, kernel.name));
    }
  }

  bool placed(const Placement& placement, const Box& whole) const {
    if (placement.ranks() != p_.ranks) return false;
    return std::ranges::all_of(placement.boxes(), [&](const Box& box) {
      return whole.empty() ? p_.sets->has(box.columns) && p_.sets->has(box.outer) && p_.sets->has(box.inner)
                           : inside(box, static_cast<std::int32_t>(p_.sets->size(whole.columns)));
    });
  }

  void check_value(ValueId id) {
    const Value& v = p_.values[at(id)];
    if (!known(v.columns) || v.tensors.empty() || v.tensors.bits >> kNumTensors != 0 ||
        !within(v.pending, p_.group_refs.size()) || !within(v.sources, p_.value_refs.size()) ||
        !absent_or_within(v.partial, p_.accumulators.size()))
      return dangling("value", id);
    const Box whole{p_.sets->span(0, p_.num_columns[static_cast<int>(v.columns)]), p_.sets->span(0, p_.outer_tokens),
                    p_.sets->span(0, p_.inner_tokens)};
    if (!placed(v.placement, whole))
      found_.add(Rule::kDangling, fmt::format("value {} lies outside of its tensor", id));
    for (ValueId source : p_.value_list(v.sources))
      if (source >= id || !p_.values[at(source)].sources.empty())
        found_.add(Rule::kDangling, fmt::format("view {} is made of a later value or of a view", id));
    for (int t = 0; t < kNumTensors; ++t)
      if (v.tensors.has(static_cast<Tensor>(t)) && columns_of(static_cast<Tensor>(t)) != v.columns)
        found_.add(Rule::kType, fmt::format("value {} lays {} along columns it does not have", id,
                                            tensor_name(static_cast<Tensor>(t))));
  }

  // The operands that a kind has, and no others.
  void check_post(PostId id) {
    const Post& post = p_.posts[at(id)];
    if (static_cast<int>(post.kind) >= kNumPostKinds) return dangling("post", id);
    const bool local = post.kind == PostKind::kLocal, carries = moves(post.kind) || post.kind == PostKind::kReduce;
    const bool attends = post.kind == PostKind::kAttend || post.kind == PostKind::kMerge;
    const bool finishes = post.kind == PostKind::kFinish;
    const auto right = [](bool wanted, std::int32_t ref, std::size_t count) {
      return wanted ? within(ref, count) : ref == kNone;
    };
    if (!right(local || carries || attends, post.src, p_.values.size()) ||
        !right(local || carries || finishes, post.dst, p_.values.size()) ||
        !right(attends || finishes, post.acc, p_.accumulators.size()) ||
        !right(local, post.kernel, p_.kernels.size()) || !within(post.operands, p_.value_refs.size()) ||
        (!local && !post.operands.empty()))
      found_.add(Rule::kDangling,
                 fmt::format("post {} ({}) lacks an operand or has one too many", id, post_kind_name(post.kind)));
    if (post.lane < 0 || post.lane >= p_.lanes || (post.lane == 0) == communicates(post.kind))
      found_.add(Rule::kDangling, fmt::format("post {} ({}) is on lane {}", id, post_kind_name(post.kind), post.lane));
  }

  void check_message(MessageId id) {
    const Message& m = p_.messages[at(id)];
    if (!within(m.src, at(p_.ranks)) || !within(m.dst, at(p_.ranks)) || !p_.sets->has(m.box.columns) ||
        !p_.sets->has(m.box.outer) || !p_.sets->has(m.box.inner))
      dangling("message", id);
  }

  void check_op(OpId id) {
    const Op& op = p_.ops[at(id)];
    if (!within(op.post, p_.posts.size()) || !within(op.rank, at(p_.ranks)) || !within(op.deps, p_.dep_refs.size()) ||
        !within(op.messages, p_.message_refs.size()) || !absent_or_within(op.group, p_.groups.size()))
      return dangling("op", id);
    const Post& post = p_.post_of(op);
    const bool carries = moves(post.kind) || post.kind == PostKind::kReduce;
    if ((op.group == kNone) == communicates(post.kind) || (!carries && !op.messages.empty()))
      found_.add(Rule::kDangling,
                 fmt::format("op {} ({}) has a group or messages amiss", id, post_kind_name(post.kind)));
    if (post.kind == PostKind::kAttend) check_attended_sets(id, p_.accumulators[at(post.acc)].axis);
  }

  void check_attended_sets(OpId id, AttendedAxis axis) {
    const Op& op = p_.ops[at(id)];
    const bool inner = axis == AttendedAxis::kInner;
    const std::int32_t attended = inner ? p_.inner_tokens : p_.outer_tokens;
    const std::int32_t sequences = inner ? p_.outer_tokens : p_.inner_tokens;
    if (!inside(op.heads, p_.num_columns[static_cast<int>(Axis::kHeads)]) || !inside(op.seq, sequences) ||
        !inside(op.q, attended) || !inside(op.k, attended))
      found_.add(Rule::kDangling, fmt::format("op {} (attend) reaches outside of the tensor", id));
  }

  // More lanes than any strategy has use for; keeps the tables of a damaged plan small.
  static constexpr int kMaxLanes = 1024;

  const Plan& p_;
  const Request& request_;
  Findings& found_;
};

}  // namespace

void check_structure(const Plan& plan, const Request& request, Findings& found) {
  Structure(plan, request, found).check();
}

}  // namespace spscope::verifying
