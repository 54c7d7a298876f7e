// The layer around the attention that a strategy spreads over ranks.
//
// A strategy says where rows are and how attention happens; what a rank does with its own rows before and after is the
// same for every strategy. With run.scope = attention the layer is given q, k and v and leaves o. With run.scope =
// layer it is given the hidden state x and leaves x: token-local work that needs no communication.
#pragma once

#include "backend/plan/plan_builder.h"

namespace spscope {

struct LayerEntry {
  ValueId q = kNone, kv = kNone;  // of the spread attention, all heads at `rows`
  ValueId x = kNone;              // hidden state before that attention; kNone in attention scope
  Placement rows;
};

// `rows`: all heads of the tokens that each rank holds. In a spatial-temporal layer the spatial block runs first, on
// the same rows, where it needs no communication: rows hold whole frames.
LayerEntry enter_layer(PlanBuilder& builder, const Placement& rows);
// `o`: output of the spread attention, held at the entry's rows. Leaves the outputs of the layer there.
void leave_layer(PlanBuilder& builder, const LayerEntry& entry, ValueId o);

}  // namespace spscope
