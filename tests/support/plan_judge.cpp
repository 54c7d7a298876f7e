#include "tests/support/plan_judge.h"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

#include "backend/base/ids.h"

namespace spscope::testing {
namespace {

// Whether `visit(column, outer, inner)` holds for every cell.
template <typename Visit>
bool all_cells(const SetTable& sets, std::span<const Box> boxes, Visit&& visit) {
  for (const Box& box : boxes)
    for (const Span& columns : sets.spans(box.columns))
      for (int c = columns.begin; c < columns.end; ++c)
        for (const Span& outer : sets.spans(box.outer))
          for (int o = outer.begin; o < outer.end; ++o)
            for (const Span& inner : sets.spans(box.inner))
              for (int i = inner.begin; i < inner.end; ++i)
                if (!visit(c, o, i)) return false;
  return true;
}

bool replaces(const ExpectedOutput& output, const Value& v) {
  return v.given && v.layer == output.layer && v.tensors == (output.tensors == kOutputs ? kQueries : output.tensors);
}

Plan layer_on_one_rank(const Request& request, LayerKind kind) {
  return build([&](PlanBuilder& b, const Request& r) { plan_whole_layer(b, r, kind); }, request);
}

}  // namespace

const char* outcome_name(Outcome outcome) {
  static constexpr const char* names[kNumOutcomes] = {"ok", "wrong", "bytes", "deadlock", "fault"};
  return names[static_cast<int>(outcome)];
}

PlanJudge::PlanJudge(const Request& request, LayerKind kind)
    : request_(request), layer_(layer_on_one_rank(request, kind)), wanted_(layer_, request) {
  if (wanted_.run(0) != Ending::kDone) throw std::logic_error("the layer cannot be computed: " + wanted_.failure());
}

Judgement PlanJudge::judge(const Plan& plan, int orders) const {
  if (!can_be_followed(plan, request_)) return {Outcome::kFault, {}, "references that cannot be followed"};
  Judgement judgement;
  judgement.peak_bytes.assign(at(request_.ranks), 0);
  for (int seed = 0; seed < orders && judgement.outcome == Outcome::kOk; ++seed)
    judgement.outcome = check_order(plan, static_cast<std::uint64_t>(seed), judgement);
  return judgement;
}

Outcome PlanJudge::check_order(const Plan& plan, std::uint64_t seed, Judgement& judgement) const {
  PlanRun run(plan, request_);
  const Ending ending = run.run(seed);
  judgement.reason = run.failure();
  if (ending != Ending::kDone) return ending == Ending::kFault ? Outcome::kFault : Outcome::kDeadlock;
  for (std::size_t r = 0; r < judgement.peak_bytes.size(); ++r)
    judgement.peak_bytes[r] = std::max(judgement.peak_bytes[r], run.peak_bytes()[r]);
  if (plan.outputs.size() != layer_.outputs.size()) judgement.reason = "another number of outputs";
  for (std::size_t i = 0; i < layer_.outputs.size() && judgement.reason.empty(); ++i)
    if (!output_right(plan, run, i)) judgement.reason = "output " + std::to_string(i) + " is another one, or elsewhere";
  if (!judgement.reason.empty()) return Outcome::kWrong;
  return run.sent_bytes() == bytes_sent(plan) ? Outcome::kOk : Outcome::kBytes;
}

// A rank must hold what it was given of the input that the output replaces. Some rank must hold each cell.
bool PlanJudge::output_right(const Plan& plan, const PlanRun& run, std::size_t i) const {
  const Output &output = plan.outputs[i], &wanted = layer_.outputs[i];
  const ExpectedOutput& expected = request_.outputs[i];
  if (plan.values[at(output.value)].tensors != expected.tensors) return false;
  std::set<std::array<int, 3>> needed;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    std::set<std::array<int, 3>> promised;
    const auto is_right = [&](int c, int o, int k) {
      promised.insert({c, o, k});
      const auto cell = run.find_cell(output.value, rank, c, o, k);
      return cell && cell == wanted_.find_cell(wanted.value, 0, c, o, k);
    };
    if (!all_cells(*plan.sets, output.placement.at(rank), is_right)) return false;
    const auto is_promised = [&](int c, int o, int k) {
      needed.insert({c, o, k});
      return promised.contains({c, o, k});
    };
    for (const Value& v : plan.values)
      if (replaces(expected, v) && !all_cells(*plan.sets, v.placement.at(rank), is_promised)) return false;
  }
  return all_cells(*layer_.sets, wanted.placement.at(0), [&](int c, int o, int k) {
    return needed.contains({c, o, k});
  });
}

}  // namespace spscope::testing
