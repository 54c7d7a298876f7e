// Charts as SVG in percent of their width, so that text keeps its size at any width of the page. Parts whose times are
// modelled are hatched: colour is never the only sign of what was measured.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/report/format.h"
#include "backend/report/html.h"

namespace spscope {
namespace {

constexpr double kStackHeight = 28;      // px of a bar across
constexpr double kColumnHeight = 132;    // px of the tallest column
constexpr std::size_t kMostTitles = 64;  // above, columns are too thin to point at

std::string tooltip(const StackedBars& chart, const StackedBars::Bar& bar, std::size_t part) {
  return html_escaped(fmt::format("{}: {} {} of {}", bar.label, chart.parts[part].name,
                                  duration_text(bar.parts_ns[part]), duration_text(bar.total_ns())));
}

// One part at a place given as attributes: the coloured area and, when modelled, hatching over it.
std::string area(const std::vector<StackedBars::Part>& parts, std::size_t part, const std::string& place,
                 const std::string& title) {
  const std::string inner = title.empty() ? "" : "<title>" + title + "</title>";
  std::string text = fmt::format("<rect class=\"part{}\" {}>{}</rect>", part, place, inner);
  if (parts[part].modelled) text += fmt::format("<rect class=\"hatch\" {}/>", place);
  return text;
}

// Text in the middle of a part, at a fraction of the width. On hatching it gets a plain patch to be read on.
std::string label(const StackedBars& chart, std::size_t part, double at, const std::string& words) {
  constexpr double kCharacter = 6.6, kPadding = 8, kPatchHeight = 18;  // px at the size of style `svg text`
  std::string patch;
  if (chart.parts[part].modelled) {
    const double width = kCharacter * display_width(words) + kPadding;
    patch = fmt::format(
        "<rect class=\"part{} patch\" x=\"{:.3f}%\" y=\"{}\" width=\"{:.0f}\" height=\"{}\" rx=\"3\" "
        "transform=\"translate({:.0f} 0)\"/>",
        part, 100 * at, (kStackHeight - kPatchHeight) / 2, width, kPatchHeight, -width / 2);
  }
  return patch +
         fmt::format("<text class=\"on{}\" x=\"{:.3f}%\" y=\"{}\">{}</text>", part, 100 * at, kStackHeight / 2, words);
}

std::string row_bar(const StackedBars& chart, const StackedBars::Bar& bar, double scale) {
  constexpr double kRoomForText = 0.12;  // of the width
  std::string text = fmt::format("<svg class=\"bar\" height=\"{}\" role=\"img\" aria-label=\"{}\">", kStackHeight,
                                 html_escaped(bar.label + ", " + duration_text(bar.total_ns())));
  std::string labels;  // above the mark
  double x = 0;
  for (std::size_t p = 0; p < bar.parts_ns.size(); ++p) {
    const double width = bar.parts_ns[p] / scale;
    if (width <= 0) continue;
    text += area(chart.parts, p,
                 fmt::format("x=\"{:.3f}%\" width=\"{:.3f}%\" height=\"{}\"", 100 * x, 100 * width, kStackHeight),
                 tooltip(chart, bar, p));
    if (width >= kRoomForText) labels += label(chart, p, x + width / 2, duration_text(bar.parts_ns[p]));
    x += width;
  }
  if (chart.mark_ns)
    text += fmt::format("<line class=\"mark\" x1=\"{0:.3f}%\" x2=\"{0:.3f}%\" y1=\"-4\" y2=\"{1}\"/>",
                        100 * *chart.mark_ns / scale, kStackHeight + 4);
  return text + labels + "</svg>";
}

std::string rows_chart(const StackedBars& chart) {
  const double scale = std::max(chart.axis_ns(), 1.0);
  std::string text = "<div class=\"rows\">";
  for (const StackedBars::Bar& bar : chart.bars)
    text += fmt::format("<div class=\"row\"{}><span class=\"name\">{}</span>{}<span class=\"value\">{}</span></div>\n",
                        html_subject(bar.of), html_escaped(bar.label), row_bar(chart, bar, scale),
                        duration_text(bar.total_ns()));
  return text + "</div>";
}

std::string column(const StackedBars& chart, std::size_t index, double scale) {
  const StackedBars::Bar& bar = chart.bars[index];
  const double slot = 100.0 / static_cast<double>(chart.bars.size());
  const double width = slot * (chart.bars.size() > kMostTitles ? 1 : 0.82);
  std::string text = "<g" + html_subject(bar.of) + ">";
  double top = kColumnHeight;
  for (std::size_t p = 0; p < bar.parts_ns.size(); ++p) {
    const double height = kColumnHeight * bar.parts_ns[p] / scale;
    if (height <= 0) continue;
    top -= height;
    text += area(chart.parts, p,
                 fmt::format("x=\"{:.3f}%\" width=\"{:.3f}%\" y=\"{:.2f}\" height=\"{:.2f}\"",
                             slot * static_cast<double>(index) + (slot - width) / 2, width, top, height),
                 chart.bars.size() > kMostTitles ? "" : tooltip(chart, bar, p));
  }
  return text + "</g>";
}

// Labels below the columns: every rank of a small world, else first and last.
std::string rank_labels(std::size_t count) {
  constexpr std::size_t kMostLabels = 16;
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (count > kMostLabels && i != 0 && i + 1 != count) continue;
    const bool edge = count > kMostLabels;
    const double at = edge ? (i == 0 ? 0 : 100) : 100.0 * (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    text += fmt::format("<text class=\"tick{}\" x=\"{:.3f}%\" y=\"{}\">{}</text>",
                        edge ? (i == 0 ? " first" : " last") : "", at, kColumnHeight + 14, i);
  }
  return text;
}

std::string columns_chart(const StackedBars& chart) {
  const double scale = std::max(chart.axis_ns(), 1.0);
  std::string text =
      fmt::format("<div class=\"top\">{}</div><svg class=\"columns\" height=\"{}\" role=\"img\" aria-label=\"{}\">",
                  duration_text(scale), kColumnHeight + 20, html_escaped(chart.caption + ", time of each rank"));
  text += fmt::format(
      "<line class=\"axis\" x1=\"0\" x2=\"100%\" y1=\"0.5\" y2=\"0.5\"/>"
      "<line class=\"axis\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>",
      kColumnHeight + 0.5);
  for (std::size_t i = 0; i < chart.bars.size(); ++i) text += column(chart, i, scale);
  return text + rank_labels(chart.bars.size()) + "</svg>";
}

}  // namespace

std::string_view html_chart_patterns() {
  return "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs><pattern id=\"hatching\" width=\"6\" "
         "height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect class=\"stripe\" "
         "width=\"2\" "
         "height=\"6\"/></pattern></defs></svg>\n";
}

namespace {

std::string legend_items(const std::vector<StackedBars::Part>& parts) {
  std::string text;
  for (std::size_t p = 0; p < parts.size(); ++p)
    text += fmt::format("<li><svg class=\"swatch\" aria-hidden=\"true\">{}</svg><a href=\"#metric-{}\">{}</a></li>",
                        area(parts, p, "width=\"100%\" height=\"100%\"", ""), html_escaped(parts[p].metric),
                        html_escaped(parts[p].name));
  return text;
}

std::string_view hatching_note(const std::vector<StackedBars::Part>& parts) {
  return std::ranges::any_of(parts, &StackedBars::Part::modelled) ? "<li class=\"note\">hatched: modelled</li></ul>"
                                                                  : "</ul>";
}

std::string_view legend_begin(bool above) { return above ? "<ul class=\"legend above\">" : "<ul class=\"legend\">"; }

}  // namespace

std::string html_legend(const std::vector<StackedBars::Part>& parts, bool above) {
  return std::string(legend_begin(above)) + legend_items(parts) + std::string(hatching_note(parts));
}

std::string html_legend(const StackedBars& chart) {
  std::string text = std::string(legend_begin(chart.by_rank)) + legend_items(chart.parts);
  if (chart.mark_ns)
    text += fmt::format(
        "<li><svg class=\"swatch\" aria-hidden=\"true\"><line class=\"mark\" x1=\"50%\" x2=\"50%\" y1=\"0\" "
        "y2=\"100%\"/></svg><a href=\"#metric-bound\">{} {}</a></li>",
        html_escaped(chart.mark_label), duration_text(*chart.mark_ns));
  return text + std::string(hatching_note(chart.parts));
}

std::string html_chart(const StackedBars& chart) {
  const std::string caption = html_escaped(chart.caption);
  if (chart.by_rank)
    return fmt::format("<figure class=\"by-rank\"><figcaption>{} <span>by rank</span></figcaption>{}</figure>\n",
                       caption, columns_chart(chart));
  return fmt::format("<figure class=\"by-strategy\"><figcaption>{}</figcaption>{}{}</figure>\n", caption,
                     rows_chart(chart), html_legend(chart));
}

}  // namespace spscope
