// Shared pieces of strategies: how tokens and ranks are divided, and attention that travels round a ring.
// What comes before and after the attention is in layer.h.
//
// Where attention runs over all tokens (Ulysses), tokens are split evenly to the token; where it runs over parts
// (ring), cuts are at block borders, so that no tile is divided between ranks.
#pragma once

#include <vector>

#include "backend/plan/plan_builder.h"
#include "backend/strategies/layer.h"
#include "backend/strategies/strategy.h"

namespace spscope {

// The attention that a strategy spreads over ranks: full 3D attention along the inner axis, or the temporal one of a
// spatial-temporal layer, along frames.
AttendedAxis spread_axis(const Request& request);
SetId all_tokens(const Request& request, AttendedAxis axis);
// Columns x these tokens of the axis x all tokens of the other axis.
Box token_box(const Request& request, AttendedAxis axis, SetId columns, SetId tokens);

// Whether every rank holds all text tokens.
bool replicates_text(const Request& request);
// All heads of these tokens of the spread axis, and of the text where it is replicated: what a rank holds outside of
// attention. `tokens` leaves replicated text out.
BoxList row_boxes(const Request& request, SetId tokens);

enum class TokenOrder { kContiguous, kCyclic };
inline constexpr const char* kTokenOrders[] = {"contiguous", "cyclic"};
TokenOrder token_order(const Parameters& parameters);
Parameter token_order_parameter();

// Slices a block needs so that every one of `parts` ranks gets some; 1 when there are enough blocks.
int slices_for(const Request& request, AttendedAxis axis, int parts);
// Whole blocks (or slices) for each of `parts` ranks: runs of neighbours, or dealt out in turn.
std::vector<SetId> cut_blocks(const Request& request, AttendedAxis axis, int parts, TokenOrder order);

// U x R ranks. Contiguous: rank = ring index x U + ulysses index, so that Ulysses groups are neighbours
// (use_ulysses_low of yunchang 56118e0, 2026-05); strided: the roles are swapped.
struct Mesh {
  int ulysses, ring;
  bool contiguous = true;
  int ulysses_index(int rank) const { return contiguous ? rank % ulysses : rank / ring; }
  int ring_index(int rank) const { return contiguous ? rank / ulysses : rank % ring; }
  Groups ulysses_groups() const;
  Groups ring_groups() const;
};
// The degrees and groups of a mesh, with even cuts.
Decision decide_mesh(const Mesh& mesh);

// Attention of q over the keys of a whole ring: one hop a step, posted before the step's compute so that it overlaps.
ValueId ring_attention(PlanBuilder& builder, ValueId q, ValueId kv, const Groups& rings, AttendedAxis axis, int slices);

// -- shared legality
// Why a Ulysses degree cannot serve this request: it exceeds the heads.
void check_ulysses_degree(const Request& request, std::string_view strategy, int degree,
                          std::vector<Problem>& problems);
// Why keys cannot travel: text is replicated, and its keys would be attended once at each rank.
void check_ring_text(const Request& request, std::string_view strategy, int ring, std::vector<Problem>& problems);
// Why a strategy that spreads whole layers cannot serve a request for their attention alone.
void check_layer_scope(const Request& request, std::string_view strategy, std::string_view reason,
                       std::vector<Problem>& problems);

}  // namespace spscope
