#include "backend/execute/program/output_gather.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/base/check.h"

namespace spscope {
namespace {

std::size_t elements(const Plan& plan, const Value& value) {
  return static_cast<std::size_t>(std::int64_t{plan.batch} * plan.num_columns[static_cast<int>(value.columns)] *
                                  plan.outer_tokens * plan.inner_tokens * plan.width(value.tensors));
}

// Where the rows of an output lie: `width` elements, `step` apart. x has all tokens of a channel next to each other, o
// all channels of a head.
struct RowLayout {
  std::size_t width = 1, step = 1;

  std::size_t row_of(std::size_t element) const { return element / (width * step) * step + element % step; }
  std::size_t first_of(std::size_t row) const { return row / step * width * step + row % step; }
};

RowLayout row_layout(const Plan& plan, const Value& value) {
  if (value.columns != Axis::kHidden) return {static_cast<std::size_t>(plan.width(value.tensors)), 1};
  return {static_cast<std::size_t>(plan.num_columns[static_cast<int>(value.columns)]),
          static_cast<std::size_t>(std::int64_t{plan.outer_tokens} * plan.inner_tokens)};
}

// The largest quotient of a row's squares and those of `values`; NaN once there is one.
double largest_error(const RowLayout& layout, const std::vector<float>& values, const std::vector<double>& squares) {
  if (squares.empty()) return 0;
  double sum = 0, largest = 0;
  for (const float x : values) sum += std::isnan(x) ? 0 : double{x} * x;
  const double smallest = kSmallestShareOfMean * sum / static_cast<double>(squares.size());
  for (std::size_t row = 0; row < squares.size(); ++row) {
    if (squares[row] == 0) continue;
    double of_row = 0;
    for (std::size_t i = 0; i < layout.width; ++i)
      of_row += std::pow(double{values[layout.first_of(row) + i * layout.step]}, 2);
    const double error = squares[row] / std::max(of_row, smallest);
    if (std::isnan(error)) return error;
    largest = std::max(largest, error);
  }
  return largest;
}

}  // namespace

struct OutputGather::Gathered {
  OutputTensor tensor;
  RowLayout layout;
  std::vector<bool> written;
  // Of every row: squared difference of the rank at hand, and the largest of any rank. Empty until a replica differs.
  std::vector<double> of_rank, of_any;

  void differ(std::size_t element, double difference) {
    if (of_rank.empty()) of_rank.assign(written.size() / layout.width, 0.0);
    of_rank[layout.row_of(element)] += difference * difference;
  }
  void end_rank() {
    if (of_rank.empty()) return;
    of_any.resize(of_rank.size(), 0.0);
    for (std::size_t row = 0; row < of_rank.size(); ++row)
      if (!(of_rank[row] <= of_any[row]) && !std::isnan(of_any[row])) of_any[row] = of_rank[row];
    of_rank.clear();
  }
};

OutputGather::OutputGather(const Plan& plan, CellFinder& finder) : plan_(plan) {
  for (std::size_t i = 0; i < plan.outputs.size(); ++i)
    for (int rank = 0; rank < plan.ranks; ++rank)
      for (const Box& box : plan.outputs[i].placement.at(rank)) {
        std::vector<CellRun> cells = finder.value_cells(plan.outputs[i].value, rank, box);
        const Value& value = plan.values[static_cast<std::size_t>(plan.outputs[i].value)];
        const std::int64_t elements = total_cells(cells) * plan.width(value.tensors);
        shares_.push_back({i, rank, box, std::move(cells), elements});
      }
}

std::vector<OutputTensor> OutputGather::gather(std::span<const std::vector<float>> held_by_rank) const {
  std::vector<OutputTensor> outputs;
  std::vector<std::size_t> taken(held_by_rank.size());  // elements, by rank
  auto share = shares_.begin();
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    const Value& value = plan_.values[static_cast<std::size_t>(plan_.outputs[i].value)];
    Gathered whole;
    whole.tensor.tensors = value.tensors;
    whole.tensor.layer = value.layer;
    whole.tensor.values.assign(elements(plan_, value), std::numeric_limits<float>::quiet_NaN());
    whole.layout = row_layout(plan_, value);
    whole.written.assign(whole.tensor.values.size(), false);
    for (; share != shares_.end() && share->output == i; ++share) {
      const auto rank = static_cast<std::size_t>(share->rank);
      for (int entry = 0; entry < plan_.batch; ++entry) {
        const auto count = static_cast<std::size_t>(share->num_elements);
        SPSCOPE_CHECK(taken[rank] + count <= held_by_rank[rank].size());
        place(held_by_rank[rank].data() + taken[rank], *share, entry, whole);
        taken[rank] += count;
      }
      const auto next = std::next(share);
      if (next == shares_.end() || next->output != i || next->rank != share->rank) whole.end_rank();
    }
    whole.tensor.max_replica_error = largest_error(whole.layout, whole.tensor.values, whole.of_any);
    outputs.push_back(std::move(whole.tensor));
  }
  return outputs;
}

void OutputGather::place(const float* next, const Share& share, int entry, Gathered& whole) const {
  const Value& value = plan_.values[static_cast<std::size_t>(plan_.outputs[share.output].value)];
  const std::int64_t width = plan_.width(value.tensors);
  const std::int64_t all_columns = plan_.num_columns[static_cast<int>(value.columns)];
  for (const Span& columns : plan_.sets->spans(share.box.columns))
    for (int column = columns.begin; column < columns.end; ++column)
      for (const Span& rows : plan_.sets->spans(share.box.outer))
        for (std::int32_t outer = rows.begin; outer < rows.end; ++outer)
          for (const Span& run : plan_.sets->spans(share.box.inner)) {
            const std::int64_t row =
                ((entry * all_columns + column) * plan_.outer_tokens + outer) * plan_.inner_tokens + run.begin;
            for (std::int64_t i = row * width; i < (row + run.size()) * width; ++i, ++next) {
              const auto at = static_cast<std::size_t>(i);
              float& first = whole.tensor.values[at];
              if (!whole.written[at])
                first = *next;
              else if (!(first == *next))
                whole.differ(at, double{*next} - double{first});
              whole.written[at] = true;
            }
          }
}

}  // namespace spscope
