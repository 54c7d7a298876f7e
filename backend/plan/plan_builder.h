// PlanBuilder: the interface with which strategies write plans.
//
// One call records one post for all ranks at once. The builder derives send lists from placements and dependencies from
// reads, so a strategy states only placements and operations; posting a move and waiting for it are separate calls,
// which makes overlap explicit.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/plan/plan_access.h"
#include "backend/plan/request.h"

namespace spscope {

// Ops of a plan; 2^26 is a ring of 5,792 ranks, some 6 GB. Reference arrays stay well within 32-bit positions.
inline constexpr std::size_t kMaxPlanOps = std::size_t{1} << 26;

using Groups = std::vector<std::vector<int>>;

// Which collective a communication is, or is a part of, to the network: one of `steps` posts.
struct CollectivePart {
  Collective collective = Collective::kPointToPoint;
  int steps = 1;
};

// A move in flight: only wait() gives the value that can be read.
struct [[nodiscard]] Move {
  ValueId value = kNone;
};

struct QueriesKeysValues {
  ValueId q = kNone, kv = kNone;
};

class PlanBuilder {
 public:
  explicit PlanBuilder(const Request& request);
  // The finished plan; the builder is empty afterwards.
  Plan take();

  const Request& request() const { return request_; }
  const Plan& plan() const { return plan_; }
  SetTable& sets() { return *plan_.sets; }
  const Placement& placement_of(ValueId value) const { return plan_.values[static_cast<std::size_t>(value)].placement; }
  // All ranks as one group.
  const Groups& everyone() const { return everyone_; }
  // boxes_of(rank) -> BoxList; boxes with an empty set are dropped.
  template <typename Function>
  Placement place(Function&& boxes_of) const {
    return Placement::make(request_.ranks, boxes_of);
  }

  // -- values
  ValueId input(TensorSet tensors, Placement placement, Axis columns = Axis::kHeads, int layer = 0);
  QueriesKeysValues input_qkv(const Placement& placement, int layer = 0);
  // The union of values with the same tensors; no op, no copy.
  ValueId view(std::span<const ValueId> values);
  // A part of a value; no op, no copy. REQUIRES: each rank holds its part (verify() checks it).
  ValueId narrow(ValueId value, Placement part);
  // Declares an output of the layer and its placement.
  void output(ValueId value, Placement placement);

  // -- communication. Groups default to everyone(); communication lanes are numbered from 1.
  // Two-sided: any redistribution inside groups. To the network an all-gather where each rank that sends sends all it
  // holds to every rank that gets anything of others, and those keep what they hold; else an all-to-all. Throws
  // Error(kPlanNotHeld) when a group does not hold all that one of its members is to receive. The source is the rank
  // itself where it holds the data, else the next holder in group order.
  Move exchange(ValueId value, Placement placement, const Groups& groups = {}, int lane = 1,
                std::optional<CollectivePart> part = {});
  // One-sided, started by the receiver (pull) or the sender (push). A dependency on an op of another rank is executed
  // as a signal.
  Move pull(ValueId value, Placement placement, const Groups& groups = {}, int lane = 1);
  Move push(ValueId value, Placement placement, const Groups& groups = {}, int lane = 1);
  // Adds the pending shares of each group into disjoint parts.
  Move reduce(ValueId value, Placement placement, const Groups& groups = {}, int lane = 1,
              CollectivePart part = {Collective::kReduceScatter});
  // Adds to each part the shares that other members of the group hold in `value`, and that which the rank itself holds
  // in `own`. `last`: no share is pending any more; else the sums remain pending, in the groups that they were.
  Move reduce_onto(ValueId own, ValueId value, Placement placement, const Groups& groups, int lane, CollectivePart part,
                   bool last);
  // All earlier ops of all members end before any later one starts.
  void barrier(const Groups& groups = {}, int lane = 1);
  ValueId wait(Move move) { return move.value; }
  // exchange + wait; the value itself, without an op, where every rank holds just what it needs
  ValueId reshard(ValueId value, Placement placement, const Groups& groups = {}, int lane = 1);
  // exchange + wait of a move that only spreads load; its bytes are reported separately (Post::balances)
  ValueId rebalance(ValueId value, Placement placement, const Groups& groups = {}, int lane = 1);
  // exchange of parts that each receiver has asked for by index (Post::by_index)
  Move exchange_by_index(ValueId value, Placement placement, const Groups& groups = {}, int lane = 1);
  // exchange to the rank `by` further in each ring; point to point to the network
  Move shift(ValueId value, const Groups& rings, int by = 1, int lane = 1);

  // -- compute
  // Token-local kernel: same tokens in and out. A contracting kernel of Request::kernels maps its columns to
  // `out_columns` (per rank; empty: all) and leaves sums pending in `groups`, whose members each hold a share of its
  // input columns: some, none (a share of zeros) or, of a group whose other members hold none, all. Without groups,
  // sums are pending over all ranks when some rank holds only part of the input columns. Any other kernel keeps columns
  // and tensors of the first value; values of another axis broadcast over them. Pending sums are operands of
  // "add_shares" alone (layer_kernels.h), whose result is pending in their groups.
  ValueId local(std::string_view kernel, std::span<const ValueId> values, std::span<const SetId> out_columns = {},
                const Groups& groups = {});
  ValueId linear(ValueId value, std::string_view weight, std::span<const SetId> out_columns = {},
                 const Groups& groups = {});
  // Opens running (o, m, l) for the rows of q, on the executed mask of the axis cut into `slices` a block.
  AccId accumulate(ValueId q, AttendedAxis axis = AttendedAxis::kInner, int slices = 1);
  // Every rank attends its rows of acc to its part of kv. A rank without rows or keys gets no op.
  void attend(AccId acc, ValueId kv, int ring_step = 0);
  // Folds unfinished rows that were computed elsewhere into acc.
  void merge(AccId acc, ValueId part);
  // Normalised rows (finish), or unfinished rows that can travel (partial). REQUIRES: each accumulator is closed once.
  ValueId finish(AccId acc) { return close(acc, false); }
  ValueId partial(AccId acc) { return close(acc, true); }
  // accumulate + attend + finish
  ValueId attend_all(ValueId q, ValueId kv, AttendedAxis axis = AttendedAxis::kInner);

 private:
  struct Line {  // one message of a move: src, dst, box
    int src, dst;
    Box box;
  };
  struct Barrier {  // of one group
    PostId post;
    std::vector<OpId> op_of_rank;  // kNone for ranks that are not members
  };

  ValueId add_value(Value value);
  PostId add_post(Post post);
  OpId add_op(PostId post, int rank);
  void finish_op(OpId op, std::span<const MessageId> messages = {});
  void depend_on_makers(ValueId value, int rank, const Op& op, std::vector<OpId>& deps) const;
  OpId last_fence(PostId after, int rank, int other) const;
  GroupId group_id(const std::vector<int>& group);
  IdRange add_value_refs(std::span<const ValueId> values);
  IdRange add_sources(std::span<const ValueId> values);
  IdRange add_group_refs(const Groups& groups);
  IdRange copy_pending(const Value& value);
  struct MoveKind {
    PostKind post;
    bool balances = false, by_index = false, last = true;
    ValueId own = kNone;
    std::optional<CollectivePart> part = {};  // nullopt: by what moves
  };
  Move move(MoveKind kind, ValueId value, Placement placement, const Groups& groups, int lane);
  bool gathers(const Value& from, const Value& to, const std::vector<Line>& lines);
  void route(const Value& value, const Placement& placement, const std::vector<int>& group, std::vector<Line>& lines);
  void add_shares(const Value& value, const Placement& parts, const std::vector<int>& group, bool but_own,
                  std::vector<Line>& lines);
  void route_box(const Value& value, const Box& want, std::size_t position, const std::vector<int>& group,
                 std::vector<Line>& lines);
  void record_move(PostId post, const std::vector<int>& group, std::span<const Line> lines, bool wire);
  void attend_pair(PostId post, AccId acc, int rank, const Box& rows, const Box& keys);
  ValueId close(AccId acc, bool unfinished);
  static int share_holder(const Placement& source, const Groups& groups, int rank);
  // Of the request, or one that works element by element.
  Kernel kernel_named(std::string_view name, Axis columns) const;
  std::int64_t local_flops(const Kernel& kernel, ValueId from, ValueId to, int rank);
  KernelId kernel_id(const Kernel& kernel);
  MaskId mask_id(const MaskUse& use);
  std::int32_t& last_on_lane(int rank, int lane);

  const Request& request_;
  Plan plan_;
  Groups everyone_;
  std::vector<OpId> last_compute_;               // by rank: program order
  std::vector<std::vector<OpId>> last_lane_op_;  // by lane, by rank
  struct Maker {
    OpId op;
    std::int32_t next;
  };
  std::vector<std::vector<std::int32_t>> maker_head_;  // by value, by rank: first of makers_, -1 none
  std::vector<Maker> makers_;
  std::vector<Barrier> barriers_;
  FlatMap<GroupId> group_ids_;
  std::vector<OpId> scratch_deps_;
  std::vector<std::vector<MessageId>> scratch_messages_;  // by rank
};

}  // namespace spscope
