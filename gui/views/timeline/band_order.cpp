#include "gui/views/timeline/band_order.h"

#include <algorithm>
#include <tuple>

namespace spscope::gui {

void order_bands(std::vector<Chosen>& strategies) {
  std::ranges::stable_sort(strategies, {}, [](const Chosen& c) {
    return std::tuple(c.key.file, c.comparison, c.strategy->makespan_ns.value_or(INT64_MAX));
  });
  for (auto first = strategies.begin(); first != strategies.end();) {
    const auto end = std::find_if(first, strategies.end(), [&](const Chosen& c) {
      return std::tuple(c.key.file, c.comparison) != std::tuple(first->key.file, first->comparison);
    });
    if (const Chosen* waits = waits_longest({first, end})) {
      const auto place = first + (waits - &*first);
      std::rotate(first, place, place + 1);
    }
    first = end;
  }
}

}  // namespace spscope::gui
