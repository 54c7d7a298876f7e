#include "backend/strategies/layer.h"

namespace spscope {

LayerEntry enter_layer(PlanBuilder& b, const Placement& rows) {
  LayerEntry entry;
  entry.rows = rows;
  QueriesKeysValues given = b.input_qkv(rows);
  if (b.request().spatiotemporal()) {
    b.output(b.attend_all(given.q, given.kv, AttendedAxis::kInner), rows);
    given = b.input_qkv(rows, 1);
  }
  entry.q = given.q;
  entry.kv = given.kv;
  return entry;
}

void leave_layer(PlanBuilder& b, const LayerEntry& entry, ValueId o) { b.output(o, entry.rows); }

}  // namespace spscope
