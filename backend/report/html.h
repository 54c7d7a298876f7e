// Parts of the HTML renderer.
#pragma once

#include <string>
#include <string_view>

#include "backend/report/document.h"

namespace spscope {

// Safe between tags and in quoted attributes; what is not printable becomes U+FFFD, but line breaks and tabs.
std::string html_escaped(std::string_view text);
// Attributes of a mark: data-s of its strategy (StrategyResult::id) and data-r of its rank, where it has them. Those of
// equal ones light up together.
std::string html_subject(const Subject& subject);
// A table, and the style sheet's rules for tables in windows that are too narrow for them.
std::string html_table(const Table& table);
std::string html_table_style();
// The style sheet: light and dark by the reader's setting, narrow windows, print.
std::string html_style();
// The script of a page (page.js) and its hash, "sha256-...", for the content security policy; written by the build.
std::string_view html_script();
std::string_view html_script_hash();
// A figure of inline SVG, bars of parts by name: rows across the page, or one column a rank.
std::string html_chart(const StackedBars& chart);
std::string html_chart(const Waterfall& chart);
// Rows of ranks under each other, one scale for all bands.
std::string html_timeline(const TimelineBands& bands);
// Small pictures of masks (PNG inside the page), those of each step together; `id` begins the ids of its elements.
std::string html_heads(const HeadGrid& grid, const std::string& id);
// Its parts that tell who computes what (html_owners.cpp), empty without owners: what pictures refer to, the choice of
// a strategy, the coloured areas of a head inside of its picture and the ranks below it, and the style sheet's rules.
std::string html_owner_defs(const HeadGrid& grid, const std::string& id);
std::string html_owner_choice(const HeadGrid& grid, const std::string& id);
std::string html_owner_areas(const HeadGrid& grid, const HeadGrid::Head& head, const std::string& figure,
                             const std::string& id);
std::string html_owner_ranks(const HeadGrid& grid, const HeadGrid::Head& head);
std::string html_owner_style();
// The legend of a chart; part of a chart by strategy, shared by neighbouring charts by rank.
std::string html_legend(const StackedBars& chart);
std::string html_legend(const std::vector<StackedBars::Part>& parts, bool above);
// Patterns that charts refer to; once a page, before the first chart.
std::string_view html_chart_patterns();

}  // namespace spscope
