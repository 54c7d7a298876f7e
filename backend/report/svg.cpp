#include "backend/report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "backend/report/format.h"
#include "backend/report/html.h"

namespace spscope {
namespace {

// Colours that differ for people who see few of them (Okabe and Ito), in pairs with a dash pattern for the second
// round.
constexpr std::array<const char*, 7> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#56b4e9", "#e69f00", "#555555"};
constexpr double kWidth = 760, kLeft = 78, kTop = 66, kPlotHeight = 280, kLegendWidth = 190, kLine = 18;

std::string begin_svg(double height, const std::string& title, const std::string& subtitle) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222222\">\n<title>{2}</title>\n"
      "<defs><pattern id=\"hatching\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate(45)\"><rect width=\"2\" height=\"6\" fill=\"#ffffff\" "
      "fill-opacity=\"0.45\"/></pattern>"
      "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<text x=\"12\" y=\"22\" font-size=\"14\" font-weight=\"bold\">{2}</text>\n"
      "<text x=\"12\" y=\"38\" font-size=\"11\">{3}</text>\n",
      kWidth, height, html_escaped(title), html_escaped(subtitle));
}

std::string text_at(double x, double y, const std::string& words, const char* anchor = "start") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     html_escaped(words));
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2, style);
}

std::string rectangle(double x, double y, double width, double height, const std::string& fill) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x, y, width,
                     height, fill);
}

// 1, 2 or 5 times a power of ten: at most six of them reach `most`.
double tick_of(double most) {
  const double power = std::pow(10, std::floor(std::log10(most)));
  for (const double step : {0.2, 0.5, 1.0, 2.0})
    if (most / (step * power) <= 6) return step * power;
  return 5 * power;
}

// A part of a bar, hatched where its time is modelled.
std::string part_area(const StackedBars& chart, std::size_t part, double x, double y, double width, double height) {
  std::string text = rectangle(x, y, width, height, kColors[part % kColors.size()]);
  if (chart.parts[part].modelled) text += rectangle(x, y, width, height, "url(#hatching)");
  return text;
}

std::string legend_of(const StackedBars& chart, double y) {
  constexpr double kCharacter = 7, kSwatch = 12;
  double x = kLeft;
  std::string text;
  bool modelled = false;
  for (std::size_t p = 0; p < chart.parts.size(); ++p) {
    text += part_area(chart, p, x, y - 10, kSwatch, kSwatch) + text_at(x + 18, y, chart.parts[p].name);
    x += 36 + kCharacter * display_width(chart.parts[p].name);
    modelled = modelled || chart.parts[p].modelled;
  }
  return text + (modelled ? text_at(x, y, "hatched: modelled") : "");
}

std::string rows_svg(const StackedBars& chart, const std::string& subtitle, double scale) {
  constexpr double kNames = 210, kValues = 80, kBar = 22;
  const double width = kWidth - kNames - kValues;
  const double height = kTop + (kBar + 8) * static_cast<double>(chart.bars.size()) + 40;
  std::string text = begin_svg(height, chart.caption, subtitle);
  double y = kTop;
  for (const StackedBars::Bar& bar : chart.bars) {
    text += text_at(kNames - 8, y + 15, bar.label, "end");
    double x = kNames;
    for (std::size_t p = 0; p < bar.parts_ns.size(); ++p) {
      const double w = width * bar.parts_ns[p] / scale;
      if (w > 0) text += part_area(chart, p, x, y, w, kBar);
      x += w;
    }
    text += text_at(x + 6, y + 15, duration_text(bar.total_ns()));
    y += kBar + 8;
  }
  if (chart.mark_ns) {
    const double x = kNames + width * *chart.mark_ns / scale;
    text += line(x, kTop - 6, x, y, "stroke=\"#222222\" stroke-dasharray=\"3 3\"");
    text += text_at(x, kTop - 8, chart.mark_label + " " + duration_text(*chart.mark_ns), "middle");
  }
  return text + legend_of(chart, y + 20) + "</svg>\n";
}

std::string columns_svg(const StackedBars& chart, const std::string& subtitle, double scale) {
  const double width = kWidth - kLeft - 20,
               slot = width / static_cast<double>(std::max<std::size_t>(1, chart.bars.size()));
  const double base = kTop + kPlotHeight;
  const std::size_t each = std::max<std::size_t>(1, chart.bars.size() / 16);  // labels that fit
  std::string text = begin_svg(base + 70, chart.caption, subtitle);
  text += text_at(kLeft - 6, kTop + 4, duration_text(scale), "end") + text_at(kLeft - 6, base, "0", "end");
  text += line(kLeft, kTop, kLeft + width, kTop, "stroke=\"#dddddd\"");
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    const double x = kLeft + slot * static_cast<double>(i);
    double y = base;
    for (std::size_t p = 0; p < chart.bars[i].parts_ns.size(); ++p) {
      const double height = kPlotHeight * chart.bars[i].parts_ns[p] / scale;
      y -= height;
      if (height > 0) text += part_area(chart, p, x + 0.09 * slot, y, 0.82 * slot, height);
    }
    if (i % each == 0) text += text_at(x + slot / 2, base + 16, chart.bars[i].label, "middle");
  }
  text += line(kLeft, base, kLeft + width, base, "stroke=\"#222222\"");
  return text + text_at(kLeft + width / 2, base + 34, "rank", "middle") + legend_of(chart, base + 56) + "</svg>\n";
}

// Where the values of a line chart are on the page.
struct Plot {
  double width, most;
  std::size_t points;
  double x(std::size_t i) const { return kLeft + width * (static_cast<double>(i) + 0.5) / static_cast<double>(points); }
  double y(double value) const { return kTop + kPlotHeight * (1 - value / most); }
};

std::string axes(const LineChart& chart, const Plot& plot) {
  std::string text;
  const double step = tick_of(plot.most);
  for (int i = 0; i * step <= plot.most * (1 + 1e-9); ++i) {
    const double value = i * step, y = plot.y(value);
    text += line(kLeft, y, kLeft + plot.width, y, i == 0 ? "stroke=\"#222222\"" : "stroke=\"#dddddd\"");
    text += text_at(kLeft - 6, y + 4, fmt::format("{:.4g}", value), "end");
  }
  for (std::size_t i = 0; i < plot.points; ++i)
    text += text_at(plot.x(i), kTop + kPlotHeight + 18, chart.x[i], "middle");
  text += text_at(kLeft + plot.width / 2, kTop + kPlotHeight + 38, chart.x_title, "middle");
  return text + fmt::format("<text transform=\"translate(16 {:.0f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                            kTop + kPlotHeight / 2, html_escaped(chart.y_title));
}

std::string series_svg(const LineChart::Series& series, std::size_t index, const Plot& plot) {
  const char* color = kColors[index % kColors.size()];
  const char* dash = index < kColors.size() ? "" : " stroke-dasharray=\"6 3\"";
  std::string path, marks;
  bool pen_down = false;
  for (std::size_t i = 0; i < series.y.size(); ++i) {
    if (!series.y[i]) {
      pen_down = false;
      continue;
    }
    const double x = plot.x(i), y = plot.y(*series.y[i]);
    path += fmt::format("{}{:.1f} {:.1f} ", pen_down ? "L" : "M", x, y);
    pen_down = true;
    marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x, y, color);
    if (i < series.spread.size() && series.spread[i] > 0)
      marks += line(x, plot.y(*series.y[i] - series.spread[i]), x, plot.y(*series.y[i] + series.spread[i]),
                    fmt::format("stroke=\"{}\"", color).c_str());
  }
  const double y = kTop + 10 + kLine * static_cast<double>(index), x = kLeft + plot.width + 14;
  const std::string stroke = fmt::format("stroke=\"{}\" stroke-width=\"2\" fill=\"none\"{}", color, dash);
  return fmt::format("<path d=\"{}\" {}/>\n", path, stroke) + marks + line(x, y - 4, x + 22, y - 4, stroke.c_str()) +
         text_at(x + 28, y, series.name);
}

}  // namespace

std::string svg_of(const LineChart& chart) {
  double most = 0;
  for (const LineChart::Series& s : chart.series)
    for (std::size_t i = 0; i < s.y.size(); ++i)
      if (s.y[i]) most = std::max(most, *s.y[i] + (i < s.spread.size() ? s.spread[i] : 0));
  const Plot plot{kWidth - kLeft - kLegendWidth, most > 0 ? 1.05 * most : 1, std::max<std::size_t>(1, chart.x.size())};
  const double legend = kTop + kLine * static_cast<double>(chart.series.size() + 1);
  std::string text =
      begin_svg(std::max(kTop + kPlotHeight + 54, legend), chart.title, chart.subtitle) + axes(chart, plot);
  for (std::size_t i = 0; i < chart.series.size(); ++i) text += series_svg(chart.series[i], i, plot);
  return text + "</svg>\n";
}

std::string svg_of(const StackedBars& chart, const std::string& subtitle) {
  const double scale = std::max(chart.axis_ns(), 1.0);
  return chart.by_rank ? columns_svg(chart, subtitle, scale) : rows_svg(chart, subtitle, scale);
}

std::string svg_file_name(std::string_view caption) {
  std::string name;
  for (const char c : caption) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool capital = c >= 'A' && c <= 'Z';
    if (plain || capital)
      name += capital ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return (name.empty() ? "figure" : name) + ".svg";
}

}  // namespace spscope
