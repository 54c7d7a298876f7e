// Refused strategies in one line.
#include "backend/report/refused.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

StrategyResult refused(const char* name, ErrorCode code, const char* message, const char* hint) {
  StrategyResult s;
  s.name = s.label = name;
  s.problems = {{code, "", message, hint, {}}};
  return s;
}

std::string text_of(const std::vector<StrategyResult>& strategies) {
  std::vector<const StrategyResult*> pointers;
  for (const StrategyResult& s : strategies) pointers.push_back(&s);
  return refused_text(pointers);
}

TEST(Refused, StandTogetherWhereTheirReasonIsOne) {
  constexpr ErrorCode kOther = ErrorCode::kConfigConflict, kMemory = ErrorCode::kMemoryNeed;
  StrategyResult runs;
  runs.name = "cyclic";
  EXPECT_EQ(text_of({runs}), "");
  EXPECT_EQ(text_of({refused("dsp", kOther, "no axis", "x")}), "dsp (no axis)");
  EXPECT_EQ(
      text_of({refused("ulysses", kMemory, "needs 25 of 24 GiB", "it fits from 4 ranks"), runs,
               refused("dsp", kOther, "no axis", "x"),
               refused("ring", kMemory, "needs 26 of 24 GiB", "it fits from 4 ranks"),
               refused("snake", kOther, "no axis", "y"),
               refused("allgather_kv", kMemory, "needs 30 of 24 GiB", "fits from 8 ranks")}),
      "ulysses, ring, dsp, snake (no axis), allgather_kv. Each of ulysses and ring needs more memory than a GPU has. "
      "ulysses needs 25 of 24 GiB. Each fits from 4 ranks. allgather_kv needs 30 of 24 GiB. It fits from 8 ranks");
}

}  // namespace
}  // namespace spscope
