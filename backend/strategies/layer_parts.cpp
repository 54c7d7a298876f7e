#include "backend/strategies/layer_parts.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "backend/base/check.h"

namespace spscope {

ValueId LayerParts::input(const Placement& rows) {
  const SetId hidden = request().all_columns(Axis::kHidden);
  const Placement whole = b_.place([&](int rank) {
    BoxList boxes(rows.at(rank).begin(), rows.at(rank).end());
    for (Box& box : boxes) box.columns = hidden;
    return boxes;
  });
  return b_.input(kHiddenState, whole, Axis::kHidden);
}

ValueId LayerParts::run(std::string_view op, std::string_view part, const std::vector<ValueId>& values) {
  std::string name(op);
  if (!part.empty()) name.append(".").append(part);
  const auto kernel = std::ranges::find(request().kernels, name, &Kernel::name);
  if (kernel == request().kernels.end()) {
    const std::string block = std::to_string(static_cast<int>(request().block));
    check_failed(("the kernels of LayerBlock " + block + " have \"" + name + "\"").c_str(), __FILE__, __LINE__);
  }
  std::span<const SetId> columns;
  if (kernel->contracts && kernel->out == Axis::kHeads) columns = cut_.heads;
  if (kernel->contracts && kernel->out == Axis::kFfn) columns = cut_.ffn;
  return b_.local(name, values, columns, share_groups(*kernel));
}

// The ranks whose shares a kernel that contracts cut columns leaves to be added, also where one of them has all
// columns.
Groups LayerParts::share_groups(const Kernel& kernel) const {
  const bool is_cut =
      (kernel.in == Axis::kHeads && !cut_.heads.empty()) || (kernel.in == Axis::kFfn && !cut_.ffn.empty());
  if (!kernel.contracts || !is_cut) return {};
  Groups groups = cut_.total_groups;
  if (kernel.out != Axis::kStat) {
    std::vector<int> everyone(static_cast<std::size_t>(request().ranks));
    std::iota(everyone.begin(), everyone.end(), 0);
    groups = {everyone};
  }
  return groups.front().size() > 1 ? groups : Groups();
}

std::vector<ValueId> LayerParts::join_all(const std::vector<ValueId>& sums) {
  if (std::ranges::all_of(sums, [&](ValueId sum) { return pending(sum); })) return {join(run("add_shares", "", sums))};
  std::vector<ValueId> joined;
  for (const ValueId sum : sums) joined.push_back(join(sum));
  return joined;
}

ValueId LayerParts::run(std::string_view op, const TokenStreams& streams, const std::vector<ValueId>& values) {
  std::vector<ValueId> results;
  for (const TokenStream& stream : streams) {
    std::vector<ValueId> parts;
    for (const ValueId value : values) parts.push_back(part_of(value, stream.tokens));
    results.push_back(run(op, stream.part, parts));
  }
  return results.size() == 1 ? results.front() : join_streams(results, b_.placement_of(values.front()));
}

// In the boxes of `tokens`, so that a block of the mask with tokens of both streams is one tile. Shares of zeros have
// no such boxes; they are only added.
ValueId LayerParts::join_streams(const std::vector<ValueId>& results, Placement tokens) {
  const ValueId joined = b_.view(results);
  const Placement beside = b_.placement_of(joined);
  const Placement whole = b_.place([&](int rank) {
    const std::span<const Box> here = beside.at(rank), in = tokens.at(rank).empty() ? here : tokens.at(rank);
    BoxList boxes;
    for (const Box& box : in)
      if (!here.empty()) boxes.push_back({here.front().columns, box.outer, box.inner});
    return boxes;
  });
  return b_.narrow(joined, whole);
}

ValueId LayerParts::part_of(ValueId value, SetId tokens) {
  if (tokens == request().all_inner()) return value;
  const Placement whole = b_.placement_of(value);
  const Placement part = b_.place([&](int rank) {
    BoxList boxes(whole.at(rank).begin(), whole.at(rank).end());
    for (Box& box : boxes) box.inner = b_.sets().both(box.inner, tokens);
    return boxes;
  });
  return b_.narrow(value, part);
}

}  // namespace spscope
