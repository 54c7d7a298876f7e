// The timeline of a page: rows of ranks as SVG in percent of the axis, so that a wider picture is only a wider element.
#include <fmt/format.h>

#include <algorithm>

#include "backend/report/format.h"
#include "backend/report/html.h"

namespace spscope {
namespace {

constexpr int kRowHeight = 14, kBarHeight = 11;  // px
constexpr double kThinnest = 0.02;               // percent of the axis: thinner spans cannot be seen

double percent_of(const TimelineBands::Span& axis, double ns) {
  return 100 * (ns - axis.begin_ns) / (axis.end_ns - axis.begin_ns);
}

std::string signed_duration(double ns) { return (ns < 0 ? "−" : "") + duration_text(std::abs(ns)); }

// Where a makespan begins or ends.
std::string border(double percent, std::size_t height) {
  return fmt::format("<line class=\"end\" x1=\"{0:.3f}%\" x2=\"{0:.3f}%\" y1=\"0\" y2=\"{1}\"/>", percent, height);
}

std::string span_marks(const TimelineBands& bands, const TimelineBands::Band& band, const TimelineBands::Row& row,
                       double top, const TimelineBands::Span& axis) {
  std::string text;
  for (const TimelineBands::Span& span : row.spans) {
    const double x = percent_of(axis, span.begin_ns), width = percent_of(axis, span.end_ns) - x;
    if (width < kThinnest) continue;
    const std::string place =
        fmt::format("x=\"{:.2f}%\" y=\"{}\" width=\"{:.2f}%\" height=\"{}\"", x, top, width, kBarHeight);
    text += fmt::format(
        "<rect class=\"part{}\" {}><title>{}</title></rect>", span.part, place,
        html_escaped(fmt::format("{}, {}: {} {}, from {} on", band.label, row.label, bands.parts[span.part].name,
                                 duration_text(span.end_ns - span.begin_ns), signed_duration(span.begin_ns))));
    if (bands.parts[span.part].modelled) text += fmt::format("<rect class=\"hatch\" {}/>", place);
  }
  return text;
}

std::string band_html(const TimelineBands& bands, const TimelineBands::Band& band, const TimelineBands::Span& axis) {
  const std::size_t height = band.rows.size() * kRowHeight;
  std::string names, rows;
  for (std::size_t i = 0; i < band.rows.size(); ++i) {
    const TimelineBands::Row& row = band.rows[i];
    const double top = static_cast<double>(i * kRowHeight);
    names += fmt::format("<text x=\"100%\" y=\"{}\"{}>{}</text>", top + kBarHeight / 2.0, html_subject(row.of),
                         html_escaped(row.label));
    rows += fmt::format("<g{}>{}</g>", html_subject(row.of), span_marks(bands, band, row, top, axis));
  }
  return fmt::format(
      "<div class=\"band\"><p class=\"head\"{}><b>{}</b> {}</p><svg class=\"names\" height=\"{}\" aria-hidden=\"true\">"
      "{}</svg><div class=\"pan\"><svg class=\"lanes\" height=\"{}\" role=\"img\" aria-label=\"{}\">{}{}{}</svg>"
      "</div></div>\n",
      html_subject(band.of), html_escaped(band.label), duration_text(band.length_ns), height, names, height,
      html_escaped(fmt::format("{}: what each rank did in {}", band.label, duration_text(band.length_ns))), rows,
      axis.begin_ns < 0 ? border(percent_of(axis, 0), height) : "", border(percent_of(axis, band.length_ns), height));
}

}  // namespace

std::string html_timeline(const TimelineBands& bands) {
  const TimelineBands::Span axis = bands.axis();
  std::string text = fmt::format(
      "<figure class=\"timeline\"><figcaption>{}{}</figcaption>{}\n", html_escaped(bands.caption),
      axis.begin_ns < 0 ? ". Left of 0 the previous layer pass is still running." : "", html_legend(bands.parts, true));
  for (const TimelineBands::Band& band : bands.bands) text += band_html(bands, band, axis);
  return text + fmt::format("<p class=\"axis-ends\"><span>{}</span><span>{}</span></p></figure>\n",
                            axis.begin_ns < 0 ? signed_duration(axis.begin_ns) : "0", duration_text(axis.end_ns));
}

std::string html_chart(const Waterfall& chart) {
  constexpr int kHeight = 15;
  const double scale = chart.axis_ns();
  const auto row = [&](const std::string& name, const std::string& link, const std::string& kind, double begin,
                       double end, bool modelled, const std::string& value) {
    const std::string place =
        fmt::format("x=\"{:.3f}%\" width=\"{:.3f}%\" height=\"{}\"", 100 * std::min(begin, end) / scale,
                    std::max(0.15, 100 * std::abs(end - begin) / scale), kHeight);
    return fmt::format(
        "<div class=\"row\"><span class=\"name\">{}</span><svg class=\"bar\" height=\"{}\" role=\"img\" "
        "aria-label=\"{}\"><rect class=\"{}\" {}/>{}</svg><span class=\"value\">{}</span></div>\n",
        link, kHeight, html_escaped(fmt::format("{} {}{}", name, value, modelled ? ", modelled" : "")), kind, place,
        modelled ? fmt::format("<rect class=\"hatch\" {}/>", place) : "", value);
  };
  const auto whole = [&](const StackedBars::Bar& bar) {
    const double ns = bar.parts_ns.front();
    return row(bar.label, html_escaped(bar.label), "whole", 0, ns, false, duration_text(ns));
  };
  std::string rows = whole(chart.from);
  double at = chart.from.parts_ns.front();
  for (const Waterfall::Step& step : chart.steps) {
    if (chart.shows(step))
      rows += row(step.name,
                  fmt::format("<a href=\"#metric-{}\">{}</a>", html_escaped(step.metric), html_escaped(step.name)),
                  fmt::format("part{}{}", step.part, step.delta_ns < 0 ? " less" : ""), at, at + step.delta_ns,
                  step.modelled, (step.delta_ns < 0 ? "−" : "+") + duration_text(std::abs(step.delta_ns)));
    at += step.delta_ns;
  }
  rows += whole(chart.to);
  const bool any_modelled = std::ranges::any_of(chart.steps, &Waterfall::Step::modelled);
  return fmt::format("<figure class=\"fall\"{}><figcaption>{}{}</figcaption><div class=\"rows\">{}</div></figure>\n",
                     html_subject(chart.to.of), html_escaped(chart.caption), any_modelled ? " (hatched: modelled)" : "",
                     rows);
}

}  // namespace spscope
