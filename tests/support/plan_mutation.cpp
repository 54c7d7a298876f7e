// Blind mutation: one field, drawn at random, takes a value that another thing of the plan has, or nonsense.
#include <algorithm>

#include "backend/base/ids.h"
#include "tests/support/plan_corruption.h"

namespace spscope::testing {
namespace {

class Mutator {
 public:
  Mutator(EditablePlan& plan, const Request& request, Rng& rng) : p_(plan), request_(request), rng_(rng) {}

  std::string mutate() {
    if (p_.ops.empty() || p_.posts.empty() || p_.values.empty() || p_.outputs.empty()) return {};
    const std::size_t what = below(32);
    if (what == 0) return mutate_shape();
    if (what == 1) return mutate_kernel();
    if (what == 2) return mutate_accumulator();
    if (what < 5) return mutate_group_or_output();
    if (what < 10) return mutate_post();
    if (what < 16) return mutate_message();
    if (what < 20) return mutate_value();
    return mutate_op();
  }

 private:
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(bound)));
  }
  template <typename T>
  T& any(std::vector<T>& list) {
    return list[below(list.size())];
  }
  // An id of a list of `count`, and once in a while one that it cannot have.
  std::int32_t any_id(std::size_t count) {
    static constexpr std::int32_t nonsense[] = {-2, -1, 1000000000, -1000000000};
    if (count == 0 || rng_.below(64) == 0) return nonsense[below(4)];
    return static_cast<std::int32_t>(below(count));
  }
  // Whether the field takes another value; `name` is then what changed.
  template <typename T>
  static std::string set(T& field, const T& value, const char* name) {
    if (field == value) return {};
    field = value;
    return name;
  }
  template <typename T>
  std::string drop_one(std::vector<T>& list, const char* name) {
    if (list.empty()) return {};
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(below(list.size())));
    return name;
  }
  template <typename T>
  std::string add_one(std::vector<T>& list, T value, const char* name) {
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(list.size() + 1)), value);
    return name;
  }

  // A value like the one with this id, or any.
  ValueId like_value(ValueId id);
  // Sets the bytes of a message to those of its box in the value that it carries.
  void recount_bytes(MessageId id);
  std::string reroute_message(MessageId id);
  std::string swap_attended_sets();
  std::string mutate_op();
  std::string swap_ops();
  std::string mutate_set(EditableOp& op, const EditableOp& other);
  std::string mutate_post();
  std::string mutate_message();
  std::string mutate_value();
  std::string mutate_placement(RankBoxes& placement, const RankBoxes& other, const char* name);
  std::string mutate_kernel();
  std::string mutate_accumulator();
  std::string mutate_group_or_output();
  std::string mutate_shape();

  EditablePlan& p_;
  const Request& request_;
  Rng& rng_;
};

ValueId Mutator::like_value(ValueId id) {
  if (rng_.below(4) == 0 || id < 0 || at(id) >= p_.values.size()) return any_id(p_.values.size());
  std::vector<ValueId> alike;
  for (ValueId other = 0; at(other) < p_.values.size(); ++other)
    if (p_.values[at(other)].fields.tensors == p_.values[at(id)].fields.tensors) alike.push_back(other);
  return any(alike);
}

void Mutator::recount_bytes(MessageId id) {
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
std::string Mutator::reroute_message(MessageId id) {
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
  return old == src ? std::string() : "message.route";
}

// Two attends of one rank meet each other's keys, or rows, and count them right.
std::string Mutator::swap_attended_sets() {
  std::vector<std::size_t> attends;
  const int rank = static_cast<int>(below(at(request_.ranks)));
  for (std::size_t i = 0; i < p_.ops.size(); ++i)
    if (p_.kind_of(p_.ops[i]) == PostKind::kAttend && p_.ops[i].fields.rank == rank) attends.push_back(i);
  if (attends.size() < 2) return {};
  EditableOp &a = p_.ops[any(attends)], &b = p_.ops[any(attends)];
  const bool keys = rng_.below(2) == 0;
  SetId Op::*field = keys ? &Op::k : &Op::q;
  if (a.fields.*field == b.fields.*field) return {};
  std::swap(a.fields.*field, b.fields.*field);
  recount(p_, request_, a);
  recount(p_, request_, b);
  return keys ? "op.k<->" : "op.q<->";
}

std::string Mutator::mutate_op() {
  const std::size_t index = below(p_.ops.size());
  const auto id = static_cast<OpId>(index);
  EditableOp& op = p_.ops[index];
  std::vector<std::size_t> alike;  // ops of the same kind
  for (std::size_t i = 0; i < p_.ops.size(); ++i)
    if (p_.kind_of(p_.ops[i]) == p_.kind_of(op)) alike.push_back(i);
  const EditableOp& other = p_.ops[any(alike)];
  switch (below(20)) {
    case 0:
      return set(op.fields.rank, rng_.below(2) == 0 ? any_id(at(request_.ranks)) : other.fields.rank, "op.rank");
    case 1:
      return set(op.fields.post, rng_.below(4) == 0 ? any_id(p_.posts.size()) : other.fields.post, "op.post");
    case 2:
      return drop_one(op.deps, "op.deps-");
    case 3:
      return add_one(op.deps, any_id(p_.ops.size()), "op.deps+");
    case 4:
      return set(op.fields.group, rng_.below(2) == 0 ? any_id(p_.groups.size()) : other.fields.group, "op.group");
    case 5:
      return drop_one(op.messages, "op.messages-");
    case 6:
      return add_one(op.messages, any_id(p_.shell.messages.size()), "op.messages+");
    case 7:
      return swap_ops();
    case 8:
      p_.remove_op(id);
      return "op.drop";
    case 9:
      p_.insert_op(id + static_cast<OpId>(below(2)), EditableOp(op));
      return "op.copy";
    case 10:
      return set(op.fields.tiles, op.fields.tiles + rng_.below(3) - 1, "op.tiles");
    case 11:
      return set(op.fields.flops, other.fields.flops, "op.flops");
    case 12:
      return drop_one(op.deps, "op.deps-");
    case 13:
      if (op.deps.empty()) return {};
      return set(any(op.deps), any_id(p_.ops.size()), "op.deps");
    case 14:
      return swap_attended_sets();
    default:
      return mutate_set(op, other);
  }
}

// Two ops of one rank and lane change places.
std::string Mutator::swap_ops() {
  EditableOp& op = any(p_.ops);
  std::vector<std::size_t> mates;
  for (std::size_t i = 0; i < p_.ops.size(); ++i)
    if (p_.ops[i].fields.rank == op.fields.rank && p_.post_of(p_.ops[i]).lane == p_.post_of(op).lane &&
        &p_.ops[i] != &op)
      mates.push_back(i);
  if (mates.empty()) return {};
  std::swap(op, p_.ops[any(mates)]);
  return "op.swap";
}

std::string Mutator::mutate_set(EditableOp& op, const EditableOp& other) {
  static constexpr SetId Op::*sets[] = {&Op::heads, &Op::seq, &Op::q, &Op::k};
  static constexpr const char* names[] = {"op.heads", "op.seq", "op.q", "op.k"};
  const std::size_t which = below(4);
  SetId Op::*field = sets[which];
  const bool nonsense = rng_.below(32) == 0;
  const std::string name = set(op.fields.*field, nonsense ? SetId{1000000} : other.fields.*field, names[which]);
  if (!name.empty() && p_.kind_of(op) == PostKind::kAttend && rng_.below(8) != 0) recount(p_, request_, op);
  return name;
}

std::string Mutator::mutate_post() {
  EditablePost &post = any(p_.posts), &other = any(p_.posts);
  Post& f = post.fields;
  switch (below(7)) {
    case 0:
      return set(f.kind, other.fields.kind, "post.kind");
    case 1:
      return set(f.lane, rng_.below(4) == 0 ? any_id(8) : other.fields.lane, "post.lane");
    case 2:
      return f.src == kNone ? std::string() : set(f.src, like_value(f.src), "post.src");
    case 3:
      return f.dst == kNone ? std::string() : set(f.dst, like_value(f.dst), "post.dst");
    case 4:
      return f.acc == kNone ? std::string() : set(f.acc, any_id(p_.shell.accumulators.size()), "post.acc");
    case 5:
      return f.kernel == kNone ? std::string() : set(f.kernel, any_id(p_.shell.kernels.size()), "post.kernel");
    default:
      if (f.kind != PostKind::kLocal) return {};
      if (post.operands.empty() || rng_.below(4) == 0)
        return add_one(post.operands, any_id(p_.values.size()), "post.operands+");
      if (rng_.below(3) == 0) return drop_one(post.operands, "post.operands-");
      ValueId& operand = any(post.operands);
      return set(operand, like_value(operand), "post.operands");
  }
}

std::string Mutator::mutate_message() {
  if (p_.shell.messages.empty()) return {};
  const auto id = static_cast<MessageId>(below(p_.shell.messages.size()));
  Message &m = p_.shell.messages[at(id)], &other = any(p_.shell.messages);
  std::string name;
  switch (below(6)) {
    case 0:
      return set(m.src, rng_.below(8) == 0 ? any_id(at(request_.ranks)) : other.src, "message.src");
    case 1:
      return set(m.dst, rng_.below(8) == 0 ? any_id(at(request_.ranks)) : other.dst, "message.dst");
    case 2:
      name = set(m.box, other.box, "message.box");
      break;
    case 3:
      name = set(m.box.inner, other.box.inner, "message.box.inner");
      break;
    case 4:
      return reroute_message(id);
    default:
      return set(m.bytes, rng_.below(2) == 0 ? other.bytes : m.bytes + 2, "message.bytes");
  }
  if (rng_.below(2) == 0) recount_bytes(id);
  return name;
}

std::string Mutator::mutate_placement(RankBoxes& placement, const RankBoxes& other, const char* name) {
  if (rng_.below(3) == 0) return set(placement, other, name);
  BoxList &boxes = any(placement), &theirs = any(placement);
  switch (below(4)) {
    case 0:
      return set(boxes, theirs, name);
    case 1:
      return drop_one(boxes, name);
    case 2:
      if (theirs.empty()) return {};
      return add_one(boxes, any(theirs), name);
    default:
      std::swap(boxes, theirs);
      return boxes == theirs ? std::string() : name;
  }
}

std::string Mutator::mutate_value() {
  EditableValue &v = any(p_.values), &other = any(p_.values);
  switch (below(9)) {
    case 0:
    case 1:
      return mutate_placement(v.placement, other.placement, "value.placement");
    case 2:
      return set(v.fields.tensors, other.fields.tensors, "value.tensors");
    case 3:
      return set(v.fields.layer, rng_.below(2) == 0 ? other.fields.layer : 1 - v.fields.layer, "value.layer");
    case 4:
      return rng_.below(2) == 0 ? set(v.pending, other.pending, "value.pending")
                                : add_one(v.pending, any_id(p_.groups.size()), "value.pending+");
    case 5:
      return rng_.below(2) == 0 ? set(v.sources, other.sources, "value.sources")
                                : add_one(v.sources, like_value(any_id(p_.values.size())), "value.sources+");
    case 6:
      v.fields.given = !v.fields.given;
      return "value.given";
    case 7:
      return set(v.fields.partial, any_id(p_.shell.accumulators.size()), "value.partial");
    default:
      return set(v.fields.columns, static_cast<Axis>(below(kNumAxes + 1)), "value.columns");
  }
}

std::string Mutator::mutate_kernel() {
  if (p_.shell.kernels.empty()) return {};
  Kernel &kernel = any(p_.shell.kernels), &other = any(p_.shell.kernels);
  switch (below(6)) {
    case 0:
      return set(kernel.name, other.name, "kernel.name");
    case 1:
      kernel.contracts = !kernel.contracts;
      return "kernel.contracts";
    case 2:
      return set(kernel.flops_per_cell, kernel.flops_per_cell + rng_.below(3) - 1, "kernel.flops_per_cell");
    case 3:
      return set(kernel.flops_per_column, other.flops_per_column + rng_.below(2), "kernel.flops_per_column");
    case 4:
      kernel.whole_rows = !kernel.whole_rows;
      return "kernel.whole_rows";
    default:
      return set(kernel.out, static_cast<Axis>(below(kNumAxes + 1)), "kernel.out");
  }
}

// A plan of local work alone has neither masks nor accumulators.
std::string Mutator::mutate_accumulator() {
  if (p_.shell.masks.empty() || p_.shell.accumulators.empty()) return {};
  if (rng_.below(3) == 0) {
    MaskUse& mask = any(p_.shell.masks);
    if (rng_.below(2) == 0) return set(mask.axis, static_cast<AttendedAxis>(below(4)), "mask.axis");
    return set(mask.slices, static_cast<int>(rng_.below(5)) - 1, "mask.slices");
  }
  Accumulator& acc = any(p_.shell.accumulators);
  switch (below(3)) {
    case 0:
      return set(acc.q, like_value(acc.q), "accumulator.q");
    case 1:
      return set(acc.axis, static_cast<AttendedAxis>(below(4)), "accumulator.axis");
    default:
      return set(acc.mask, any_id(p_.shell.masks.size()), "accumulator.mask");
  }
}

std::string Mutator::mutate_group_or_output() {
  if (rng_.below(2) == 0 && !p_.groups.empty()) {
    std::vector<int>& group = any(p_.groups);
    if (group.empty() || rng_.below(2) == 0) return add_one(group, any_id(at(request_.ranks)), "group+");
    return rng_.below(2) == 0 ? drop_one(group, "group-") : set(any(group), any_id(at(request_.ranks)), "group");
  }
  EditableOutput& output = any(p_.outputs);
  switch (below(4)) {
    case 0:
      return set(output.value, like_value(output.value), "output.value");
    case 1:
      p_.outputs.push_back(EditableOutput(output));
      return "output+";
    case 2:
      return drop_one(p_.outputs, "output-");
    default:
      return mutate_placement(output.placement, any(p_.values).placement, "output.placement");
  }
}

std::string Mutator::mutate_shape() {
  Plan& shell = p_.shell;
  const int change = rng_.below(2) == 0 ? 1 : -1;
  switch (below(7)) {
    case 0:
      shell.ranks += change;
      return "ranks";
    case 1:
      shell.lanes += change;
      return "lanes";
    case 2:
      shell.batch += change;
      return "batch";
    case 3:
      shell.num_columns[below(kNumAxes)] += change;
      return "columns";
    case 4:
      shell.tensor_width[below(kNumTensors)] += change;
      return "width";
    case 5:
      shell.inner_tokens += change;
      return "inner_tokens";
    default:
      shell.dtype = static_cast<Dtype>(below(3));
      return shell.dtype == request_.dtype ? std::string() : "dtype";
  }
}

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
  const auto torus = [](int machines, bool barrier) {
    return [=](PlanBuilder& b, const Request& r) { plan_torus(b, r, {machines, 1, barrier}); };
  };
  static const std::vector<PlanCase> cases = {
      {"ring", Kind::kAttention, shape(4), strategy_plan("ring")},
      {"ring_2d", Kind::kAttention, shape(3, {.outer = 7}), strategy_plan("ring")},
      {"allgather_text", Kind::kAttention, shape(3, {.text = 3, .text_layout = TextLayout::kReplicate}),
       strategy_plan("allgather_kv")},
      {"ring_double", Kind::kAttention, shape(4), [](PlanBuilder& b, const Request& r) { plan_double_ring(b, r, 2); }},
      {"ring_two_way", Kind::kAttention, shape(3, {.dtype = Dtype::kFp32}), plan_two_way_ring},
      {"token_ring", Kind::kAttention, shape(3), plan_token_ring},
      {"ulysses", Kind::kAttention, shape(3, {.batch = 2}), strategy_plan("ulysses")},
      {"ulysses_pipelined", Kind::kAttention, shape(2), plan_pipelined_ulysses},
      {"balanced_usp", Kind::kAttention, shape(6), balanced_usp(2, 3)},
      {"torus_barrier", Kind::kRotaryAttention, shape(4), torus(2, true)},
      {"torus_signals", Kind::kRotaryAttention, shape(3), torus(3, false)},
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
