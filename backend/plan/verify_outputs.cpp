// Rules term and output: the outputs have the terms of the layer, are complete, and are where the caller expects them.
#include <fmt/format.h>

#include <algorithm>

#include "backend/plan/terms.h"
#include "backend/plan/verify_internal.h"

namespace spscope::verifying {
namespace {

// The input that an output replaces: attention output takes the place of its queries, any other tensor its own.
TensorSet replaced_input(TensorSet output) { return output == kOutputs ? kQueries : output; }

class Outputs {
 public:
  Outputs(const Context& c, Findings& found) : c_(c), p_(c.plan), found_(found) {}

  void check() {
    const Terms terms(p_);
    for (const TermClash& clash : terms.clashes()) found_.add(Rule::kTerm, clash.text);
    const auto& wanted = c_.request.outputs;
    if (p_.outputs.size() != wanted.size())
      return found_.add(Rule::kOutput, fmt::format("{} outputs, the layer has {}", p_.outputs.size(), wanted.size()));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Output& output = p_.outputs[i];
      const Value& value = c_.value(output.value);
      if (terms.of(output.value) != wanted[i].term || value.tensors != wanted[i].tensors ||
          value.columns != wanted[i].columns || value.layer != wanted[i].layer)
        found_.add(Rule::kTerm, fmt::format("output {} is not what the layer computes", i));
      if (!value.pending.empty() || value.partial != kNone) bad(i, "is unfinished");
      check_placement(i, output);
    }
    check_inputs();
  }

 private:
  void bad(std::size_t output, const char* what) {
    found_.add(Rule::kOutput, fmt::format("output {} {}", output, what));
  }

  template <typename Visit>
  void for_each_given(TensorSet tensors, int layer, Visit&& visit) const {
    for (const Value& v : p_.values)
      if (v.given && v.tensors == tensors && v.layer == layer) visit(v);
  }

  // Every rank ends with the part that it began with, both in the value and in the placement that the plan declares.
  void check_placement(std::size_t i, const Output& output) {
    const Value& value = c_.value(output.value);
    for (int rank = 0; rank < p_.ranks; ++rank) {
      const auto held = value.placement.at(rank), promised = output.placement.at(rank);
      bool whole = std::ranges::all_of(promised, [&](const Box& box) { return covered(c_.sets, box, held); });
      for_each_given(replaced_input(value.tensors), value.layer, [&](const Value& input) {
        for (const Box& box : input.placement.at(rank)) whole = whole && covered(c_.sets, box, promised);
      });
      if (!whole) return bad(i, "lacks rows that a rank must hold");
    }
    bool replaces = false;
    for_each_given(replaced_input(value.tensors), value.layer, [&](const Value&) { replaces = true; });
    if (!replaces) bad(i, "replaces no input");
  }

  // All ranks together hold the whole of an input.
  bool covers_tensor(TensorSet tensors, int layer, Axis columns) const {
    const Box whole = c_.request.whole(columns);
    BoxList boxes;
    std::vector<SetId> inner;  // of boxes that are cut along the inner axis only, the usual case
    for_each_given(tensors, layer, [&](const Value& v) {
      for (const Box& box : v.placement.boxes())
        if (box.columns == whole.columns && box.outer == whole.outer)
          inner.push_back(box.inner);
        else if (boxes.empty() || boxes.back() != box)
          boxes.push_back(box);
    });
    boxes.push_back({whole.columns, whole.outer, c_.sets.unite(inner)});
    return covered(c_.sets, whole, boxes);
  }

  void check_inputs() {
    for (std::size_t i = 0; i < p_.values.size(); ++i) {
      const Value& v = p_.values[i];
      if (v.given && !covers_tensor(v.tensors, v.layer, v.columns))
        found_.add(Rule::kOutput, fmt::format("input {} is not the whole tensor", i));
    }
  }

  const Context& c_;
  const Plan& p_;
  Findings& found_;
};

}  // namespace

void check_outputs(const Context& c, Findings& found) { Outputs(c, found).check(); }

}  // namespace spscope::verifying
