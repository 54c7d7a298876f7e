// Plan: the operations of every rank for one layer, as data.
//
// A plan is a flat graph of operations. One call of the builder makes one *post* for all ranks; an *op* is one rank's
// part of a post. Posts are totally ordered and an op depends on ops of earlier posts only, which is the proof that no
// plan deadlocks: the lowest unfinished post can always finish. The reads and writes of an op are defined once, by
// for_each_read and for_each_fill (plan_access.h); dependencies, verification, lifetimes and memory follow from them.
//
// Everything is a flat array addressed by index, so that a plan can be hashed, compared and stored: op 7 is ops[7].
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/base/dtype.h"
#include "backend/base/ids.h"
#include "backend/plan/box.h"
#include "backend/plan/collective.h"
#include "backend/plan/set_table.h"
#include "backend/plan/tensors.h"

namespace spscope {

using ValueId = std::int32_t;
using AccId = std::int32_t;
using GroupId = std::int32_t;
using MessageId = std::int32_t;
using KernelId = std::int32_t;
using MaskId = std::int32_t;

// A run of one of the plan's reference arrays.
struct IdRange {
  std::int32_t begin = 0, end = 0;
  int size() const { return end - begin; }
  bool empty() const { return begin == end; }
  friend bool operator==(const IdRange&, const IdRange&) = default;
};

// One tensor, or several with one placement, laid over the ranks.
struct Value {
  TensorSet tensors;
  Axis columns = Axis::kHeads;
  Placement placement;
  int layer = 0;          // attention of the layer: 0 for 3D and spatial, 1 for temporal; by pass: passes_at_once.h
  IdRange pending;        // groups whose partial sums a reduce must still add; empty: none
  AccId partial = kNone;  // the accumulator whose unfinished rows (o, m, l) these are
  IdRange sources;        // of a view: the values it is the union or a part of, never views; no op, no copy
  bool given = false;     // an input of the layer
};

// Running (o, m, l) of the rows of a value of queries.
struct Accumulator {
  ValueId q = kNone;
  AttendedAxis axis = AttendedAxis::kInner;
  MaskId mask = kNone;
};

// A mask of the request, or that mask with every block cut into `slices`. A plan refers to masks and never holds one.
struct MaskUse {
  AttendedAxis axis = AttendedAxis::kInner;
  int slices = 1;
  friend bool operator==(const MaskUse&, const MaskUse&) = default;
};

// A token-local kernel. A contracting one (a GEMM, a sum of squares) maps columns of `in` to columns of `out` and adds
// over its input columns; any other keeps columns and tensors of its first operand. Weights, and all else that is equal
// for all tokens (the text that cross-attention reads, the timestep of a modulation), are parameters of a kernel, not
// values of the plan.
struct Kernel {
  std::string name;
  bool contracts = false;
  Axis in = Axis::kHidden, out = Axis::kHidden;
  TensorSet tensors;  // of the result, when it contracts
  // Of kernels that do not contract. An op takes flops_per_cell for each cell (column, token, sample) of its first
  // operand, 0 meaning one for each element, and flops_per_column for each (column, sample) that it holds, whatever its
  // tokens: projecting the text of a cross-attention.
  std::int64_t flops_per_cell = 0, flops_per_column = 0;
  // The result of a cell depends on all columns of its token: operands are not cut along columns.
  bool whole_rows = false;
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

// Stored numbers: append only.
enum class PostKind : std::uint8_t {
  kLocal = 0,     // token-local kernel
  kAttend = 1,    // rows of an accumulator x keys
  kMerge = 2,     // unfinished rows computed elsewhere, folded into an accumulator
  kFinish = 3,    // normalised rows, or unfinished rows that can travel
  kCopy = 4,      // rearrangement inside each rank
  kExchange = 5,  // two-sided: both ends post
  kPull = 6,      // one-sided, started by the receiver
  kPush = 7,      // one-sided, started by the sender
  kReduce = 8,    // two-sided sum of pending shares into disjoint parts
  kBarrier = 9,   // all earlier ops of every member end before any later one starts
};
inline constexpr int kNumPostKinds = 10;

struct Post {
  PostKind kind = PostKind::kLocal;
  int lane = 0;  // 0 is compute; communication runs on lanes of its own
  ValueId src = kNone, dst = kNone;
  IdRange operands;  // further values a local kernel reads; of a reduce, what each rank adds itself
  KernelId kernel = kNone;
  AccId acc = kNone;
  int ring_step = 0;      // of an attend: which step of its ring
  bool merges = false;    // of an attend: its rows have attended before, in an earlier post (mark_merges())
  bool balances = false;  // a move that only spreads load: its bytes are reported separately, as `exchange`
  bool by_index = false;  // a move of what receivers ask for by index: the indices are reported as `metadata`
  Collective collective = Collective::kPointToPoint;  // of a communication
  int collective_steps = 1;                           // posts that are one collective together, this among them
};

struct Op {
  PostId post = kNone;
  int rank = 0;
  GroupId group = kNone;                                                   // of a communication
  IdRange deps;                                                            // in dep_refs: ops that must end first
  IdRange messages;                                                        // in message_refs
  SetId heads = kEmptySet, seq = kEmptySet, q = kEmptySet, k = kEmptySet;  // of an attend
  std::int64_t tiles = 0;  // active tiles of an attend, in slices of its mask; x sequences x batch
  std::int64_t flops = 0;
};

// Data between the ops of one post. src == dst is a local copy and counts 0 bytes.
struct Message {
  int src = 0, dst = 0;  // ranks
  Box box;
  std::int64_t bytes = 0;
};

struct Output {
  ValueId value = kNone;
  Placement placement;  // what each rank must end up holding
};

struct Plan {
  int ranks = 0, lanes = 1, batch = 1;
  Dtype dtype = Dtype::kBf16;
  std::int32_t num_columns[kNumAxes] = {};      // heads, hidden, ffn, 1
  std::int32_t tensor_width[kNumTensors] = {};  // elements per column and token
  std::int32_t outer_tokens = 1, inner_tokens = 0;
  std::shared_ptr<SetTable> sets;

  std::vector<Op> ops;
  std::vector<Post> posts;
  std::vector<Value> values;
  std::vector<Accumulator> accumulators;
  std::vector<MaskUse> masks;
  std::vector<Kernel> kernels;
  std::vector<Message> messages;
  std::vector<IdRange> groups;  // runs of group_members
  std::vector<Output> outputs;

  std::vector<OpId> dep_refs;
  std::vector<MessageId> message_refs;
  std::vector<ValueId> value_refs;
  std::vector<GroupId> group_refs;
  std::vector<int> group_members;  // ranks

  const Post& post_of(const Op& op) const { return posts[static_cast<std::size_t>(op.post)]; }
  PostKind kind_of(const Op& op) const { return post_of(op).kind; }
  std::span<const OpId> deps(const Op& op) const { return slice(dep_refs, op.deps); }
  std::span<const MessageId> messages_of(const Op& op) const { return slice(message_refs, op.messages); }
  std::span<const int> group(GroupId id) const { return slice(group_members, groups[static_cast<std::size_t>(id)]); }
  std::span<const ValueId> value_list(IdRange range) const { return slice(value_refs, range); }
  std::span<const GroupId> group_list(IdRange range) const { return slice(group_refs, range); }

  // Elements per column and token of a value, all its tensors together.
  std::int64_t width(TensorSet tensors) const;
  // Bytes of one element: the run's dtype, but fp32 for unfinished rows and norm statistics.
  int element_bytes(const Value& value) const;
  // Bytes of one (column, outer, inner) cell of a value, batch included.
  std::int64_t cell_bytes(const Value& value) const { return width(value.tensors) * element_bytes(value) * batch; }

 private:
  template <typename T>
  static std::span<const T> slice(const std::vector<T>& refs, IdRange range) {
    return {refs.data() + range.begin, static_cast<std::size_t>(range.size())};
  }
};

constexpr bool two_sided(PostKind k) {
  return k == PostKind::kExchange || k == PostKind::kReduce || k == PostKind::kBarrier;
}
constexpr bool communicates(PostKind k) { return two_sided(k) || k == PostKind::kPull || k == PostKind::kPush; }
// Kinds that carry a value from one placement to another.
constexpr bool moves(PostKind k) {
  return k == PostKind::kExchange || k == PostKind::kPull || k == PostKind::kPush || k == PostKind::kCopy;
}
const char* post_kind_name(PostKind kind);
void mark_merges(Plan& plan);  // sets Post::merges, which follows from the order of posts
// Bytes that each rank sends (src != dst), from the plan's messages.
std::vector<std::int64_t> bytes_sent(const Plan& plan);
std::vector<std::int64_t> bytes_received(const Plan& plan);
// A hash of the whole content of a plan, sets by their indices; equal plans have equal hashes on any machine.
std::uint64_t plan_hash(const Plan& plan);

}  // namespace spscope
