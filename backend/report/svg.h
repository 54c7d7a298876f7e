// Charts as SVG files that stand alone: no style sheet, no script, fonts by family name. For papers and slides; the
// charts of the HTML page are html_chart.cpp's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/report/document.h"

namespace spscope {

// A figure over values of one setting, a line a series. Points are equally far apart, in the order given.
struct LineChart {
  struct Series {
    std::string name;
    std::vector<std::optional<double>> y;  // one a point; absent: the line is broken there
    std::vector<double> spread;            // half the height of the bar at each point; empty: none
  };
  std::string title;
  std::string subtitle;  // what the figure is of: model, cluster
  std::string x_title, y_title;
  std::vector<std::string> x;
  std::vector<Series> series;
};

std::string svg_of(const LineChart& chart);
// `subtitle`: below the caption.
std::string svg_of(const StackedBars& chart, const std::string& subtitle);

// "name.svg" from a caption: small letters, digits and hyphens.
std::string svg_file_name(std::string_view caption);

}  // namespace spscope
