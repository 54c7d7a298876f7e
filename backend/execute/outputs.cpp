#include "backend/execute/outputs.h"

#include <cmath>
#include <limits>

#include "backend/execute/copy.h"

namespace spscope {
namespace {

std::size_t elements(const Plan& plan, const Value& value) {
  return static_cast<std::size_t>(std::int64_t{plan.batch} * plan.num_columns[static_cast<int>(value.columns)] *
                                  plan.outer_tokens * plan.inner_tokens * plan.width(value.tensors));
}

}  // namespace

OutputGather::OutputGather(const Plan& plan, CellFinder& finder) : plan_(plan) {
  for (std::size_t i = 0; i < plan.outputs.size(); ++i)
    for (int rank = 0; rank < plan.ranks; ++rank)
      for (const Box& box : plan.outputs[i].placement.at(rank))
        shares_.push_back({i, box, finder.value_cells(plan.outputs[i].value, rank, box)});
}

std::vector<OutputTensor> OutputGather::gather(const BufferStore& store) const {
  std::vector<OutputTensor> outputs(plan_.outputs.size());
  std::vector<std::vector<bool>> written;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Value& value = plan_.values[static_cast<std::size_t>(plan_.outputs[i].value)];
    outputs[i].tensors = value.tensors;
    outputs[i].layer = value.layer;
    outputs[i].values.assign(elements(plan_, value), std::numeric_limits<float>::quiet_NaN());
    written.emplace_back(elements(plan_, value), false);
  }
  for (const Share& share : shares_)
    for (int entry = 0; entry < plan_.batch; ++entry)
      place(store, share, entry, outputs[share.output], written[share.output]);
  return outputs;
}

void OutputGather::place(const BufferStore& store, const Share& share, int entry, OutputTensor& whole,
                         std::vector<bool>& written) const {
  const Value& value = plan_.values[static_cast<std::size_t>(plan_.outputs[share.output].value)];
  const std::int64_t width = plan_.width(value.tensors);
  const std::int64_t all_columns = plan_.num_columns[static_cast<int>(value.columns)];
  std::vector<float> held(static_cast<std::size_t>(total_cells(share.cells) * width));
  load_cells(store, share.cells, 0, entry, held);
  const float* next = held.data();
  for (const Span& columns : plan_.sets->spans(share.box.columns))
    for (int column = columns.begin; column < columns.end; ++column)
      for (const Span& rows : plan_.sets->spans(share.box.outer))
        for (std::int32_t outer = rows.begin; outer < rows.end; ++outer)
          for (const Span& run : plan_.sets->spans(share.box.inner)) {
            const std::int64_t row =
                ((entry * all_columns + column) * plan_.outer_tokens + outer) * plan_.inner_tokens + run.begin;
            for (std::int64_t i = row * width; i < (row + run.size()) * width; ++i, ++next) {
              const auto at = static_cast<std::size_t>(i);
              const double difference = std::abs(static_cast<double>(whole.values[at]) - *next);
              if (written[at] && !(difference <= whole.max_replica_difference))
                whole.max_replica_difference = difference;
              if (!written[at]) whole.values[at] = *next;
              written[at] = true;
            }
          }
}

}  // namespace spscope
