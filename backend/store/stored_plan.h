// Plans in their tables. A plan of at most 4,096 operations is one blob, with a row for each operation for SQL; a
// larger one is stored in compressed parts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/plan/plan.h"
#include "backend/store/records.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

inline constexpr std::size_t kMaxPlanOpRows = 4096;
// Of a part before it is compressed, and of a whole plan: a plan for 1,024 ranks has about 10 MB.
inline constexpr std::size_t kMaxPlanPartBytes = 1 << 20, kMaxPlanBytes = 256 << 20;

// REQUIRES: the file holds no plan of this hash.
PlanId store_plan(Database& db, const Plan& plan, std::uint64_t hash);
// With a set table of its own. Throws Error (kStoreCorrupt).
Plan load_plan(Database& db, PlanId id);

}  // namespace spscope
