// Layers of published models beyond plain attention: cross-attention to text (Wan), and blocks in which video and text
// have weights of their own and attend to each other (MM-DiT).
#include "backend/base/ids.h"
#include "tests/support/plan_library.h"

namespace spscope::testing {
namespace {

Placement rows_of(PlanBuilder& b, Axis axis, const std::vector<SetId>& tokens) {
  return b.place([&](int rank) {
    return BoxList{{b.request().all_columns(axis), b.request().all_outer(), tokens[at(rank)]}};
  });
}

// What each rank holds of these tokens.
ValueId part_of(PlanBuilder& b, ValueId value, SetId tokens) {
  const Placement whole = b.placement_of(value);
  return b.narrow(value, b.place([&](int rank) {
    BoxList boxes(whole.at(rank).begin(), whole.at(rank).end());
    for (Box& box : boxes) box.inner = b.sets().both(box.inner, tokens);
    return boxes;
  }));
}

}  // namespace

ValueId per_stream(PlanBuilder& b, ValueId value, const std::string& weight) {
  const Request& request = b.request();
  const ValueId video = b.linear(part_of(b, value, request.video()), weight + "_video");
  const ValueId text = b.linear(part_of(b, value, request.words()), weight + "_text");
  return b.view(std::vector{video, text});
}

void plan_cross_attention(PlanBuilder& b, const Request& request) {
  const std::vector<SetId> tokens = b.sets().even(request.all_inner(), request.ranks);
  const Placement rows = rows_of(b, Axis::kHidden, tokens);
  const ValueId x = b.input(kHiddenState, rows, Axis::kHidden);
  const ValueId q = b.linear(x, "wq");
  const ValueId o = b.local(kCrossAttention, {&q, 1});
  b.output(b.local("residual", std::vector{x, b.linear(o, "wo")}), rows);
}

void plan_double_block_ring(PlanBuilder& b, const Request& request) {
  const auto tokens = cut_blocks(request, AttendedAxis::kInner, request.ranks, TokenOrder::kContiguous);
  const ValueId x = b.input(kHiddenState, rows_of(b, Axis::kHidden, tokens), Axis::kHidden);
  const ValueId q = per_stream(b, x, "wq"), kv = per_stream(b, x, "wkv");
  const ValueId o = ring_attention(b, q, kv, b.everyone(), AttendedAxis::kInner, 1);
  b.output(b.local("residual", std::vector{x, per_stream(b, o, "wo")}), b.placement_of(x));
}

// Each rank computes all of the text; only keys of the video travel, and each stream is met apart.
void plan_double_block_text_replicated(PlanBuilder& b, const Request& request) {
  std::vector<SetId> tokens = cut_blocks(request, AttendedAxis::kInner, request.ranks, TokenOrder::kContiguous);
  for (SetId& mine : tokens) mine = b.sets().unite(std::vector{mine, request.words()});
  const ValueId x = b.input(kHiddenState, rows_of(b, Axis::kHidden, tokens), Axis::kHidden);
  const AccId acc = b.accumulate(per_stream(b, x, "wq"));
  const ValueId kv = per_stream(b, x, "wkv");
  b.attend(acc, part_of(b, kv, request.words()));
  ValueId travelling = part_of(b, kv, request.video());
  for (int step = 0; step < request.ranks; ++step) {
    if (step > 0) travelling = b.wait(b.shift(travelling, b.everyone()));
    b.attend(acc, travelling, step);
  }
  b.output(b.local("residual", std::vector{x, per_stream(b, b.finish(acc), "wo")}), b.placement_of(x));
}

}  // namespace spscope::testing
