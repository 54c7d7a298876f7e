#include "backend/plan/plan_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/base/check.h"
#include "backend/base/error.h"
#include "backend/base/ids.h"
#include "backend/base/stop_point.h"
#include "backend/plan/layer_kernels.h"

namespace spscope {

PlanBuilder::PlanBuilder(const Request& request) : request_(request) {
  plan_.ranks = request.ranks;
  plan_.batch = request.batch;
  plan_.dtype = request.dtype;
  plan_.sets = request.sets;
  plan_.outer_tokens = request.outer_tokens;
  plan_.inner_tokens = request.inner_tokens;
  for (int a = 0; a < kNumAxes; ++a) plan_.num_columns[a] = request.num_columns(static_cast<Axis>(a));
  for (int t = 0; t < kNumTensors; ++t) plan_.tensor_width[t] = request.tensor_width(static_cast<Tensor>(t));
  everyone_.emplace_back();
  for (int r = 0; r < request.ranks; ++r) everyone_.front().push_back(r);
  last_compute_.assign(at(request.ranks), kNone);
}

Plan PlanBuilder::take() {
  mark_merges(plan_);
  return std::move(plan_);
}

// -- records

ValueId PlanBuilder::add_value(Value value) {
  plan_.values.push_back(std::move(value));
  maker_head_.emplace_back();
  return static_cast<ValueId>(plan_.values.size()) - 1;
}

PostId PlanBuilder::add_post(Post post) {
  plan_.lanes = std::max(plan_.lanes, post.lane + 1);
  plan_.posts.push_back(post);
  return static_cast<PostId>(plan_.posts.size()) - 1;
}

OpId PlanBuilder::add_op(PostId post, int rank) {
  stop_point();
  if (plan_.ops.size() >= kMaxPlanOps)
    throw Error(
        ErrorCode::kPlanTooLarge, fmt::format("the plan has more than {} ops", kMaxPlanOps),
        "use fewer ranks, or a strategy that communicates in smaller groups (usp with a larger ulysses degree)");
  Op op;
  op.post = post;
  op.rank = rank;
  plan_.ops.push_back(op);
  return static_cast<OpId>(plan_.ops.size()) - 1;
}

std::int32_t& PlanBuilder::last_on_lane(int rank, int lane) {
  while (static_cast<int>(last_lane_op_.size()) <= lane) last_lane_op_.emplace_back(at(plan_.ranks), kNone);
  return last_lane_op_[at(lane)][at(rank)];
}

// The last barrier after `after` that both ranks are members of: ordering that needs no signal of its own.
OpId PlanBuilder::last_fence(PostId after, int rank, int other) const {
  for (auto b = barriers_.rbegin(); b != barriers_.rend() && b->post > after; ++b)
    if (b->op_of_rank[at(rank)] != kNone && b->op_of_rank[at(other)] != kNone) return b->op_of_rank[at(rank)];
  return kNone;
}

void PlanBuilder::depend_on_makers(ValueId value, int rank, const Op& op, std::vector<OpId>& deps) const {
  for_each_base(plan_, value, [&](ValueId base) {
    const auto& heads = maker_head_[at(base)];
    for (std::int32_t m = heads.empty() ? -1 : heads[at(rank)]; m >= 0; m = makers_[at(m)].next) {
      const OpId maker = makers_[at(m)].op;
      const Op& made = plan_.ops[at(maker)];
      const OpId fence = made.rank == op.rank ? kNone : last_fence(made.post, op.rank, made.rank);
      deps.push_back(fence == kNone ? maker : fence);
    }
  });
}

void PlanBuilder::finish_op(OpId id, std::span<const MessageId> messages) {
  Op& op = plan_.ops[at(id)];
  const Post& post = plan_.posts[at(op.post)];
  op.messages.begin = static_cast<std::int32_t>(plan_.message_refs.size());
  plan_.message_refs.insert(plan_.message_refs.end(), messages.begin(), messages.end());
  op.messages.end = static_cast<std::int32_t>(plan_.message_refs.size());

  std::vector<OpId>& deps = scratch_deps_;
  deps.clear();
  if (last_compute_[at(op.rank)] != kNone) deps.push_back(last_compute_[at(op.rank)]);
  if (post.kind == PostKind::kBarrier)
    for (int lane = 0; lane < static_cast<int>(last_lane_op_.size()); ++lane)
      if (last_lane_op_[at(lane)][at(op.rank)] != kNone) deps.push_back(last_lane_op_[at(lane)][at(op.rank)]);
  for_each_read(plan_, op, [&](int rank, ValueId value, const Box&) { depend_on_makers(value, rank, op, deps); });
  std::erase_if(deps, [&](OpId d) {
    const Op& dep = plan_.ops[at(d)];
    return dep.rank == op.rank && plan_.post_of(dep).lane == post.lane;
  });
  std::ranges::sort(deps);
  deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
  op.deps.begin = static_cast<std::int32_t>(plan_.dep_refs.size());
  plan_.dep_refs.insert(plan_.dep_refs.end(), deps.begin(), deps.end());
  op.deps.end = static_cast<std::int32_t>(plan_.dep_refs.size());

  // Program order: a post starts after the compute, or the barrier, recorded before it on its rank.
  if (post.lane == 0 || post.kind == PostKind::kBarrier) last_compute_[at(op.rank)] = id;
  last_on_lane(op.rank, post.lane) = id;
  for_each_written_rank(plan_, op, [&](int rank) {
    auto& heads = maker_head_[at(post.dst)];
    if (heads.empty()) heads.assign(at(plan_.ranks), -1);
    makers_.push_back({id, heads[at(rank)]});
    heads[at(rank)] = static_cast<std::int32_t>(makers_.size()) - 1;
  });
}

GroupId PlanBuilder::group_id(const std::vector<int>& group) {
  std::uint64_t hash = group.size();
  for (int r : group) hash = hash_mix(hash, static_cast<std::uint64_t>(r));
  for (const GroupId* known = group_ids_.find(hash); known != nullptr; known = group_ids_.find(hash)) {
    if (std::ranges::equal(plan_.group(*known), group)) return *known;
    hash = hash_mix(hash, 1);  // another group has this hash
  }
  const auto begin = static_cast<std::int32_t>(plan_.group_members.size());
  plan_.group_members.insert(plan_.group_members.end(), group.begin(), group.end());
  plan_.groups.push_back({begin, static_cast<std::int32_t>(plan_.group_members.size())});
  return group_ids_.insert(hash, static_cast<GroupId>(plan_.groups.size()) - 1);
}

IdRange PlanBuilder::add_value_refs(std::span<const ValueId> values) {
  const auto begin = static_cast<std::int32_t>(plan_.value_refs.size());
  plan_.value_refs.insert(plan_.value_refs.end(), values.begin(), values.end());
  return {begin, static_cast<std::int32_t>(plan_.value_refs.size())};
}

// The sources of views are bases, so that views never nest.
IdRange PlanBuilder::add_sources(std::span<const ValueId> values) {
  std::vector<ValueId> bases;
  for (ValueId value : values)
    for_each_base(plan_, value, [&](ValueId base) {
      if (std::ranges::find(bases, base) == bases.end()) bases.push_back(base);
    });
  return add_value_refs(bases);
}

IdRange PlanBuilder::add_group_refs(const Groups& groups) {
  const auto begin = static_cast<std::int32_t>(plan_.group_refs.size());
  for (const std::vector<int>& group : groups) plan_.group_refs.push_back(group_id(group));
  return {begin, static_cast<std::int32_t>(plan_.group_refs.size())};
}

// Ranges of a reference array are never shared between owners.
IdRange PlanBuilder::copy_pending(const Value& value) {
  const auto begin = static_cast<std::int32_t>(plan_.group_refs.size());
  for (std::int32_t i = value.pending.begin; i < value.pending.end; ++i) {
    const GroupId group = plan_.group_refs[at(i)];
    plan_.group_refs.push_back(group);
  }
  return {begin, static_cast<std::int32_t>(plan_.group_refs.size())};
}

// -- values

ValueId PlanBuilder::input(TensorSet tensors, Placement placement, Axis columns, int layer) {
  Value value;
  value.tensors = tensors;
  value.columns = columns;
  value.placement = std::move(placement);
  value.layer = layer;
  value.given = true;
  return add_value(std::move(value));
}

QueriesKeysValues PlanBuilder::input_qkv(const Placement& placement, int layer) {
  const ValueId q = input(kQueries, placement, Axis::kHeads, layer);
  return {q, input(kKeysValues, placement, Axis::kHeads, layer)};
}

ValueId PlanBuilder::view(std::span<const ValueId> values) {
  SPSCOPE_CHECK(!values.empty());
  const Value& first = plan_.values[at(values.front())];
  Value value;
  value.tensors = first.tensors;
  value.columns = first.columns;
  value.layer = first.layer;
  value.partial = first.partial;
  value.pending = copy_pending(first);
  value.placement = place([&](int rank) {
    BoxList boxes;
    for (ValueId v : values)
      boxes.insert(boxes.end(), placement_of(v).at(rank).begin(), placement_of(v).at(rank).end());
    return boxes;
  });
  value.sources = add_sources(values);
  return add_value(std::move(value));
}

ValueId PlanBuilder::narrow(ValueId id, Placement part) {
  Value value = plan_.values[at(id)];
  value.pending = copy_pending(value);
  value.placement = std::move(part);
  value.given = false;
  value.sources = add_sources({&id, 1});
  return add_value(std::move(value));
}

void PlanBuilder::output(ValueId value, Placement placement) { plan_.outputs.push_back({value, std::move(placement)}); }

// -- compute

Kernel PlanBuilder::kernel_named(std::string_view name, Axis columns) const {
  for (const Kernel& kernel : request_.kernels)
    if (kernel.name == name) return kernel;
  return {std::string(name), false, columns, columns, {}};
}

KernelId PlanBuilder::kernel_id(const Kernel& kernel) {
  const auto found = std::ranges::find(plan_.kernels, kernel);
  if (found != plan_.kernels.end()) return static_cast<KernelId>(found - plan_.kernels.begin());
  plan_.kernels.push_back(kernel);
  return static_cast<KernelId>(plan_.kernels.size()) - 1;
}

MaskId PlanBuilder::mask_id(const MaskUse& use) {
  const auto found = std::ranges::find(plan_.masks, use);
  if (found != plan_.masks.end()) return static_cast<MaskId>(found - plan_.masks.begin());
  plan_.masks.push_back(use);
  return static_cast<MaskId>(plan_.masks.size()) - 1;
}

// Whose tokens a rank has a share of: its own, or where it holds none of the columns that its group adds up, those of
// the first member that does. Its share is zeros then.
int PlanBuilder::share_holder(const Placement& source, const Groups& groups, int rank) {
  if (!source.at(rank).empty()) return rank;
  for (const std::vector<int>& group : groups) {
    if (std::ranges::find(group, rank) == group.end()) continue;
    for (const int member : group)
      if (!source.at(member).empty()) return member;
  }
  return rank;
}

ValueId PlanBuilder::local(std::string_view name, std::span<const ValueId> values, std::span<const SetId> out_columns,
                           const Groups& groups) {
  SPSCOPE_CHECK(!values.empty());
  const Value source = plan_.values[at(values.front())];
  const Kernel kernel = kernel_named(name, source.columns);
  Value result;
  result.layer = source.layer;
  result.tensors = kernel.contracts ? kernel.tensors : source.tensors;
  result.columns = kernel.contracts ? kernel.out : source.columns;
  const auto columns = [&](int rank) {
    return out_columns.empty() ? request_.all_columns(result.columns) : out_columns[at(rank)];
  };
  const bool shares =
      kernel.contracts && (!groups.empty() || std::ranges::any_of(source.placement.boxes(), [&](const Box& box) {
        return box.columns != request_.all_columns(source.columns);
      }));
  result.placement = !kernel.contracts ? source.placement : place([&](int rank) {
    const int holder = shares ? share_holder(source.placement, groups.empty() ? everyone_ : groups, rank) : rank;
    BoxList boxes(source.placement.at(holder).begin(), source.placement.at(holder).end());
    for (Box& box : boxes) box.columns = columns(rank);
    return boxes;
  });
  if (shares) result.pending = add_group_refs(groups.empty() ? everyone_ : groups);
  if (adds_shares(kernel)) result.pending = copy_pending(source);
  const ValueId id = add_value(std::move(result));
  Post post;
  post.kind = PostKind::kLocal;
  post.src = values.front();
  post.dst = id;
  post.operands = add_value_refs(values.subspan(1));
  post.kernel = kernel_id(kernel);
  const PostId at_post = add_post(post);
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    if (placement_of(id).at(rank).empty()) continue;
    const OpId op = add_op(at_post, rank);
    plan_.ops[at(op)].flops = local_flops(kernel, values.front(), id, rank);
    finish_op(op);
  }
  return id;
}

std::int64_t PlanBuilder::local_flops(const Kernel& kernel, ValueId from, ValueId to, int rank) {
  const std::span<const Box> boxes = placement_of(from).at(rank);
  const std::int64_t cells = volume(sets(), boxes) * plan_.batch;
  const std::int64_t width = plan_.width(plan_.values[at(from)].tensors);
  if (kernel.contracts) {
    const std::int64_t columns = sets().size(placement_of(to).at(rank).front().columns);
    return 2 * cells * width * columns * plan_.width(plan_.values[at(to)].tensors);
  }
  std::vector<SetId> held;
  for (const Box& box : boxes) held.push_back(box.columns);
  return cells * (kernel.flops_per_cell > 0 ? kernel.flops_per_cell : width) +
         kernel.flops_per_column * sets().size(sets().unite(held)) * plan_.batch;
}

ValueId PlanBuilder::linear(ValueId value, std::string_view weight, std::span<const SetId> out_columns,
                            const Groups& groups) {
  SPSCOPE_CHECK(kernel_named(weight, Axis::kHidden).contracts);
  return local(weight, {&value, 1}, out_columns, groups);
}

AccId PlanBuilder::accumulate(ValueId q, AttendedAxis axis, int slices) {
  plan_.accumulators.push_back({q, axis, mask_id({axis, slices})});
  return static_cast<AccId>(plan_.accumulators.size()) - 1;
}

void PlanBuilder::attend_pair(PostId post, AccId acc_id, int rank, const Box& rows, const Box& keys) {
  const Accumulator& acc = plan_.accumulators[at(acc_id)];
  const bool inner = acc.axis == AttendedAxis::kInner;
  const SetId heads = sets().both(rows.columns, keys.columns);
  const SetId seq = inner ? sets().both(rows.outer, keys.outer) : sets().both(rows.inner, keys.inner);
  if (heads == kEmptySet || seq == kEmptySet) return;
  const SetId q = inner ? rows.inner : rows.outer, k = inner ? keys.inner : keys.outer;
  const TileCount count = request_.executed_mask(acc.axis).refined(plan_.masks[at(acc.mask)].slices).count(heads, q, k);
  if (count.tiles == 0) return;
  const OpId id = add_op(post, rank);
  Op& op = plan_.ops[at(id)];
  op.heads = heads;
  op.seq = seq;
  op.q = q;
  op.k = k;
  const std::int64_t sequences = sets().size(seq) * plan_.batch;
  op.tiles = count.tiles * sequences;
  op.flops = 4 * count.area * sequences * plan_.tensor_width[static_cast<int>(Tensor::kQ)];
  finish_op(id);
}

void PlanBuilder::attend(AccId acc, ValueId kv, int ring_step) {
  Post post;
  post.kind = PostKind::kAttend;
  post.src = kv;
  post.acc = acc;
  post.ring_step = ring_step;
  const PostId at_post = add_post(post);
  const ValueId q = plan_.accumulators[at(acc)].q;
  for (int rank = 0; rank < plan_.ranks; ++rank)
    for (const Box& rows : placement_of(q).at(rank))
      for (const Box& keys : placement_of(kv).at(rank)) attend_pair(at_post, acc, rank, rows, keys);
}

void PlanBuilder::merge(AccId acc, ValueId part) {
  Post post;
  post.kind = PostKind::kMerge;
  post.src = part;
  post.acc = acc;
  const PostId at_post = add_post(post);
  const Placement& rows = placement_of(plan_.accumulators[at(acc)].q);
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    const bool meets = std::ranges::any_of(placement_of(part).at(rank), [&](const Box& a) {
      return std::ranges::any_of(rows.at(rank), [&](const Box& b) { return meet(sets(), a, b).has_value(); });
    });
    if (meets) finish_op(add_op(at_post, rank));
  }
}

ValueId PlanBuilder::close(AccId acc, bool unfinished) {
  const Value& q = plan_.values[at(plan_.accumulators[at(acc)].q)];
  Value rows;
  rows.tensors = unfinished ? kPartialRows : kOutputs;
  rows.columns = Axis::kHeads;
  rows.placement = q.placement;
  rows.layer = q.layer;
  rows.partial = unfinished ? acc : kNone;
  const ValueId id = add_value(std::move(rows));
  Post post;
  post.kind = PostKind::kFinish;
  post.dst = id;
  post.acc = acc;
  const PostId at_post = add_post(post);
  for (int rank = 0; rank < plan_.ranks; ++rank)
    if (!placement_of(id).at(rank).empty()) finish_op(add_op(at_post, rank));
  return id;
}

ValueId PlanBuilder::attend_all(ValueId q, ValueId kv, AttendedAxis axis) {
  const AccId acc = accumulate(q, axis);
  attend(acc, kv);
  return finish(acc);
}

}  // namespace spscope
