// Blind mutation: one field, drawn at random, takes a value that another thing of the plan has, or nonsense.
#include <algorithm>
#include <functional>

#include "backend/base/ids.h"
#include "tests/support/plan_corruption.h"

namespace spscope::testing {
namespace {

// Whether the field takes another value.
template <typename T>
bool set(T& field, const T& value) {
  return std::exchange(field, value) != value;
}

class Mutator {
 public:
  Mutator(EditablePlan& plan, const Request& request, Rng& rng) : p_(plan), request_(request), rng_(rng) {}

  std::string mutate() {
    if (p_.ops.empty() || p_.posts.empty() || p_.values.empty() || p_.outputs.empty()) return {};
    const std::size_t what = below(32);
    if (what == 0) return mutate_shape();
    if (what == 1) return p_.shell.kernels.empty() ? std::string() : mutate_kernel();
    if (what == 2) return p_.shell.accumulators.empty() ? std::string() : mutate_accumulator();
    if (what == 3) return p_.groups.empty() ? std::string() : mutate_group();
    if (what == 4) return mutate_output();
    if (what < 10) return mutate_post();
    if (what < 16) return p_.shell.messages.empty() ? std::string() : mutate_message();
    return what < 20 ? mutate_value() : mutate_op();
  }

 private:
  // A field by name, and a change to it that says whether there was one.
  struct Edit {
    const char* name;
    std::function<bool()> apply;
  };
  std::string one_of(const std::vector<Edit>& edits) {
    const Edit& edit = edits[below(edits.size())];
    return edit.apply() ? edit.name : "";
  }

  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(bound)));
  }
  bool once_in(std::int64_t times) { return rng_.below(times) == 0; }
  template <typename T>
  T& any(std::vector<T>& list) {
    return list[below(list.size())];
  }
  // An id of a list of `count`, and once in a while one that it cannot have.
  std::int32_t any_id(std::size_t count) {
    static constexpr std::int32_t nonsense[] = {-2, -1, 1000000000, -1000000000};
    if (count == 0 || once_in(64)) return nonsense[below(4)];
    return static_cast<std::int32_t>(below(count));
  }
  int any_rank() { return any_id(at(request_.ranks)); }
  ValueId any_value() { return any_id(p_.values.size()); }
  // A value like the one with this id, or any.
  ValueId like_value(ValueId id) {
    if (once_in(4) || id < 0 || at(id) >= p_.values.size()) return any_value();
    std::vector<ValueId> alike;
    for (ValueId other = 0; at(other) < p_.values.size(); ++other)
      if (p_.values[at(other)].fields.tensors == p_.values[at(id)].fields.tensors) alike.push_back(other);
    return any(alike);
  }
  template <typename T>
  bool drop_one(std::vector<T>& list) {
    if (list.empty()) return false;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(below(list.size())));
    return true;
  }
  template <typename T>
  bool add_one(std::vector<T>& list, T value) {
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(list.size() + 1)), value);
    return true;
  }

  std::string mutate_op() {
    const std::size_t index = below(p_.ops.size());
    EditableOp& op = p_.ops[index];
    const auto id = static_cast<OpId>(index);
    std::vector<std::size_t> alike;  // ops of the same kind
    for (std::size_t i = 0; i < p_.ops.size(); ++i)
      if (p_.kind_of(p_.ops[i]) == p_.kind_of(op)) alike.push_back(i);
    const EditableOp& other = p_.ops[any(alike)];
    Op& f = op.fields;
    const Op like = other.fields;
    return one_of({
        {"op.rank", [&] { return set(f.rank, once_in(2) ? any_rank() : like.rank); }},
        {"op.post", [&] { return set(f.post, once_in(4) ? any_id(p_.posts.size()) : like.post); }},
        {"op.group", [&] { return set(f.group, once_in(2) ? any_id(p_.groups.size()) : like.group); }},
        {"op.tiles", [&] { return set(f.tiles, f.tiles + rng_.below(3) - 1); }},
        {"op.flops", [&] { return set(f.flops, like.flops); }},
        {"op.deps-", [&] { return drop_one(op.deps); }},
        {"op.deps+", [&] { return add_one(op.deps, any_id(p_.ops.size())); }},
        {"op.deps", [&] { return !op.deps.empty() && set(any(op.deps), any_id(p_.ops.size())); }},
        {"op.messages-", [&] { return drop_one(op.messages); }},
        {"op.messages+", [&] { return add_one(op.messages, any_id(p_.shell.messages.size())); }},
        {"op.swap", [&] { return swap_ops(op); }},
        {"op.drop", [&] { return p_.remove_op(id), true; }},
        {"op.copy", [&] { return p_.insert_op(id + static_cast<OpId>(below(2)), EditableOp(op)), true; }},
        {"op.heads", [&] { return set_of(op, like, &Op::heads); }},
        {"op.seq", [&] { return set_of(op, like, &Op::seq); }},
        {"op.q", [&] { return set_of(op, like, &Op::q); }},
        {"op.k", [&] { return set_of(op, like, &Op::k); }},
        {"op.q<->", [&] { return swap_attended_sets(&Op::q); }},
        {"op.k<->", [&] { return swap_attended_sets(&Op::k); }},
    });
  }

  // Mostly counted right, so that only the set is wrong.
  bool set_of(EditableOp& op, const Op& like, SetId Op::*field) {
    const bool changed = set(op.fields.*field, once_in(32) ? SetId{1000000} : like.*field);
    if (changed && p_.kind_of(op) == PostKind::kAttend && !once_in(8)) recount(p_, request_, op);
    return changed;
  }

  // Two attends of one rank meet each other's keys, or rows, and count them right.
  bool swap_attended_sets(SetId Op::*field) {
    std::vector<std::size_t> attends;
    const int rank = static_cast<int>(below(at(request_.ranks)));
    for (std::size_t i = 0; i < p_.ops.size(); ++i)
      if (p_.kind_of(p_.ops[i]) == PostKind::kAttend && p_.ops[i].fields.rank == rank) attends.push_back(i);
    if (attends.size() < 2) return false;
    EditableOp &a = p_.ops[any(attends)], &b = p_.ops[any(attends)];
    if (a.fields.*field == b.fields.*field) return false;
    std::swap(a.fields.*field, b.fields.*field);
    recount(p_, request_, a);
    recount(p_, request_, b);
    return true;
  }

  // Two ops of one rank and lane change places.
  bool swap_ops(EditableOp& op) {
    std::vector<EditableOp*> mates;
    for (EditableOp& other : p_.ops)
      if (&other != &op && other.fields.rank == op.fields.rank && p_.post_of(other).lane == p_.post_of(op).lane)
        mates.push_back(&other);
    if (mates.empty()) return false;
    std::swap(op, *any(mates));
    return true;
  }

  std::string mutate_post() {
    EditablePost &post = any(p_.posts), &other = any(p_.posts);
    Post& f = post.fields;
    const auto moved = [&](ValueId& id) { return id != kNone && set(id, like_value(id)); };
    const bool local = f.kind == PostKind::kLocal, has_operands = !post.operands.empty();
    return one_of({
        {"post.kind", [&] { return set(f.kind, other.fields.kind); }},
        {"post.lane", [&] { return set(f.lane, once_in(4) ? any_id(8) : other.fields.lane); }},
        {"post.src", [&] { return moved(f.src); }},
        {"post.dst", [&] { return moved(f.dst); }},
        {"post.acc", [&] { return f.acc != kNone && set(f.acc, any_id(p_.shell.accumulators.size())); }},
        {"post.kernel", [&] { return f.kernel != kNone && set(f.kernel, any_id(p_.shell.kernels.size())); }},
        {"post.operands", [&] { return has_operands && moved(any(post.operands)); }},
        {"post.operands+", [&] { return local && add_one(post.operands, any_value()); }},
        {"post.operands-", [&] { return drop_one(post.operands); }},
    });
  }

  std::string mutate_message() {
    const auto id = static_cast<MessageId>(below(p_.shell.messages.size()));
    Message &m = p_.shell.messages[at(id)], &other = any(p_.shell.messages);
    const auto counted = [&](bool changed) { return (once_in(2) ? recount_bytes(id) : void()), changed; };
    return one_of({
        {"message.src", [&] { return set(m.src, once_in(8) ? any_rank() : other.src); }},
        {"message.dst", [&] { return set(m.dst, once_in(8) ? any_rank() : other.dst); }},
        {"message.box", [&] { return counted(set(m.box, other.box)); }},
        {"message.box.inner", [&] { return counted(set(m.box.inner, other.box.inner)); }},
        {"message.route", [&] { return reroute_message(id); }},
        {"message.bytes", [&] { return set(m.bytes, once_in(2) ? other.bytes : m.bytes + 2); }},
    });
  }

  // Sets the bytes of a message to those of its box in the value that it carries.
  void recount_bytes(MessageId id) {
    Message& m = p_.shell.messages[at(id)];
    for (const EditableOp& op : p_.ops) {
      if (std::ranges::find(op.messages, id) == op.messages.end()) continue;
      const ValueId src = p_.post_of(op).src;
      if (src < 0 || at(src) >= p_.values.size()) return;
      m.bytes = m.src == m.dst ? 0 : volume(*p_.shell.sets, m.box) * p_.shell.cell_bytes(p_.values[at(src)].fields);
      return;
    }
  }

  // Another rank of the group sends the message, and everybody knows.
  bool reroute_message(MessageId id) {
    Message& m = p_.shell.messages[at(id)];
    const int old = m.src, src = static_cast<int>(below(at(request_.ranks)));
    PostId post = kNone;
    for (EditableOp& op : p_.ops) {
      if (std::ranges::find(op.messages, id) == op.messages.end()) continue;
      post = op.fields.post;
      if (op.fields.rank == old && m.dst != old) std::erase(op.messages, id);
    }
    for (EditableOp& op : p_.ops)
      if (op.fields.post == post && op.fields.rank == src && m.dst != src && p_.kind_of(op) != PostKind::kPull) {
        op.messages.push_back(id);
        std::ranges::sort(op.messages);
      }
    m.src = src;
    recount_bytes(id);
    return old != src;
  }

  bool mutate_placement(RankBoxes& placement, const RankBoxes& other) {
    if (once_in(3)) return set(placement, other);
    BoxList &boxes = any(placement), &theirs = any(placement);
    const std::size_t what = below(4);
    if (what == 0) return set(boxes, theirs);
    if (what == 1) return drop_one(boxes);
    if (what == 2) return !theirs.empty() && add_one(boxes, Box(any(theirs)));
    std::swap(boxes, theirs);
    return boxes != theirs;
  }

  std::string mutate_value() {
    EditableValue &v = any(p_.values), &other = any(p_.values);
    Value& f = v.fields;
    return one_of({
        {"value.placement", [&] { return mutate_placement(v.placement, other.placement); }},
        {"value.placement", [&] { return mutate_placement(v.placement, other.placement); }},
        {"value.tensors", [&] { return set(f.tensors, other.fields.tensors); }},
        {"value.layer", [&] { return set(f.layer, once_in(2) ? other.fields.layer : 1 - f.layer); }},
        {"value.pending", [&] { return set(v.pending, other.pending); }},
        {"value.pending+", [&] { return add_one(v.pending, any_id(p_.groups.size())); }},
        {"value.sources", [&] { return set(v.sources, other.sources); }},
        {"value.sources+", [&] { return add_one(v.sources, like_value(any_value())); }},
        {"value.given", [&] { return set(f.given, !f.given); }},
        {"value.partial", [&] { return set(f.partial, any_id(p_.shell.accumulators.size())); }},
        {"value.columns", [&] { return set(f.columns, static_cast<Axis>(below(kNumAxes + 1))); }},
    });
  }

  std::string mutate_kernel() {
    Kernel &kernel = any(p_.shell.kernels), &other = any(p_.shell.kernels);
    return one_of({
        {"kernel.name", [&] { return set(kernel.name, other.name); }},
        {"kernel.contracts", [&] { return set(kernel.contracts, !kernel.contracts); }},
        {"kernel.flops_per_cell", [&] { return set(kernel.flops_per_cell, kernel.flops_per_cell + 1); }},
        {"kernel.flops_per_column", [&] { return set(kernel.flops_per_column, other.flops_per_column + 1); }},
        {"kernel.whole_rows", [&] { return set(kernel.whole_rows, !kernel.whole_rows); }},
        {"kernel.out", [&] { return set(kernel.out, static_cast<Axis>(below(kNumAxes + 1))); }},
    });
  }

  std::string mutate_accumulator() {
    Accumulator& acc = any(p_.shell.accumulators);
    MaskUse& mask = any(p_.shell.masks);
    return one_of({
        {"accumulator.q", [&] { return set(acc.q, like_value(acc.q)); }},
        {"accumulator.axis", [&] { return set(acc.axis, static_cast<AttendedAxis>(below(4))); }},
        {"accumulator.mask", [&] { return set(acc.mask, any_id(p_.shell.masks.size())); }},
        {"mask.axis", [&] { return set(mask.axis, static_cast<AttendedAxis>(below(4))); }},
        {"mask.slices", [&] { return set(mask.slices, static_cast<int>(rng_.below(5)) - 1); }},
    });
  }

  std::string mutate_group() {
    std::vector<int>& group = any(p_.groups);
    return one_of({
        {"group+", [&] { return add_one(group, any_rank()); }},
        {"group-", [&] { return drop_one(group); }},
        {"group", [&] { return !group.empty() && set(any(group), any_rank()); }},
    });
  }

  std::string mutate_output() {
    EditableOutput& output = any(p_.outputs);
    return one_of({
        {"output.value", [&] { return set(output.value, like_value(output.value)); }},
        {"output+", [&] { return add_one(p_.outputs, EditableOutput(output)); }},
        {"output-", [&] { return drop_one(p_.outputs); }},
        {"output.placement", [&] { return mutate_placement(output.placement, any(p_.values).placement); }},
    });
  }

  std::string mutate_shape() {
    Plan& shell = p_.shell;
    const int change = once_in(2) ? 1 : -1;
    return one_of({
        {"ranks", [&] { return set(shell.ranks, shell.ranks + change); }},
        {"lanes", [&] { return set(shell.lanes, shell.lanes + change); }},
        {"batch", [&] { return set(shell.batch, shell.batch + change); }},
        {"columns", [&] { return shell.num_columns[below(kNumAxes)] += change, true; }},
        {"width", [&] { return shell.tensor_width[below(kNumTensors)] += change, true; }},
        {"inner_tokens", [&] { return set(shell.inner_tokens, shell.inner_tokens + change); }},
        {"dtype", [&] { return set(shell.dtype, static_cast<Dtype>(below(3))); }},
    });
  }

  EditablePlan& p_;
  const Request& request_;
  Rng& rng_;
};

}  // namespace

bool recount(const EditablePlan& plan, const Request& request, EditableOp& op) {
  const AccId acc_id = plan.post_of(op).acc;
  if (acc_id < 0 || at(acc_id) >= plan.shell.accumulators.size()) return false;
  const Accumulator& acc = plan.shell.accumulators[at(acc_id)];
  if (acc.mask < 0 || at(acc.mask) >= plan.shell.masks.size()) return false;
  const int slices = plan.shell.masks[at(acc.mask)].slices;
  if (!request.attends(acc.axis) || slices < 1 || slices > kMaxBlockTokens) return false;
  SetTable& sets = *plan.shell.sets;
  MaskCounter& mask = request.executed_mask(acc.axis).refined(slices);
  const auto inside = [&](SetId id, std::int32_t count) {
    return sets.has(id) && (sets.spans(id).empty() || sets.spans(id).back().end <= count);
  };
  Op& f = op.fields;
  if (!sets.has(f.seq) || !inside(f.heads, request.heads) || !inside(f.q, mask.mask().tokens()) ||
      !inside(f.k, mask.mask().tokens()))
    return false;
  const TileCount count = mask.count(f.heads, f.q, f.k);
  const std::int64_t sequences = sets.size(f.seq) * request.batch;
  f.tiles = count.tiles * sequences;
  f.flops = 4 * count.area * sequences * request.head_dim;
  return true;
}

std::string mutate(EditablePlan& plan, const Request& request, Rng& rng) {
  return Mutator(plan, request, rng).mutate();
}

const std::vector<PlanCase>& mutation_cases() {
  using Kind = LayerKind;
  // 3 heads of 2, 23 tokens in 6 blocks, the last of 3.
  const auto shape = [](int ranks, LayerShape rest = {}) {
    rest.ranks = ranks;
    rest.heads = 3;
    rest.head_dim = 2;
    rest.block = 4;
    rest.inner = rest.outer > 1 ? 11 : 23;
    return rest;
  };
  const auto torus = [](int nodes, const TorusWay& way) {
    return [=](PlanBuilder& b, const Request& r) { plan_torus(b, r, nodes, 1, way); };
  };
  static const std::vector<PlanCase> cases = {
      {"ring", Kind::kAttention, shape(4), strategy_plan("ring")},
      {"ring_2d", Kind::kAttention, shape(3, {.outer = 7}), strategy_plan("ring")},
      {"allgather_text", Kind::kAttention, shape(3, {.text = 3, .text_layout = TextLayout::kReplicate}),
       strategy_plan("allgather_kv")},
      {"ring_double", Kind::kAttention, shape(4, {.ranks_per_node = 2}),
       strategy_plan("burst", {{"order", std::string("cyclic")}})},
      {"ring_two_way", Kind::kAttention, shape(3, {.dtype = Dtype::kFp32}), plan_two_way_ring},
      {"token_ring", Kind::kAttention, shape(3), plan_token_ring},
      {"ulysses", Kind::kAttention, shape(3, {.batch = 2}), strategy_plan("ulysses")},
      {"ulysses_pipelined", Kind::kAttention, shape(2), strategy_plan("ulysses", {{"chunks", std::int64_t{2}}})},
      {"balanced_usp", Kind::kAttention, shape(6), balanced_usp(2, 3)},
      {"torus_barrier", Kind::kRotaryAttention, shape(4), torus(2, kTorusBarrier)},
      {"torus_signals", Kind::kRotaryAttention, shape(3), torus(3, kTorusSignals)},
      {"dsp", Kind::kSpatialTemporal, shape(3, {.outer = 7}), plan_dsp},
      {"megatron_tp", Kind::kMegatronLayer, shape(3, {.ffn = 4}),
       [](PlanBuilder& b, const Request& r) { plan_megatron(b, r, false); }},
      {"megatron_sp", Kind::kMegatronLayer, shape(2, {.ffn = 5}),
       [](PlanBuilder& b, const Request& r) { plan_megatron(b, r, true); }},
      {"megatron_more_ranks", Kind::kMegatronLayer, shape(4, {.ffn = 5}),
       [](PlanBuilder& b, const Request& r) { plan_megatron(b, r, false); }},
      {"megatron_ring", Kind::kMegatronLayer, shape(3, {.ffn = 5}),
       [](PlanBuilder& b, const Request& r) { plan_megatron(b, r, true, CollectiveAlgorithm::kRing); }},
      {"cross_attention", Kind::kCrossAttention, shape(3, {.batch = 2}), plan_cross_attention},
      {"double_block_ring", Kind::kDoubleBlock, shape(3, {.text = 3}), plan_double_block_ring},
  };
  return cases;
}

}  // namespace spscope::testing
