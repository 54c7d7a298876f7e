// The form of a plan: every id, set and list is valid and can be followed at a cost bounded by the plan's size, and no
// sum over it overflows. It needs no request, so that plans from files can be checked too.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backend/base/stop_point.h"
#include "backend/mask/block_mask.h"
#include "backend/plan/verify_internal.h"

namespace spscope::verifying {
namespace {

// More lanes than any strategy has use for.
constexpr int kMaxLanes = 1024;
// Entries of tables by rank and (value, accumulator, group, lane or post): a ring of 8,192 ranks needs as many.
constexpr std::int64_t kMaxTableEntries = std::int64_t{1} << 27;
// Boxes and sources that following every op once may visit; layers on 1,024 ranks have some millions.
constexpr std::int64_t kMaxVisits = std::int64_t{1} << 28;
// Sums of FLOPs, tiles and bytes, and elements of a tensor, stay far from the end of 64 bits.
constexpr std::int64_t kMaxSum = std::int64_t{1} << 60;

// Both clip at kMaxSum + 1. REQUIRES: nothing negative.
std::int64_t clipped_sum(std::int64_t a, std::int64_t b) {
  return a > kMaxSum || b > kMaxSum - a ? kMaxSum + 1 : a + b;
}
std::int64_t clipped_product(std::int64_t a, std::int64_t b) { return a != 0 && b > kMaxSum / a ? kMaxSum + 1 : a * b; }

class Form {
 public:
  Form(const Plan& plan, Findings& found) : p_(plan), found_(found) {}

  void check() {
    for (const auto step : {&Form::check_shape, &Form::check_references, &Form::check_records, &Form::check_ops,
                            &Form::check_sums, &Form::check_visits}) {
      (this->*step)();
      if (!found_.empty()) return;
    }
  }

 private:
  static bool within(std::int32_t id, std::size_t count) { return 0 <= id && at(id) < count; }
  static bool within(IdRange range, std::size_t count) {
    return 0 <= range.begin && range.begin <= range.end && at(range.end) <= count;
  }
  static bool absent_or_within(std::int32_t id, std::size_t count) { return id == kNone || within(id, count); }
  static bool known(Axis axis) { return static_cast<int>(axis) < kNumAxes; }
  static bool known(AttendedAxis axis) { return axis == AttendedAxis::kOuter || axis == AttendedAxis::kInner; }
  // A set of indices in [0, count).
  bool inside(SetId id, std::int32_t count) const {
    if (!p_.sets->has(id)) return false;
    const auto spans = p_.sets->spans(id);
    return spans.empty() || (spans.front().begin >= 0 && spans.back().end <= count);
  }
  bool inside(const Box& box, std::int32_t columns) const {
    return inside(box.columns, columns) && inside(box.outer, p_.outer_tokens) && inside(box.inner, p_.inner_tokens);
  }
  std::int32_t columns(const Value& v) const { return p_.num_columns[static_cast<int>(v.columns)]; }
  void dangling(const char* what, std::int32_t id) {
    found_.add(Rule::kDangling, fmt::format("{} {} has an id out of range", what, id));
  }

  void check_shape() {
    const auto at_least = [&](const char* what, std::int64_t have, std::int64_t least) {
      if (have < least) found_.add(Rule::kType, fmt::format("the plan has {} {}", what, have));
    };
    if (!p_.sets) return found_.add(Rule::kDangling, "the plan has no sets");
    at_least("ranks", p_.ranks, 1);
    at_least("batch", p_.batch, 1);
    at_least("outer tokens", p_.outer_tokens, 1);
    at_least("inner tokens", p_.inner_tokens, 1);
    std::int64_t columns = 1, width = 0;
    for (std::int32_t count : p_.num_columns) {
      at_least("columns", count, 0);
      columns = std::max<std::int64_t>(columns, count);
    }
    for (int t = 0; t < kNumTensors; ++t) {
      at_least(tensor_name(static_cast<Tensor>(t)), p_.tensor_width[t], 1);
      width += p_.tensor_width[t];
    }
    int lanes = 1;
    for (const Post& post : p_.posts) lanes = std::max(lanes, post.lane < kMaxLanes ? post.lane + 1 : 1);
    if (p_.lanes != lanes)
      found_.add(Rule::kType, fmt::format("the plan states {} lanes, its posts use {}", p_.lanes, lanes));
    if (!found_.empty()) return;
    std::int64_t elements = std::int64_t{p_.batch} * 8;  // no element has as many bytes
    for (std::int64_t factor : {columns, width, std::int64_t{p_.outer_tokens}, std::int64_t{p_.inner_tokens}})
      elements = clipped_product(elements, factor);
    if (elements > kMaxSum) found_.add(Rule::kType, "the tensors of the plan are too large to count");
    const std::size_t rows =
        p_.values.size() + p_.accumulators.size() + p_.groups.size() + p_.posts.size() + at(p_.lanes);
    if (clipped_product(static_cast<std::int64_t>(rows), p_.ranks) > kMaxTableEntries)
      found_.add(Rule::kType, fmt::format("the plan has too many values and posts for {} ranks", p_.ranks));
  }

  template <typename Id>
  void check_list(const char* what, const std::vector<Id>& ids, std::size_t count) {
    if (!std::ranges::all_of(ids, [&](Id id) { return within(id, count); }))
      dangling(what, static_cast<std::int32_t>(ids.size()));
  }

  // Each entry of a reference array belongs to one range, so that following all ranges takes bounded time.
  class Owners {
   public:
    explicit Owners(std::size_t entries) : owned_(entries, 0), left_(entries) {}
    // False when the range leaves the array or holds what another one holds.
    bool take(IdRange range) {
      if (!within(range, owned_.size())) return false;
      for (std::int32_t i = range.begin; i < range.end; ++i, --left_)
        if (std::exchange(owned_[at(i)], char{1}) != 0) return false;
      return true;
    }
    bool all_taken() const { return left_ == 0; }

   private:
    std::vector<char> owned_;
    std::size_t left_;
  };

  void check_references() {
    check_list("a dependency among", p_.dep_refs, p_.ops.size());
    check_list("a message among", p_.message_refs, p_.messages.size());
    check_list("a value among", p_.value_refs, p_.values.size());
    check_list("a group among", p_.group_refs, p_.groups.size());
    check_list("a rank among", p_.group_members, at(p_.ranks));
    Owners deps(p_.dep_refs.size()), messages(p_.message_refs.size()), values(p_.value_refs.size()),
        groups(p_.group_refs.size()), members(p_.group_members.size());
    const auto take = [&](Owners& owners, IdRange range, const char* what, std::size_t id) {
      const bool taken = owners.take(range);
      if (!taken) dangling(what, static_cast<std::int32_t>(id));
      return taken;
    };
    // The first range amiss ends each walk, since those after it may be as long as the array.
    for (std::size_t i = 0; i < p_.groups.size(); ++i)
      if (!take(members, p_.groups[i], "group", i)) return;
    for (std::size_t i = 0; i < p_.values.size(); ++i)
      if (!take(groups, p_.values[i].pending, "value", i) || !take(values, p_.values[i].sources, "value", i)) return;
    for (std::size_t i = 0; i < p_.posts.size(); ++i)
      if (!take(values, p_.posts[i].operands, "post", i)) return;
    for (std::size_t i = 0; i < p_.ops.size(); ++i)
      if (!take(deps, p_.ops[i].deps, "op", i) || !take(messages, p_.ops[i].messages, "op", i)) return;
    for (const Owners* owners : {&deps, &messages, &values, &groups, &members})
      if (!owners->all_taken()) return found_.add(Rule::kDangling, "a reference belongs to no range");
  }

  void check_records() {
    check_groups();
    check_accumulators();
    for (std::size_t i = 0; i < p_.kernels.size(); ++i)
      if (!known(p_.kernels[i].in) || !known(p_.kernels[i].out)) dangling("kernel", static_cast<KernelId>(i));
    for (std::size_t i = 0; i < p_.values.size(); ++i) check_value(static_cast<ValueId>(i));
    for (std::size_t i = 0; i < p_.posts.size(); ++i) check_post(static_cast<PostId>(i));
    for (std::size_t i = 0; i < p_.messages.size(); ++i) check_message(static_cast<MessageId>(i));
    for (std::size_t i = 0; i < p_.outputs.size(); ++i) check_output(static_cast<std::int32_t>(i));
  }

  void check_groups() {
    std::vector<GroupId> last_group(at(p_.ranks), kNone);
    for (GroupId id = 0; at(id) < p_.groups.size(); ++id) {
      if (p_.group(id).empty()) found_.add(Rule::kDangling, fmt::format("group {} has no rank", id));
      for (int rank : p_.group(id))
        if (std::exchange(last_group[at(rank)], id) == id)
          found_.add(Rule::kDangling, fmt::format("group {} has rank {} twice", id, rank));
    }
  }

  void check_accumulators() {
    for (std::size_t i = 0; i < p_.masks.size(); ++i)
      if (!known(p_.masks[i].axis) || p_.masks[i].slices < 1 || p_.masks[i].slices > kMaxBlockTokens)
        found_.add(Rule::kMask, fmt::format("mask {} has an invalid axis or number of slices", i));
    for (std::size_t i = 0; i < p_.accumulators.size(); ++i) {
      const Accumulator& acc = p_.accumulators[i];
      if (!within(acc.q, p_.values.size()) || !within(acc.mask, p_.masks.size()) || !known(acc.axis))
        dangling("accumulator", static_cast<AccId>(i));
      else if (acc.axis != p_.masks[at(acc.mask)].axis)
        found_.add(Rule::kMask, fmt::format("accumulator {} runs along another axis than its mask", i));
    }
  }

  bool placed(const Placement& placement, std::int32_t columns) const {
    return placement.ranks() == p_.ranks &&
           std::ranges::all_of(placement.boxes(), [&](const Box& box) { return inside(box, columns); });
  }

  void check_output(std::int32_t id) {
    const Output& output = p_.outputs[at(id)];
    if (!within(output.value, p_.values.size())) return dangling("output", id);
    const Value& v = p_.values[at(output.value)];
    if (!known(v.columns) || !placed(output.placement, columns(v))) dangling("output", id);
  }

  void check_value(ValueId id) {
    const Value& v = p_.values[at(id)];
    if (!known(v.columns) || v.tensors.empty() || v.tensors.bits >> kNumTensors != 0 ||
        !absent_or_within(v.partial, p_.accumulators.size()))
      return dangling("value", id);
    if (!placed(v.placement, columns(v)))
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
        !right(local, post.kernel, p_.kernels.size()) ||
        (!local && post.operands.size() > (post.kind == PostKind::kReduce ? 1 : 0)))
      found_.add(Rule::kDangling,
                 fmt::format("post {} ({}) lacks an operand or has one too many", id, post_kind_name(post.kind)));
    if (post.ring_step < 0 || (post.kind != PostKind::kAttend && post.ring_step != 0))
      found_.add(Rule::kType, fmt::format("post {} claims ring step {}", id, post.ring_step));
    if (static_cast<int>(post.collective) >= kNumCollectives || post.collective_steps < 1)
      found_.add(Rule::kType, fmt::format("post {} is a part of no collective", id));
    if (post.by_index && !(carries && communicates(post.kind)))
      found_.add(Rule::kType, fmt::format("post {} ({}) moves nothing by index", id, post_kind_name(post.kind)));
    if (post.balances && !carries)
      found_.add(Rule::kType,
                 fmt::format("post {} ({}) moves nothing that could balance", id, post_kind_name(post.kind)));
    if (post.lane < 0 || post.lane >= p_.lanes || (post.lane == 0) == communicates(post.kind))
      found_.add(Rule::kDangling, fmt::format("post {} ({}) is on lane {}", id, post_kind_name(post.kind), post.lane));
  }

  void check_message(MessageId id) {
    const Message& m = p_.messages[at(id)];
    const std::int32_t columns = *std::ranges::max_element(p_.num_columns);
    if (!within(m.src, at(p_.ranks)) || !within(m.dst, at(p_.ranks)) || !inside(m.box, columns))
      dangling("message", id);
  }

  void check_ops() {
    for (std::size_t i = 0; i < p_.ops.size(); ++i, stop_point()) check_op(static_cast<OpId>(i));
  }

  void check_op(OpId id) {
    const Op& op = p_.ops[at(id)];
    if (!within(op.post, p_.posts.size()) || !within(op.rank, at(p_.ranks)) ||
        !absent_or_within(op.group, p_.groups.size()))
      return dangling("op", id);
    const Post& post = p_.post_of(op);
    const bool carries = moves(post.kind) || post.kind == PostKind::kReduce;
    if ((op.group == kNone) == communicates(post.kind) || (!carries && !op.messages.empty()))
      found_.add(Rule::kDangling,
                 fmt::format("op {} ({}) has an invalid group or message list", id, post_kind_name(post.kind)));
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
  void check_sums() {
    std::int64_t flops = 0, tiles = 0, bytes = 0;
    bool negative = false;
    for (const Op& op : p_.ops) {
      negative = negative || op.flops < 0 || op.tiles < 0;
      if (negative) break;
      flops = clipped_sum(flops, op.flops);
      tiles = clipped_sum(tiles, op.tiles);
    }
    for (const Message& m : p_.messages) {
      negative = negative || m.bytes < 0;
      if (negative) break;
      bytes = clipped_sum(bytes, m.bytes);
    }
    if (negative || std::max({flops, tiles, bytes}) > kMaxSum)
      found_.add(Rule::kType, "the work or the bytes of the plan cannot be counted");
  }

  // What an op reads: every box of its values at its rank, each followed to the sources of a view; and of a merge every
  // pair of boxes.
  void check_visits() {
    std::int64_t visits = 0;
    const auto boxes = [&](ValueId id, int rank) {
      const Value& v = p_.values[at(id)];
      return static_cast<std::int64_t>(v.placement.at(rank).size() + 1) * (v.sources.size() + 1);
    };
    for (const Op& op : p_.ops) {
      const Post& post = p_.post_of(op);
      std::int64_t cost = 1;
      if (post.src != kNone) cost += boxes(post.src, op.rank);
      if (post.dst != kNone) cost += boxes(post.dst, op.rank);
      if (post.acc != kNone) {
        const std::int64_t rows = boxes(p_.accumulators[at(post.acc)].q, op.rank);
        cost = post.kind == PostKind::kMerge ? clipped_product(cost, rows) : cost + rows;
      }
      visits = clipped_sum(visits, cost);
      for (ValueId operand : p_.value_list(post.operands)) {
        visits = clipped_sum(visits, boxes(operand, op.rank));
        if (visits > kMaxVisits) break;
      }
      if (visits > kMaxVisits) return found_.add(Rule::kType, "the ops of the plan read more than can be followed");
    }
  }

  const Plan& p_;
  Findings& found_;
};

}  // namespace

void check_form(const Plan& plan, Findings& found) { Form(plan, found).check(); }

}  // namespace spscope::verifying
