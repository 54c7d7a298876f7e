#include "backend/strategies/sharding.h"

#include <fmt/format.h>

namespace spscope {

AttendedAxis spread_axis(const Request& request) {
  return request.spatiotemporal() ? AttendedAxis::kOuter : AttendedAxis::kInner;
}

SetId all_tokens(const Request& request, AttendedAxis axis) {
  return axis == AttendedAxis::kInner ? request.all_inner() : request.all_outer();
}

Box token_box(const Request& request, AttendedAxis axis, SetId columns, SetId tokens) {
  return axis == AttendedAxis::kInner ? Box{columns, request.all_outer(), tokens}
                                      : Box{columns, tokens, request.all_inner()};
}

bool replicates_text(const Request& request) {
  return request.text == TextLayout::kReplicate && request.text_tokens > 0;
}

BoxList row_boxes(const Request& request, SetId tokens) {
  const AttendedAxis axis = spread_axis(request);
  BoxList boxes = {token_box(request, axis, request.all_heads(), tokens)};
  if (replicates_text(request)) boxes.push_back(token_box(request, axis, request.all_heads(), request.words()));
  return boxes;
}

TokenOrder token_order(const Parameters& parameters) {
  return parameters.text("order") == "cyclic" ? TokenOrder::kCyclic : TokenOrder::kContiguous;
}

Parameter token_order_parameter() {
  return Parameter::choice("order", {kTokenOrders[0], kTokenOrders[1]},
                           "which blocks a ring rank holds: a run of neighbours, or every n-th block");
}

int slices_for(const Request& request, AttendedAxis axis, int parts) {
  const int blocks = request.executed_mask(axis).mask().blocks();
  // More slices than a block has tokens make no more parts.
  return blocks >= parts ? 1 : std::min((parts + blocks - 1) / blocks, kMaxBlockTokens);
}

std::vector<SetId> cut_blocks(const Request& request, AttendedAxis axis, int parts, TokenOrder order) {
  const auto blocks = request.executed_mask(axis).refined(slices_for(request, axis, parts)).blocks();
  const std::size_t n = blocks.size(), p = static_cast<std::size_t>(parts);
  std::vector<SetId> cut;
  for (std::size_t j = 0; j < p; ++j) {
    std::vector<SetId> mine;
    if (order == TokenOrder::kContiguous)
      mine.assign(blocks.begin() + static_cast<std::ptrdiff_t>(n * j / p),
                  blocks.begin() + static_cast<std::ptrdiff_t>(n * (j + 1) / p));
    else
      for (std::size_t b = j; b < n; b += p) mine.push_back(blocks[b]);
    cut.push_back(request.sets->unite(mine));
  }
  return cut;
}

Groups Mesh::ulysses_groups() const {
  Groups groups(static_cast<std::size_t>(ring));
  for (int rank = 0; rank < ulysses * ring; ++rank) groups[static_cast<std::size_t>(ring_index(rank))].push_back(rank);
  return groups;
}

Groups Mesh::ring_groups() const {
  Groups groups(static_cast<std::size_t>(ulysses));
  for (int rank = 0; rank < ulysses * ring; ++rank)
    groups[static_cast<std::size_t>(ulysses_index(rank))].push_back(rank);
  return groups;
}

Decision decide_mesh(const Mesh& mesh) {
  Decision decision;
  decision.ulysses = mesh.ulysses;
  decision.ring = mesh.ring;
  decision.ulysses_groups = mesh.ulysses_groups();
  decision.ring_groups = mesh.ring_groups();
  return decision;
}

ValueId ring_attention(PlanBuilder& b, ValueId q, ValueId kv, const Groups& rings, AttendedAxis axis, int slices) {
  const AccId acc = b.accumulate(q, axis, slices);
  const int steps = static_cast<int>(rings.front().size());
  for (int step = 0; step < steps; ++step) {
    Move hop;
    if (step + 1 < steps) hop = b.shift(kv, rings);
    b.attend(acc, kv, step);
    if (step + 1 < steps) kv = b.wait(hop);
  }
  return b.finish(acc);
}

void check_ulysses_degree(const Request& request, std::string_view strategy, int degree,
                          std::vector<Problem>& problems) {
  if (degree <= request.heads) return;
  problems.push_back({ErrorCode::kStrategyIllegal, fmt::format("strategy.{}", strategy),
                      fmt::format("ulysses degree {} exceeds the {} heads", degree, request.heads),
                      fmt::format("use at most {}, and a ring for the other ranks: -s usp", request.heads)});
}

void check_ring_text(const Request& request, std::string_view strategy, int ring, std::vector<Problem>& problems) {
  if (ring <= 1 || !replicates_text(request)) return;
  problems.push_back({ErrorCode::kStrategyIllegal, fmt::format("strategy.{}", strategy),
                      fmt::format("a ring of {} cannot keep its {} text tokens replicated", ring, request.text_tokens),
                      "set run.text = \"shard\", or use a ring degree of 1"});
}

void check_layer_scope(const Request& request, std::string_view strategy, std::string_view reason,
                       std::vector<Problem>& problems) {
  if (request.block != LayerBlock::kAttention) return;
  problems.push_back({ErrorCode::kStrategyIllegal, fmt::format("strategy.{}", strategy),
                      fmt::format("needs run.scope = \"layer\", since {}", reason), "set run.scope = \"layer\""});
}

}  // namespace spscope
