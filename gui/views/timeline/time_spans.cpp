#include "gui/views/timeline/time_spans.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

namespace spscope::gui {
namespace {

bool precedes(const TimeClaim& a, const TimeClaim& b) {
  constexpr std::array<int, kNumTimeParts> kOrder = {0, 2, 1, 3};
  const int of_a = kOrder[static_cast<std::size_t>(a.part)], of_b = kOrder[static_cast<std::size_t>(b.part)];
  if (of_a != of_b) return of_a < of_b;
  return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.op < b.op;
}

}  // namespace

std::vector<TimeSpan> settled(std::vector<TimeClaim> claims) {
  std::erase_if(claims, [](const TimeClaim& c) { return c.begin_ns >= c.end_ns; });
  std::ranges::sort(claims, {}, [](const TimeClaim& c) { return std::pair(c.begin_ns, c.op); });
  std::vector<std::int64_t> borders;
  for (const TimeClaim& c : claims) borders.insert(borders.end(), {c.begin_ns, c.end_ns});
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  std::vector<TimeSpan> spans;
  std::vector<const TimeClaim*> open;
  std::size_t next = 0;
  for (std::size_t b = 0; b + 1 < borders.size(); ++b) {
    const std::int64_t begin = borders[b], end = borders[b + 1];
    std::erase_if(open, [&](const TimeClaim* c) { return c->end_ns <= begin; });
    for (; next < claims.size() && claims[next].begin_ns <= begin; ++next) open.push_back(&claims[next]);
    const TimeClaim* first = nullptr;
    for (const TimeClaim* c : open)
      if (first == nullptr || precedes(*c, *first)) first = c;
    if (first == nullptr) continue;
    if (!spans.empty() && spans.back().op == first->op && spans.back().part == first->part &&
        spans.back().end_ns == begin) {
      spans.back().end_ns = end;
    } else {
      spans.push_back({begin, end, first->op, first->part});
    }
  }
  return spans;
}

std::int64_t nearest_edge(const std::vector<TimeSpan>& spans, std::int64_t ns, std::int64_t most_ns) {
  std::int64_t nearest = ns, distance = most_ns + 1;
  const auto look = [&](std::int64_t edge) {
    if (std::abs(edge - ns) >= distance) return;
    distance = std::abs(edge - ns);
    nearest = edge;
  };
  // Spans do not overlap: the edges around a time are those of the first that ends behind it and of the one before.
  const auto at = std::ranges::lower_bound(spans, ns, {}, &TimeSpan::end_ns);
  if (at != spans.begin()) look(std::prev(at)->end_ns);
  if (at != spans.end()) {
    look(at->begin_ns);
    look(at->end_ns);
    if (std::next(at) != spans.end()) look(std::next(at)->begin_ns);
  }
  return nearest;
}

void fold_row(std::span<const TimeSpan> spans, double begin_ns, double end_ns, std::span<PixelCell> cells) {
  const int columns = static_cast<int>(cells.size());
  std::vector<std::array<double, 4>> sums(cells.size(), {0, 0, 0, 0});
  const double width = (end_ns - begin_ns) / columns;
  auto first =
      std::ranges::lower_bound(spans, begin_ns, {}, [](const TimeSpan& s) { return static_cast<double>(s.end_ns); });
  for (; first != spans.end() && static_cast<double>(first->begin_ns) < end_ns; ++first) {
    const double from = std::max(begin_ns, static_cast<double>(first->begin_ns));
    const double to = std::min(end_ns, static_cast<double>(first->end_ns));
    const int last = std::min(columns - 1, static_cast<int>((to - begin_ns) / width));
    for (int c = std::min(columns - 1, static_cast<int>((from - begin_ns) / width)); c <= last; ++c) {
      const double low = begin_ns + c * width;
      const double inside = std::min(to, low + width) - std::max(from, low);
      if (inside > 0) sums[static_cast<std::size_t>(c)][static_cast<std::size_t>(first->part)] += inside;
    }
  }
  for (std::size_t c = 0; c < cells.size(); ++c) {
    cells[c] = {};
    double busy = 0, most = 0;
    for (std::size_t p = 0; p < 4; ++p) {
      busy += sums[c][p];
      if (sums[c][p] <= most) continue;
      most = sums[c][p];
      cells[c].part = static_cast<TimePart>(p);
    }
    cells[c].busy = static_cast<float>(std::min(1.0, busy / width));
  }
}

int label_step(float row_height, float label_height) {
  int step = 1;
  while (static_cast<float>(step) * row_height < label_height) step *= 2;
  return step;
}

}  // namespace spscope::gui
