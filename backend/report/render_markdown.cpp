// Markdown in GitHub's dialect. A chart of strategies is left to the table beside it; a chart of ranks becomes a table.
#include <fmt/format.h>

#include <algorithm>

#include "backend/base/printable.h"
#include "backend/base/utf8.h"
#include "backend/report/format.h"
#include "backend/report/metrics.h"
#include "backend/report/render.h"

namespace spscope {
namespace {

constexpr std::size_t kMostRankRows = 64;  // larger worlds have their slowest ranks in the table above

// Text from a file must stay text: no links, images, tags, or broken tables.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (std::string_view("\\`*_[]<>|#!~").find(c) != std::string_view::npos) {
      out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string("\\") + c;
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string header_of(const Table& table) {
  std::string names = "|", rule = "|";
  for (const Column& column : table.columns) {
    names += " " + escaped(column.heading) + " |";
    rule += column.left ? " --- |" : " ---: |";
  }
  return names + "\n" + rule + "\n";
}

// Longer than any run of backquotes in the text.
std::string fence_for(const std::string& text) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  return std::string(std::max<std::size_t>(3, longest + 1), '`');
}

struct BlockMarkdown {
  std::string operator()(const Paragraph& p) const {
    const std::string text = escaped(p.text);
    switch (p.tone) {
      case Tone::kWarning:
        return "> **" + text + "**\n";
      case Tone::kConclusion:
        return "**" + text + "**\n";
      default:
        return text + "\n";
    }
  }
  std::string operator()(const Badges& badges) const {
    std::string text;
    for (const Badges::Badge& badge : badges.list)
      text += (text.empty() ? "" : " · ") + std::string(badge.modelled ? "◌ " : "● ") + escaped(badge.text);
    return text + "\n";
  }
  std::string operator()(const Table& table) const {
    std::string text = table.caption.empty() ? "" : escaped(table.caption) + "\n\n";
    text += header_of(table);
    for (const Row& row : table.rows) {
      text += "|";
      for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const std::string value = c < row.cells.size() ? escaped(joined(cell_text(row.cells[c]))) : "";
        text += " " + (row.best && c == 0 ? "**" + value + "**" : value) + " |";
      }
      text += "\n";
    }
    for (const Table::Note& note : table.notes) text += "\n" + escaped(note.text) + "\n";
    return text;
  }
  std::string operator()(const StackedBars& chart) const {
    if (!chart.by_rank || chart.bars.size() > kMostRankRows) return "";
    Table table;
    table.caption = chart.caption;
    table.columns = {text_column("")};
    for (const StackedBars::Part& part : chart.parts) table.columns.push_back({part.name, part.metric});
    for (const StackedBars::Bar& bar : chart.bars) {
      Row row{{text_cell(bar.label)}};
      for (double ns : bar.parts_ns) row.cells.push_back(cell(Hint::kDuration, ns));
      table.rows.push_back(std::move(row));
    }
    return (*this)(table);
  }
  // As a table: what each part adds.
  std::string operator()(const Waterfall& chart) const {
    Table table;
    table.caption = chart.caption;
    table.columns = {text_column(""), {"time"}};
    table.rows.push_back({{text_cell(chart.from.label), cell(Hint::kDuration, chart.from.parts_ns.front())}});
    for (const Waterfall::Step& step : chart.steps)
      if (chart.shows(step)) table.rows.push_back({{text_cell(step.name), cell(Hint::kDuration, step.delta_ns)}});
    table.rows.push_back({{text_cell(chart.to.label), cell(Hint::kDuration, chart.to.parts_ns.front())}});
    return (*this)(table);
  }
  // Pictures of single spans and cells are for pages.
  std::string operator()(const TimelineBands&) const { return ""; }
  std::string operator()(const HeadGrid&) const { return ""; }
  std::string operator()(const Facts& facts) const {
    std::string text = facts.caption.empty() ? "" : escaped(facts.caption) + "\n\n";
    for (const auto& [name, value] : facts.rows) text += fmt::format("- {}: {}\n", escaped(name), escaped(value));
    return text;
  }
  std::string operator()(const Listing& listing) const {
    const std::string fence = fence_for(listing.text);
    const bool ends = !listing.text.empty() && listing.text.back() == '\n';
    return fmt::format("{}\n\n{}toml\n{}{}{}\n", escaped(listing.caption), fence, printable(listing.text),
                       ends ? "" : "\n", fence);
  }
  std::string operator()(const Definitions& definitions) const {
    std::string text;
    for (const Definition& d : definitions.list)
      text += fmt::format("- **{}**: {} *Not for:* {}\n", escaped(d.title), escaped(d.meaning), escaped(d.not_for));
    return text;
  }
};

std::string section_text(const Section& section, int level) {
  std::string text = fmt::format("{} {}\n", std::string(static_cast<std::size_t>(level), '#'), escaped(section.title));
  for (const Block& block : section.blocks)
    if (const std::string part = std::visit(BlockMarkdown{}, block); !part.empty()) text += "\n" + part;
  return text;
}

}  // namespace

std::string render_markdown(const Report& report) {
  std::string text = "# " + escaped(report.title) + "\n";
  if (!report.subtitle.empty()) text += "\n" + escaped(report.subtitle) + "\n";
  for (const Part& part : report.parts) {
    text += "\n## " + escaped(part.title) + "\n";
    if (!part.subtitle.empty()) text += "\n" + escaped(part.subtitle) + "\n";
    for (const Sentence& warning : part.warnings)
      text += "\n" + BlockMarkdown{}(Paragraph{sentence(warning.text), Tone::kWarning});
    for (const Section& section : part.sections) text += "\n" + section_text(section, 3);
  }
  text += "\n" + section_text(report.definitions, 2);
  if (!report.footer.empty()) text += "\n---\n\n" + escaped(report.footer) + "\n";
  return valid_utf8(text);
}

}  // namespace spscope
