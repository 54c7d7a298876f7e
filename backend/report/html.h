// Parts of the HTML renderer.
#pragma once

#include <string>
#include <string_view>

#include "backend/report/document.h"

namespace spscope {

// Safe between tags and in quoted attributes; control characters other than line breaks become U+FFFD.
std::string html_escaped(std::string_view text);
// A table, and the style sheet's rules for tables in windows that are too narrow for them.
std::string html_table(const Table& table);
std::string html_table_style();
// The style sheet: light and dark by the reader's setting, narrow windows, print.
std::string html_style();
// A figure of inline SVG, bars of parts by name: rows across the page, or one column a rank.
std::string html_chart(const StackedBars& chart);
// The legend of a chart; part of a chart by strategy, shared by neighbouring charts by rank.
std::string html_legend(const StackedBars& chart);
// Patterns that charts refer to; once a page, before the first chart.
std::string_view html_chart_patterns();

}  // namespace spscope
