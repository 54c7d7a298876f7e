#include "backend/report/format.h"

#include <fmt/format.h>

#include <string_view>

namespace spscope {
namespace {

constexpr std::string_view kUnknown = "–";

CellText verdict_text(const Cell& cell) {
  if (cell.text == "skipped") return {"not checked", ""};
  const std::string word = cell.text == "passed" ? "ok" : "WRONG";
  return {cell.number ? fmt::format("{} {:.1e}", word, *cell.number) : word, ""};
}

// "±.18": narrow, since several columns of a table have one.
std::string ratio_spread_text(const Cell& cell) {
  if (!cell.spread) return "";
  const std::string text = fmt::format("{:.2f}", *cell.spread);
  return "±" + (text.starts_with("0.") ? text.substr(1) : text);
}

}  // namespace

CellText cell_text(const Cell& cell) {
  if (cell.hint == Hint::kText) return {cell.text, ""};
  if (cell.hint == Hint::kVerdict) return verdict_text(cell);
  if (!cell.number) return {std::string(kUnknown), ""};
  const double x = *cell.number;
  switch (cell.hint) {
    case Hint::kDuration:
      return {duration_text(x), cell.spread ? duration_spread_text(x, *cell.spread) : ""};
    case Hint::kBytes:
      return {bytes_text(x), ""};
    case Hint::kMemory:
      return {binary_bytes_text(x), ""};
    case Hint::kCount:
      return {count_text(x), ""};
    case Hint::kRatio:
      return {ratio_text(x), ratio_spread_text(cell)};
    case Hint::kSpeedup:
      return {fmt::format("{:.2f}x", x), ratio_spread_text(cell)};
    default:
      return {percent_text(x), ""};
  }
}

std::string joined(const CellText& text) { return text.suffix.empty() ? text.value : text.value + " " + text.suffix; }

}  // namespace spscope
