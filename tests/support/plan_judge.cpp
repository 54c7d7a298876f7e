#include "tests/support/plan_judge.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace spscope::testing {
namespace {

constexpr std::uint64_t kInputSeed = 1;
constexpr double kWrong = 1e-9;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename Visit>
void for_each_cell(const SetTable& sets, std::span<const Box> boxes, Visit&& visit) {
  for (const Box& box : boxes)
    for (const Span& columns : sets.spans(box.columns))
      for (const Span& outer : sets.spans(box.outer))
        for (const Span& inner : sets.spans(box.inner))
          for (int c = columns.begin; c < columns.end; ++c)
            for (int o = outer.begin; o < outer.end; ++o)
              for (int i = inner.begin; i < inner.end; ++i) visit(c, o, i);
}

bool replaces(const ExpectedOutput& output, const Value& v) {
  return v.given && v.layer == output.layer && v.tensors == (output.tensors == kOutputs ? kQueries : output.tensors);
}

}  // namespace

const char* outcome_name(Outcome outcome) {
  static constexpr const char* names[kNumOutcomes] = {"ok", "wrong", "bytes", "deadlock", "fault"};
  return names[static_cast<int>(outcome)];
}

PlanJudge::PlanJudge(const Request& request, LayerKind kind)
    : request_(request), inputs_(request, kInputSeed), wanted_(dense_layer(request, kind, kInputSeed)) {}

Judgement PlanJudge::judge(const Plan& plan, int orders) {
  Judgement judgement;
  judgement.peak_bytes.assign(static_cast<std::size_t>(request_.ranks), 0);
  for (int seed = 0; seed < orders && judgement.outcome == Outcome::kOk; ++seed)
    judgement.outcome = check_order(plan, static_cast<std::uint64_t>(seed), judgement);
  return judgement;
}

Outcome PlanJudge::check_order(const Plan& plan, std::uint64_t seed, Judgement& judgement) {
  PlanRun run(plan, request_, inputs_);
  const Ending ending = run.run(seed);
  judgement.reason = run.failure();
  if (ending != Ending::kDone) return ending == Ending::kFault ? Outcome::kFault : Outcome::kDeadlock;
  for (std::size_t r = 0; r < judgement.peak_bytes.size(); ++r)
    judgement.peak_bytes[r] = std::max(judgement.peak_bytes[r], run.peak_bytes()[r]);
  if (!outputs_right(plan, run, judgement)) return Outcome::kWrong;
  return run.sent_bytes() == bytes_sent(plan) ? Outcome::kOk : Outcome::kBytes;
}

bool PlanJudge::outputs_right(const Plan& plan, const PlanRun& run, Judgement& judgement) const {
  if (plan.outputs.size() != wanted_.size()) {
    judgement.reason = "another number of outputs";
    return false;
  }
  for (std::size_t i = 0; i < wanted_.size(); ++i)
    if (!output_right(plan, run, i, judgement)) return false;
  return true;
}

// Needed cells: those of the input that the output replaces. All cells of the tensor are needed somewhere.
bool PlanJudge::output_right(const Plan& plan, const PlanRun& run, std::size_t i, Judgement& judgement) const {
  const Output& output = plan.outputs[i];
  const DenseTensor& wanted = wanted_[i];
  const ExpectedOutput& expected = request_.outputs[i];
  std::vector<char> needed(wanted.cells(), 0), promised(wanted.cells());
  bool right = plan.values[static_cast<std::size_t>(output.value)].tensors == expected.tensors;
  for (int rank = 0; rank < plan.ranks && right; ++rank) {
    std::ranges::fill(promised, 0);
    for_each_cell(*plan.sets, output.placement.at(rank), [&](int c, int o, int k) {
      if (c >= wanted.columns || o >= wanted.outer || k >= wanted.inner) return void(right = false);
      promised[wanted.cell(c, o, k)] = 1;
      const double* cell = run.find_cell(output.value, rank, c, o, k);
      for (std::size_t e = 0; cell != nullptr && e < wanted.cell_elements(); ++e) {
        const double error = std::abs(cell[e] - wanted.at(c, o, k)[e]);
        judgement.max_error = std::isnan(error) ? kInfinity : std::max(judgement.max_error, error);
      }
      right = right && cell != nullptr;
    });
    for (const Value& v : plan.values)
      if (replaces(expected, v))
        for_each_cell(*plan.sets, v.placement.at(rank), [&](int c, int o, int k) {
          if (c >= wanted.columns || o >= wanted.outer || k >= wanted.inner) return void(right = false);
          needed[wanted.cell(c, o, k)] = 1;
          right = right && promised[wanted.cell(c, o, k)];
        });
  }
  right = right && std::ranges::all_of(needed, [](char n) { return n != 0; });
  if (!right) judgement.reason = "output " + std::to_string(i) + " is not where it must be";
  if (judgement.max_error > kWrong) judgement.reason = "error " + std::to_string(judgement.max_error);
  return right && !(judgement.max_error > kWrong);
}

}  // namespace spscope::testing
