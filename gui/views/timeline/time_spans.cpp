#include "gui/views/timeline/time_spans.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <limits>

namespace spscope::gui {
namespace {

bool precedes(const TimeClaim& a, const TimeClaim& b) {
  constexpr std::array<int, kNumTimeParts> kOrder = {0, 2, 1, 3, 0, 1, 1, 2, 3, 3, 3, 3};
  const int of_a = kOrder[static_cast<std::size_t>(a.part)], of_b = kOrder[static_cast<std::size_t>(b.part)];
  if (of_a != of_b) return of_a < of_b;
  return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.op < b.op;
}

// The spans that [begin_ns, end_ns) shows, all of the first `kParts` parts.
template <int kParts>
void fold_parts(std::span<const TimeSpan> shown, double begin_ns, double end_ns, std::span<PixelCell> cells) {
  const int columns = static_cast<int>(cells.size());
  std::vector<std::array<double, kParts>> sums(cells.size());
  const double width = (end_ns - begin_ns) / columns;
  for (const TimeSpan& span : shown) {
    const double from = std::max(begin_ns, static_cast<double>(span.begin_ns));
    const double to = std::min(end_ns, static_cast<double>(span.end_ns));
    const int last = std::min(columns - 1, static_cast<int>((to - begin_ns) / width));
    for (int c = std::min(columns - 1, static_cast<int>((from - begin_ns) / width)); c <= last; ++c) {
      const double low = begin_ns + c * width;
      const double inside = std::min(to, low + width) - std::max(from, low);
      if (inside > 0) sums[static_cast<std::size_t>(c)][static_cast<std::size_t>(span.part)] += inside;
    }
  }
  for (std::size_t c = 0; c < cells.size(); ++c) {
    cells[c] = {};
    double busy = 0, most = 0;
    for (std::size_t p = 0; p < kParts; ++p) {
      busy += sums[c][p];
      if (sums[c][p] <= most) continue;
      most = sums[c][p];
      cells[c].part = static_cast<TimePart>(p);
    }
    cells[c].busy = static_cast<float>(std::min(1.0, busy / width));
  }
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

SpreadSpans spread(std::span<const TimeBox> boxes, int rows) {
  SpreadSpans spread;
  spread.rows.resize(static_cast<std::size_t>(rows));
  std::vector<std::int64_t> free_from(static_cast<std::size_t>(rows), std::numeric_limits<std::int64_t>::min());
  const auto put = [&](const TimeBox& box, std::size_t row) {
    free_from[row] = box.end_ns;
    for (const TimeClaim& claim : box.claims())
      if (claim.begin_ns < claim.end_ns)
        spread.rows[row].push_back({claim.begin_ns, claim.end_ns, claim.op, claim.part});
  };
  const std::size_t last = free_from.size() - 1;
  std::vector<const TimeBox*> together;  // what wants the last row and overlaps
  std::int64_t together_until_ns = 0;
  const auto settle_last = [&] {
    if (together.size() == 1) put(*together.front(), last);
    if (together.size() > 1) {
      std::vector<OpId>& hidden = spread.hidden.emplace_back();
      for (const TimeBox* box : together) hidden.push_back(box->op);
      spread.rows[last].push_back({.begin_ns = together.front()->begin_ns,
                                   .end_ns = together_until_ns,
                                   .op = together.front()->op,
                                   .part = together.front()->part,
                                   .hidden = static_cast<int>(spread.hidden.size())});
    }
    together.clear();
  };
  for (const TimeBox& box : boxes) {
    const auto row = static_cast<std::size_t>(
        std::ranges::find_if(free_from.begin(), free_from.begin() + static_cast<std::ptrdiff_t>(last),
                             [&](std::int64_t ns) { return ns <= box.begin_ns; }) -
        free_from.begin());
    if (row < last) {
      put(box, row);
      continue;
    }
    if (!together.empty() && together_until_ns <= box.begin_ns) settle_last();
    together_until_ns = together.empty() ? box.end_ns : std::max(together_until_ns, box.end_ns);
    together.push_back(&box);
  }
  settle_last();
  return spread;
}

int most_at_once(std::span<const SpanEvent> events, int most) {
  std::vector<std::int64_t> open;  // ends
  int found = 0;
  for (const SpanEvent& event : events) {
    std::erase_if(open, [&](std::int64_t end_ns) { return end_ns <= event.begin_ns; });
    open.push_back(event.end_ns);
    found = std::max(found, static_cast<int>(open.size()));
    if (found >= most) return most;
  }
  return found;
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
  const auto first =
      std::ranges::lower_bound(spans, begin_ns, {}, [](const TimeSpan& s) { return static_cast<double>(s.end_ns); });
  const auto last = std::ranges::lower_bound(first, spans.end(), end_ns, {},
                                             [](const TimeSpan& s) { return static_cast<double>(s.begin_ns); });
  const std::span<const TimeSpan> shown(first, last);
  const bool of_rank = std::ranges::all_of(shown, [](const TimeSpan& s) { return s.part <= TimePart::kOther; });
  if (of_rank)
    fold_parts<kNumRankParts>(shown, begin_ns, end_ns, cells);
  else
    fold_parts<kNumTimeParts>(shown, begin_ns, end_ns, cells);
}

int label_step(float row_height, float label_height) {
  int step = 1;
  while (static_cast<float>(step) * row_height < label_height) step *= 2;
  return step;
}

}  // namespace spscope::gui
