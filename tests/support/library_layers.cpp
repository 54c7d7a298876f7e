// Plans of whole layers: sharded weights (Megatron), and a state that switches its cut (DSP).
#include "backend/base/ids.h"
#include "tests/support/plan_library.h"

namespace spscope::testing {
namespace {

using Total = std::function<ValueId(ValueId)>;

// wo attention(rms(wq x), wkv x). Heads of each rank (empty: all); where they are cut, `total` adds the sums of squares
// over ranks and the result is pending.
ValueId attention_block(PlanBuilder& b, ValueId x, AttendedAxis axis, const std::vector<SetId>& heads,
                        const Total& total) {
  const ValueId q = b.linear(x, "wq", heads);
  const ValueId scaled = b.local("rms", std::vector{q, total(b.linear(q, kSumOfSquares))});
  return b.linear(b.attend_all(scaled, b.linear(x, "wkv", heads), axis), "wo");
}

}  // namespace

void plan_megatron(PlanBuilder& b, const Request& request, bool sequence_parallel, CollectiveAlgorithm algorithm) {
  const std::vector<SetId> tokens = b.sets().even(request.all_inner(), request.ranks);
  const std::vector<SetId> heads = b.sets().even(request.all_heads(), request.ranks);
  const std::vector<SetId> ffn = b.sets().even(request.all_columns(Axis::kFfn), request.ranks);
  const auto cut = [&](Axis axis) {
    return b.place([&](int rank) {
      return BoxList{{request.all_columns(axis), request.all_outer(), tokens[at(rank)]}};
    });
  };
  const auto whole = [&](Axis axis) { return b.place([&](int) { return BoxList{request.whole(axis)}; }); };
  const std::vector<int>& all = b.everyone().front();
  const auto gathered = [&](ValueId x, Axis axis) {
    return b.placement_of(x) == whole(axis) ? x : all_gather(b, x, whole(axis), {all}, algorithm);
  };
  const auto gather = [&](ValueId x) { return sequence_parallel ? gathered(x, Axis::kHidden) : x; };
  // Adds what ranks hold of a sum; one rank holds all of it.
  const auto add = [&](ValueId x, Axis axis) {
    return request.ranks == 1 ? x : reduce_scatter(b, x, cut(axis), all, algorithm);
  };
  const auto join = [&](ValueId x) {
    const ValueId sum = add(x, Axis::kHidden);
    return sequence_parallel ? sum : gathered(sum, Axis::kHidden);
  };
  const Total total = [&](ValueId x) { return gathered(add(x, Axis::kStat), Axis::kStat); };

  ValueId x = b.input(kHiddenState, sequence_parallel ? cut(Axis::kHidden) : whole(Axis::kHidden), Axis::kHidden);
  x = b.local("residual", std::vector{x, join(attention_block(b, gather(x), AttendedAxis::kInner, heads, total))});
  const ValueId f = b.linear(gather(x), "w1", ffn);
  x = b.local("residual", std::vector{x, join(b.linear(b.local("gelu", {&f, 1}), "w2"))});
  b.output(x, b.placement_of(x));
}

void plan_dsp(PlanBuilder& b, const Request& request) {
  const std::vector<SetId> outer = b.sets().even(request.all_outer(), request.ranks);
  const std::vector<SetId> inner = b.sets().even(request.all_inner(), request.ranks);
  const SetId hidden = request.all_columns(Axis::kHidden);
  const Placement frames = b.place([&](int r) { return BoxList{{hidden, outer[at(r)], request.all_inner()}}; });
  const Placement space = b.place([&](int r) { return BoxList{{hidden, request.all_outer(), inner[at(r)]}}; });
  const Total here = [](ValueId norm) { return norm; };
  ValueId x = b.input(kHiddenState, frames, Axis::kHidden);
  x = b.local("residual", std::vector{x, attention_block(b, x, AttendedAxis::kInner, {}, here)});
  x = b.reshard(x, space);
  x = b.local("residual", std::vector{x, attention_block(b, x, AttendedAxis::kOuter, {}, here)});
  b.output(b.reshard(x, frames), frames);
}

}  // namespace spscope::testing
