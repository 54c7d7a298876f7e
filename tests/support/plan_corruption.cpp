// The named corruptions.
#include "tests/support/plan_corruption.h"

#include <algorithm>
#include <ostream>
#include <stdexcept>

#include "backend/base/ids.h"

namespace spscope::testing {
namespace {

std::vector<OpId> ops_of(const EditablePlan& p, PostKind kind, int rank = kNone) {
  std::vector<OpId> ids;
  for (OpId id = 0; at(id) < p.ops.size(); ++id)
    if (p.kind_of(p.ops[at(id)]) == kind && (rank == kNone || p.ops[at(id)].fields.rank == rank)) ids.push_back(id);
  return ids;
}

EditableOp& op_of(EditablePlan& p, PostKind kind, std::size_t position, int rank = kNone) {
  return p.ops[at(ops_of(p, kind, rank).at(position))];
}

MessageId first_wire(const EditablePlan& p) {
  const auto found = std::ranges::find_if(p.shell.messages, [](const Message& m) { return m.src != m.dst; });
  if (found == p.shell.messages.end()) throw std::out_of_range("the plan sends nothing");
  return static_cast<MessageId>(found - p.shell.messages.begin());
}

EditableOp& op_with_message(EditablePlan& p, MessageId id) {
  return *std::ranges::find_if(
      p.ops, [&](const EditableOp& op) { return std::ranges::find(op.messages, id) != op.messages.end(); });
}

// The attend with the most work: rows with nothing else to meet are few in it.
OpId largest_attend(const EditablePlan& p) {
  const auto ids = ops_of(p, PostKind::kAttend);
  return *std::ranges::max_element(ids, {}, [&](OpId id) { return p.ops[at(id)].fields.flops; });
}

void drop_attend(EditablePlan& p, const Request&) { p.remove_op(largest_attend(p)); }

void repeat_attend(EditablePlan& p, const Request&) {
  const OpId id = largest_attend(p);
  p.insert_op(id, EditableOp(p.ops[at(id)]));
}

void count_outside_mask(EditablePlan& p, const Request& request) {
  for (OpId id : ops_of(p, PostKind::kAttend)) {
    EditableOp& op = p.ops[at(id)];
    SetTable& sets = *p.shell.sets;
    const std::int64_t area = sets.size(op.fields.heads) * sets.size(op.fields.q) * sets.size(op.fields.k);
    op.fields.flops = 4 * area * sets.size(op.fields.seq) * request.head_dim * request.batch;
  }
}

void name_other_mask(EditablePlan& p, const Request&) {
  p.shell.masks.push_back({AttendedAxis::kOuter, 1});
  p.shell.accumulators[0].mask = static_cast<MaskId>(p.shell.masks.size()) - 1;
}

void claim_a_tile_more(EditablePlan& p, const Request&) { ++op_of(p, PostKind::kAttend, 1).fields.tiles; }

void attend_keys_of_another(EditablePlan& p, const Request& request) {
  EditableOp& op = op_of(p, PostKind::kAttend, 0, 0);
  for (OpId id : ops_of(p, PostKind::kAttend, 1))
    if (p.ops[at(id)].fields.k != op.fields.k) op.fields.k = p.ops[at(id)].fields.k;
  recount(p, request, op);
}

// The second attend of rank 0 reads the keys that it had before the hop.
void attend_before_hop(EditablePlan& p, const Request&) {
  const auto ids = ops_of(p, PostKind::kAttend, 0);
  EditableOp &first = p.ops[at(ids.at(0))], &second = p.ops[at(ids.at(1))];
  p.posts[at(second.fields.post)].fields.src = p.post_of(first).src;
}

void swap_exchanges_of_a_rank(EditablePlan& p, const Request&) {
  const auto ids = ops_of(p, PostKind::kExchange, 1);
  EditableOp &a = p.ops[at(ids.at(0))], &b = p.ops[at(ids.at(1))];
  std::swap(a, b);
}

void swap_reduces_of_a_rank(EditablePlan& p, const Request&) {
  const auto ids = ops_of(p, PostKind::kReduce, 1);
  std::swap(p.ops[at(ids.at(0))], p.ops[at(ids.at(1))]);
}

void attend_rows_of_another(EditablePlan& p, const Request& request) {
  EditableOp& op = op_of(p, PostKind::kAttend, 0, 0);
  op.fields.q = op_of(p, PostKind::kAttend, 0, 1).fields.q;
  recount(p, request, op);
}

void use_other_accumulator(EditablePlan& p, const Request&) {
  Post& post = p.posts[at(op_of(p, PostKind::kAttend, 0, 0).fields.post)].fields;
  post.acc = post.acc == 0 ? 1 : 0;
}

void depend_on_nothing_known(EditablePlan& p, const Request&) {
  op_of(p, PostKind::kAttend, 0).deps.push_back(1000000000);
}

void forget_dependencies(EditablePlan& p, const Request&) {
  for (OpId id : ops_of(p, PostKind::kAttend))
    if (!p.ops[at(id)].deps.empty()) return p.ops[at(id)].deps.clear();
}

void depend_on_the_future(EditablePlan& p, const Request&) {
  const OpId last = ops_of(p, PostKind::kAttend).back();
  op_of(p, PostKind::kAttend, 0).deps.push_back(last);
}

// Every hop starts at once: the ring holds all its chunks instead of the few that it needs.
void start_exchanges_at_once(EditablePlan& p, const Request&) {
  for (OpId id : ops_of(p, PostKind::kExchange)) p.ops[at(id)].deps.clear();
}

void lose_message(EditablePlan& p, const Request&) {
  const MessageId id = first_wire(p);
  for (EditableOp& op : p.ops) std::erase(op.messages, id);
}

void forget_to_send(EditablePlan& p, const Request&) {
  const MessageId id = first_wire(p);
  std::erase(op_with_message(p, id).messages, id);
}

void understate_bytes(EditablePlan& p, const Request&) { p.shell.messages[at(first_wire(p))].bytes -= 2; }

// An exchange of a rank joins the post of the next one.
void miss_the_post(EditablePlan& p, const Request&) {
  EditableOp& op = op_of(p, PostKind::kExchange, 0);
  for (OpId id : ops_of(p, PostKind::kExchange))
    if (p.ops[at(id)].fields.post > op.fields.post) return void(op.fields.post = p.ops[at(id)].fields.post);
}

void send_another_box(EditablePlan& p, const Request&) {
  p.shell.messages[at(first_wire(p))].box = p.shell.messages.back().box;
}

void swap_output_ranks(EditablePlan& p, const Request&) {
  EditableValue& v = p.values[at(p.outputs[0].value)];
  std::swap(v.placement[0], v.placement[1]);
}

void output_rank_0_only(EditablePlan& p, const Request&) {
  for (std::size_t rank = 1; rank < p.outputs[0].placement.size(); ++rank) p.outputs[0].placement[rank].clear();
}

void finish_before_last_attend(EditablePlan& p, const Request&) {
  const OpId finish = ops_of(p, PostKind::kFinish).front();
  const OpId attend = ops_of(p, PostKind::kAttend, p.ops[at(finish)].fields.rank).back();
  const PostId finish_post = p.ops[at(finish)].fields.post, attend_post = p.ops[at(attend)].fields.post;
  std::swap(p.posts[at(finish_post)], p.posts[at(attend_post)]);
  for (EditableOp& op : p.ops) {
    if (op.fields.post == finish_post)
      op.fields.post = attend_post;
    else if (op.fields.post == attend_post)
      op.fields.post = finish_post;
  }
  std::ranges::stable_sort(p.ops, {}, [](const EditableOp& op) { return op.fields.post; });
}

void shrink_group(EditablePlan& p, const Request&) {
  p.groups[at(op_of(p, PostKind::kExchange, 0).fields.group)].resize(1);
}

void read_pending_sum(EditablePlan& p, const Request&) {
  const Post reduce = p.post_of(op_of(p, PostKind::kReduce, 0));
  const ValueId pending = reduce.src, sum = reduce.dst;
  for (EditablePost& post : p.posts) {
    if (post.fields.kind == PostKind::kReduce) continue;
    if (post.fields.src == sum) post.fields.src = pending;
    std::ranges::replace(post.operands, sum, pending);
  }
}

void lose_a_share(EditablePlan& p, const Request&) {
  const MessageId id = op_of(p, PostKind::kReduce, 0).messages.at(1);
  for (EditableOp& op : p.ops) std::erase(op.messages, id);
}

void drop_barrier(EditablePlan& p, const Request& request) {
  const PostId post = op_of(p, PostKind::kBarrier, 0).fields.post;
  for (int rank = 0; rank < request.ranks; ++rank)
    for (OpId id : ops_of(p, PostKind::kBarrier, rank))
      if (p.ops[at(id)].fields.post == post) {
        p.remove_op(id);
        break;
      }
}

void drop_signal(EditablePlan& p, const Request&) {
  for (OpId id : ops_of(p, PostKind::kPull)) {
    EditableOp& op = p.ops[at(id)];
    const auto count = std::erase_if(op.deps, [&](OpId d) { return p.ops[at(d)].fields.rank != op.fields.rank; });
    if (count > 0) return;
  }
}

}  // namespace

const std::vector<Corruption>& corruptions() {
  constexpr bool kHarmful = true, kLie = false;
  static const std::vector<Corruption> list = {
      {"ring", "missing", Rule::kMissing, kHarmful, drop_attend},
      {"ring", "twice", Rule::kTwice, kHarmful, repeat_attend},
      {"ring", "outside_mask", Rule::kMask, kLie, count_outside_mask},
      {"ring", "other_mask", Rule::kMask, kHarmful, name_other_mask},
      {"ring", "tiles", Rule::kMask, kLie, claim_a_tile_more},
      {"ring", "holds", Rule::kHolds, kHarmful, attend_keys_of_another},
      {"ring", "unshifted", Rule::kHolds, kHarmful, attend_before_hop},
      {"ring", "deadlock", Rule::kDeadlock, kHarmful, swap_exchanges_of_a_rank},
      {"ring", "rows", Rule::kHolds, kHarmful, attend_rows_of_another},
      {"ring", "dangling", Rule::kDangling, kHarmful, depend_on_nothing_known},
      {"ring", "race", Rule::kRace, kHarmful, forget_dependencies},
      {"ring", "cycle", Rule::kOrder, kHarmful, depend_on_the_future},
      {"ring", "unpaced", Rule::kOrder, kLie, start_exchanges_at_once},
      {"ring_two_way", "unpaced", Rule::kOrder, kLie, start_exchanges_at_once},
      {"ring", "lost", Rule::kUnmatched, kHarmful, lose_message},
      {"ring", "unsent", Rule::kUnmatched, kHarmful, forget_to_send},
      {"ring", "bytes", Rule::kBytes, kHarmful, understate_bytes},
      {"ring", "number", Rule::kUnmatched, kHarmful, miss_the_post},
      {"ring", "box", Rule::kHolds, kHarmful, send_another_box},
      {"ring", "output_swapped", Rule::kType, kHarmful, swap_output_ranks},
      {"ring", "output_missing", Rule::kOutput, kHarmful, output_rank_0_only},
      {"ring", "late_attend", Rule::kRows, kHarmful, finish_before_last_attend},
      {"ring", "group", Rule::kUnmatched, kLie, shrink_group},
      {"balanced_usp", "missing", Rule::kMissing, kHarmful, drop_attend},
      {"balanced_usp", "twice", Rule::kTwice, kHarmful, repeat_attend},
      {"balanced_usp", "deadlock", Rule::kDeadlock, kHarmful, swap_exchanges_of_a_rank},
      {"balanced_usp", "lost", Rule::kUnmatched, kHarmful, lose_message},
      {"balanced_usp", "box", Rule::kTransfer, kHarmful, send_another_box},
      {"balanced_usp", "output_swapped", Rule::kTransfer, kHarmful, swap_output_ranks},
      {"balanced_usp", "race", Rule::kRace, kHarmful, forget_dependencies},
      {"megatron_tp", "unreduced", Rule::kType, kHarmful, read_pending_sum},
      {"megatron_tp", "half_reduced", Rule::kUnmatched, kHarmful, lose_a_share},
      {"megatron_tp", "deadlock", Rule::kDeadlock, kHarmful, swap_reduces_of_a_rank},
      {"megatron_tp", "other_mask", Rule::kMask, kHarmful, name_other_mask},
      {"torus_barrier", "no_barrier", Rule::kRace, kHarmful, drop_barrier},
      {"torus_barrier", "missing", Rule::kMissing, kHarmful, drop_attend},
      {"torus_barrier", "twice", Rule::kTwice, kHarmful, repeat_attend},
      {"token_ring", "other_accumulator", Rule::kRace, kHarmful, use_other_accumulator},
      {"token_ring", "missing", Rule::kMissing, kHarmful, drop_attend},
      {"torus_signals", "signal", Rule::kRace, kHarmful, drop_signal},
      {"torus_signals", "missing", Rule::kMissing, kHarmful, drop_attend},
      {"torus_signals", "lost", Rule::kUnmatched, kHarmful, lose_message},
  };
  return list;
}

void PrintTo(const Corruption& corruption, std::ostream* out) { *out << corruption.plan << " " << corruption.name; }

}  // namespace spscope::testing
