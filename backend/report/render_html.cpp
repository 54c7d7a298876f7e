// HTML: one self-contained page. Semantic tags, complete without scripts, one script of ours, no external resources;
// every heading of a table links to the definition of its metric.
#include <fmt/format.h>

#include <functional>
#include <map>

#include "backend/base/printable.h"
#include "backend/base/utf8.h"
#include "backend/report/format.h"
#include "backend/report/html.h"
#include "backend/report/render.h"

namespace spscope {
namespace {

std::string_view tone_class(Tone tone) {
  static constexpr std::string_view names[] = {"plain", "note", "warning", "conclusion", "reason"};
  return names[static_cast<std::size_t>(tone)];
}

// Where the sections of a part are on the page: their ids by name, "part1-balance".
using SectionIds = std::map<std::string, std::string, std::less<>>;

// The section that shows a subject best: ranks where the timeline is, causes where differences are taken apart.
std::string target_of(const Subject& subject, const SectionIds& ids) {
  const std::string_view first = subject.rank ? "timeline" : subject.cause.empty() ? "summary" : "comparison";
  for (const std::string_view name : {first, std::string_view("balance")})
    if (const auto found = ids.find(name); found != ids.end()) return found->second;
  return "";
}

struct BlockHtml {
  const SectionIds& ids;

  // The text with what it names as links; without a section for it, as marked words.
  std::string operator()(const Paragraph& p) const {
    std::string text = fmt::format("<p class=\"{}\">", tone_class(p.tone));
    std::size_t done = 0;
    for (const Mention& mention : p.mentions) {
      const std::string_view all = p.text;
      text += html_escaped(all.substr(done, mention.begin - done));
      const std::string words = html_escaped(all.substr(mention.begin, mention.end - mention.begin));
      const std::string target = target_of(mention.subject, ids);
      text += target.empty() ? fmt::format("<span class=\"named\"{}>{}</span>", html_subject(mention.subject), words)
                             : fmt::format("<a class=\"named\" href=\"#{}\"{}>{}</a>", target,
                                           html_subject(mention.subject), words);
      done = mention.end;
    }
    return text + html_escaped(std::string_view(p.text).substr(done)) + "</p>\n";
  }
  std::string operator()(const Badges& badges) const {
    std::string text = "<ul class=\"badges\">";
    for (const Badges::Badge& badge : badges.list)
      text += fmt::format("<li class=\"{}\" title=\"{}\"><a href=\"#metric-provenance\">{} {}</a></li>",
                          badge.modelled ? "modelled" : "measured", html_escaped(badge.title),
                          badge.modelled ? "◌" : "●", html_escaped(badge.text));
    return text + "</ul>\n";
  }
  std::string operator()(const Table& table) const {
    std::string text = html_table(table);
    for (const Table::Note& note : table.notes) text += (*this)(Paragraph{note.text, Tone::kNote});
    return text;
  }
  std::string operator()(const StackedBars& chart) const { return html_chart(chart); }
  std::string operator()(const Waterfall& chart) const { return html_chart(chart); }
  std::string operator()(const TimelineBands& bands) const { return html_timeline(bands); }
  std::string operator()(const HeadGrid& grid) const {
    const auto own = ids.find("heads");
    return html_heads(grid, own != ids.end() ? own->second : "heads");
  }
  std::string operator()(const Facts& facts) const {
    std::string text = "<div><h4>" + html_escaped(facts.caption) + "</h4><dl class=\"fact\">";
    for (const auto& [name, value] : facts.rows)
      text += fmt::format("<dt>{}</dt><dd>{}</dd>", html_escaped(name), html_escaped(value));
    return text + "</dl></div>\n";
  }
  std::string operator()(const Listing& listing) const {
    return fmt::format("<details><summary>{}</summary><pre>{}</pre></details>\n", html_escaped(listing.caption),
                       html_escaped(listing.text));
  }
  std::string operator()(const Definitions& definitions) const {
    std::string text = "<div class=\"definitions\">";
    for (const Definition& d : definitions.list)
      text += fmt::format("<article id=\"metric-{}\"><h4>{}</h4><p>{}</p><p class=\"not\">Not for: {}</p></article>\n",
                          html_escaped(d.id), html_escaped(d.title), html_escaped(d.meaning), html_escaped(d.not_for));
    return text + "</div>\n";
  }
};

// Neighbours that share a grid: the charts of ranks, and facts.
std::string_view grid_of(const Block& block) {
  const auto* chart = std::get_if<StackedBars>(&block);
  if (chart && chart->by_rank) return "ranks";
  if (std::holds_alternative<Waterfall>(block)) return "falls";
  return std::holds_alternative<Facts>(block) ? "facts" : "";
}

std::string section_html(const Section& section, const std::string& id, const SectionIds& ids) {
  std::string text = fmt::format("<section id=\"{}\">\n<h3>{}</h3>\n", id, html_escaped(section.title));
  std::string_view open;
  for (const Block& block : section.blocks) {
    const std::string_view grid = grid_of(block);
    if (grid != open) {
      if (!open.empty()) text += "</div>\n";
      if (grid == "ranks") text += html_legend(std::get<StackedBars>(block)) + "\n";
      if (!grid.empty()) text += fmt::format("<div class=\"{}\">\n", grid);
      open = grid;
    }
    text += std::visit(BlockHtml{ids}, block);
  }
  if (!open.empty()) text += "</div>\n";
  return text + "</section>\n";
}

std::string section_id(std::size_t part, const Section& section) {
  return html_escaped(fmt::format("part{}-{}", part + 1, section.id));
}

std::string part_html(const Part& part, std::size_t index) {
  SectionIds links;
  for (const Section& section : part.sections) links[section.id] = section_id(index, section);
  std::string text = fmt::format("<div data-part=\"{}\">\n<h2>{}</h2>\n", index + 1, html_escaped(part.title));
  if (!part.subtitle.empty()) text += fmt::format("<p class=\"subtitle\">{}</p>\n", html_escaped(part.subtitle));
  for (const Sentence& warning : part.warnings) {
    Paragraph shown = paragraph(warning, Tone::kWarning);
    shown.text = sentence(shown.text);
    text += BlockHtml{links}(shown);
  }
  text += "<nav>";
  for (const Section& section : part.sections)
    text += fmt::format("<a href=\"#{}\">{}</a>", section_id(index, section), html_escaped(section.title));
  text += "<a href=\"#definitions\">What the numbers mean</a></nav>\n";
  for (const Section& section : part.sections) text += section_html(section, section_id(index, section), links);
  return text + "</div>\n";
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (const char c = text[i]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default: {
        const std::size_t bytes = c == '\n' || c == '\t' ? 0 : unprintable_bytes(text.substr(i));
        out += bytes > 0 ? kReplacement : text.substr(i, 1);
        i += bytes > 0 ? bytes - 1 : 0;
      }
    }
  }
  return out;
}

namespace {

// Nothing is loaded and nothing but our script runs, whatever the texts of a file are.
std::string policy() {
  return fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{}'; style-src "
      "'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n",
      html_script_hash());
}

}  // namespace

std::string html_subject(const Subject& subject) {
  std::string text;
  if (!subject.strategy.empty()) text += fmt::format(" data-s=\"{}\"", html_escaped(subject.strategy));
  if (subject.rank) text += fmt::format(" data-r=\"{}\"", *subject.rank);
  return text;
}

std::string render_html(const Report& report) {
  const std::string title =
      html_escaped(report.subtitle.empty() ? report.title : report.subtitle + " – " + report.title);
  std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" + policy() + "<title>" +
                     title +
                     "</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>" +
                     std::string(html_style()) + "</style>\n</head>\n<body>\n";
  page += html_chart_patterns();
  page += fmt::format("<header class=\"page\"><p class=\"eyebrow\">spscope · {}</p>\n<h1>{}</h1></header>\n<main>\n",
                      html_escaped(report.subtitle), html_escaped(report.title));
  for (std::size_t i = 0; i < report.parts.size(); ++i) page += part_html(report.parts[i], i);
  page += section_html(report.definitions, "definitions", {});
  return valid_utf8(page + "</main>\n<footer>" + html_escaped(report.footer) + "</footer>\n<script>" +
                    std::string(html_script()) + "</script>\n</body>\n</html>\n");
}

}  // namespace spscope
