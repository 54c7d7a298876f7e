#include "backend/execute/cpu/sum_shares.h"

#include <algorithm>
#include <utility>

namespace spscope {
namespace {

// Shares of one box: equal destination cells.
void sum_box(const HostMemory& memory, std::span<const TransferPart> shares, const SumHooks& hooks) {
  const std::span<const CellRun> to = shares.front().to;
  const BufferLayout& layout = memory.layout().buffer(to.front().buffer);
  std::vector<float> sum, share;
  for (std::size_t plane = 0; plane < layout.planes.size(); ++plane) {
    const std::int64_t elements = total_cells(to) * layout.planes[plane].width;
    sum.resize(static_cast<std::size_t>(elements)), share.resize(static_cast<std::size_t>(elements));
    for (int entry = 0; entry < layout.batch; ++entry) {
      std::ranges::fill(sum, 0.0f);
      for (const TransferPart& part : shares) {
        const ShareSource source = hooks.source_of(part);
        if (source.packed.empty())
          load_cells(memory, source.cells, plane, entry, share);
        else
          load_packed(layout, total_cells(to), source.packed, plane, entry, share);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += share[i];
        hooks.added(part, elements * dtype_bytes(layout.dtype));
      }
      save_cells(memory, to, plane, entry, sum);
    }
  }
  hooks.done(static_cast<std::int64_t>((sum.capacity() + share.capacity()) * sizeof(float)));
}

}  // namespace

// Shares of the same part are next to each other in the order of messages: the builder lists the sources of a box in
// turn. Parts with equal destination cells belong together.
void sum_shares(const HostMemory& memory, const Transfer& transfer, const SumHooks& hooks) {
  std::vector<TransferPart> mine;
  for (const TransferPart& part : transfer.parts)
    if (part.dst == transfer.rank) mine.push_back(part);
  const auto place = [](const TransferPart& part) { return std::pair(part.to.front().buffer, part.to.front().cell); };
  std::ranges::stable_sort(mine, {}, place);
  for (std::size_t first = 0; first < mine.size();) {
    std::size_t last = first + 1;
    while (last < mine.size() && place(mine[last]) == place(mine[first])) ++last;
    sum_box(memory, std::span(mine).subspan(first, last - first), hooks);
    first = last;
  }
}

}  // namespace spscope
