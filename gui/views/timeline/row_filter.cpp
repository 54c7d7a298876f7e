#include "gui/views/timeline/row_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "backend/base/number_text.h"
#include "gui/views/timeline/time_area.h"

namespace spscope::gui {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<int> number(std::string_view text) {
  text = trimmed(text);
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// The part without a word before it, and whether one was there.
bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text = trimmed(text.substr(word.size()));
  return true;
}

}  // namespace

bool RowFilter::holds(int rank, int node) const {
  return ranges.empty() || std::ranges::any_of(ranges, [&](const Range& range) {
           const int value = range.of_nodes ? node : rank;
           return range.first <= value && value <= range.last;
         });
}

Result<RowFilter> parse_row_filter(std::string_view text) {
  RowFilter filter;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = trimmed(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (part.empty()) continue;
    std::string_view numbers = part;
    RowFilter::Range range;
    range.of_nodes = take_word(numbers, "node");
    if (!range.of_nodes) take_word(numbers, "rank");
    const std::size_t dash = numbers.find('-');
    const auto first = number(numbers.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(numbers.substr(dash + 1));
    if (!first || !last || *first > *last)
      return Error(ErrorCode::kUsage, fmt::format("\"{}\" names no rows", part), "write 0-7, 12 or node 1");
    range.first = *first;
    range.last = *last;
    filter.ranges.push_back(range);
  }
  return filter;
}

void RowFilterField::draw(Ui& ui) {
  if (ui.field("rows", text_, {.width = ui.px(96), .hint = "Rows: 0-7"})) {
    auto filter = parse_row_filter(text_);
    problem_ = filter ? "" : sentence(std::string(filter.error().what()) + ": " + filter.error().hint());
    if (filter) filter_ = *std::move(filter);
  }
  if (problem_.empty()) return;
  ui.same_line();
  ui.text(problem_, {.face = Face::kSmall, .ink = Token::kWarn, .max_width = ui.width_left(), .beside = true});
}

void RowChoice::draw(Ui& ui, bool has_ranks) {
  static const std::vector<std::string> kOrders = {"by rank", "by compute", "by waiting", "by node"};
  int index = static_cast<int>(order);
  if (has_ranks) {
    if (ui.choice("order", kOrders, index, ui.px(108), "Order of the rows")) order = static_cast<RowOrder>(index);
    flow(ui, 96);
  }
  filter.draw(ui);
}

}  // namespace spscope::gui
