#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "backend/base/utf8.h"
#include "backend/report/html.h"
#include "backend/report/metrics.h"
#include "backend/report/render.h"
#include "backend/report/section.h"
#include "backend/store/figures.h"
#include "tests/support/golden_file.h"
#include "tests/unit/report/sample_comparison.h"
#include "tests/unit/report/text_search.h"

namespace spscope {
namespace {

std::string html_of(const Comparison& c) { return render_html(make_report({&c, 1})); }

struct PageSection {
  std::string heading, text;
};

// What a page says without its tags under each heading; the first part stands before any.
std::vector<PageSection> sections_of(const std::string& page) {
  std::vector<PageSection> sections(1);
  bool in_heading = false;
  for (std::size_t at = 0; at < page.size();) {
    const std::string_view rest = std::string_view(page).substr(at);
    if (rest.starts_with("<style") || rest.starts_with("<script")) {
      at = page.find("</", at);
    } else if (rest.starts_with('<')) {
      if (rest.starts_with("<h2") || rest.starts_with("<h3")) sections.emplace_back(), in_heading = true;
      if (rest.starts_with("</h2>") || rest.starts_with("</h3>")) in_heading = false;
    } else {
      const std::string_view text = rest.substr(0, rest.find('<'));
      (in_heading ? sections.back().heading : sections.back().text) += text;
      at += text.size();
      continue;
    }
    at = page.find('>', at) + 1;
  }
  return sections;
}

// Without blanks and the marks by which Markdown, charts and badges set text off.
std::string condensed(std::string_view text) {
  constexpr std::string_view kBullet = "- ", kDot = "·";
  if (text.starts_with(kBullet)) text.remove_prefix(kBullet.size());
  std::string letters;
  for (const char c : text)
    if (std::string_view(" \n|*#`\\:+").find(c) == std::string_view::npos) letters += c;
  for (std::size_t at = 0; (at = letters.find(kDot, at)) != std::string::npos;) letters.erase(at, kDot.size());
  return letters;
}

std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream in(row.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) cells.push_back(condensed(cell));
  return cells;
}

// What stands in Markdown under one heading and not in this text of a page. Where Markdown has a table without a first
// heading, the page has a chart, whose shapes are named by row, column and figure; what takes no time has no shape.
std::vector<std::string> missing_in(const std::string& text, const std::string& markdown) {
  std::vector<std::string> missing, columns;
  const auto want = [&](const std::string& part) {
    if (!has(text, part)) missing.push_back(part);
  };
  std::istringstream lines(markdown);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("---") || line.starts_with("| ---") || line.starts_with("```")) continue;
    if (!line.starts_with('|')) columns.clear();
    if (line.starts_with("|  |")) {
      columns = cells_of(line);
    } else if (!columns.empty()) {
      const std::vector<std::string> cells = cells_of(line);
      for (std::size_t i = 1; i < cells.size(); ++i)
        if (cells[i] != "0ns") want(cells[0] + (columns.size() == 2 ? "" : columns[i]) + cells[i]);
    } else {
      // The fastest strategy is bold in one and has a tag in the other.
      const bool fastest = line.starts_with("| **");
      const std::size_t name = line.find("** |");
      want(fastest ? condensed(line.substr(0, name)) + "fastest" + condensed(line.substr(name)) : condensed(line));
    }
  }
  return missing;
}

// Independent of both renderers but for the golden file of Markdown, which is reviewed.
TEST(Html, SaysWhatMarkdownSays) {
  const Comparison c = sample_comparison();
  const std::vector<PageSection> sections = sections_of(html_of(c));
  std::istringstream markdown(html_escaped(render_markdown(make_report({&c, 1}))));
  std::size_t section = 0;
  std::string line, under;
  for (bool more = true; more;) {
    more = static_cast<bool>(std::getline(markdown, line));
    if (more && !line.starts_with("##")) {
      under += line + "\n";
      continue;
    }
    EXPECT_EQ(missing_in(condensed(sections[section].text), under), std::vector<std::string>())
        << "under " << sections[section].heading;
    under.clear();
    if (!more) break;
    ASSERT_LT(++section, sections.size()) << line;
    EXPECT_EQ(sections[section].heading, line.substr(line.find(' ') + 1));
  }
  EXPECT_EQ(section + 1, sections.size());
}

// A mask file may have any bytes in its name, and a stored file may come from anybody.
TEST(Report, IsValidUtf8WhateverTheTexts) {
  Comparison c = sample_comparison();
  c.workload.pattern = "file m\xff\xc3.npy";
  c.workload.config_toml = "file = \"m\xff\xc3.npy\"";
  const Report report = make_report({&c, 1});
  for (const std::string& text : {render_html(report), render_markdown(report)}) {
    EXPECT_EQ(text, valid_utf8(text));
    EXPECT_TRUE(has(text, "file m\xef\xbf\xbd\xef\xbf\xbd.npy"));
  }
}

TEST(Html, ShowsWhatIsModelledApartFromWhatIsMeasured) {
  Comparison c = sample_comparison();
  expect_parts(html_of(c),
               {"<li class=\"measured\" title=\"timed on a processor\">",
                "<li class=\"modelled\" title=\"calculated from the numbers of a cluster\">", "class=\"hatch\""});
  const auto projected = time_parts(c.strategies[0]);
  EXPECT_FALSE(projected[0].modelled) << "compute was measured";
  EXPECT_TRUE(projected[1].modelled && projected[2].modelled) << "its network is scheduled";
  for (StrategyResult& s : c.strategies) {
    s.mode = RunMode::kSimulate;
    if (s.provenance) s.provenance->compute = Source::kModelled;
  }
  for (const StackedBars::Part& part : time_parts(c.strategies[0])) EXPECT_TRUE(part.modelled) << part.name;
  expect_parts(html_of(c),
               {"Written on, where nothing was timed", "<dd>312 TFLOP/s</dd>", "<dd>160 GB/s one way, modelled</dd>"});
}

TEST(Html, WarningsStandAboveAllNumbers) {
  Comparison c = sample_comparison();
  c.workload.layers = 40;
  c.workload.layer_passes_done = 15;
  for (StrategyResult& s : c.strategies)
    if (s.legal()) s.compute_scale = 347;
  const std::string page = html_of(c), text = render_markdown(make_report({&c, 1}));
  for (const char* warning : {"15 of 40 layer passes, and", "about 350x slower"}) {
    EXPECT_LT(page.find(warning), page.find("<table")) << warning;
    EXPECT_LT(text.find(warning), text.find("| strategy |")) << warning;
  }
  // A generation on compute of another machine is nobody's.
  expect_parts(page, {}, {"fastest</span>", "End to end:"});
}

TEST(Html, ColumnsThatSayNothingAreLeftOut) {
  const std::vector<std::string> headings = {">redundant<", ">weights, all ranks<", ">most of a rank<", ">re-plans<"};
  Comparison c = sample_comparison();
  expect_parts(html_of(c), {}, headings);
  c.strategies[0].tiles_redundant = 12;
  c.strategies[0].parameter_bytes = 1'000;
  c.strategies[0].replans = 1;
  c.strategies[0].bytes_sent[0] += 50'000'000;
  expect_parts(html_of(c), headings);
}

TEST(Html, UncheckedOutputsAreOneSentence) {
  Comparison c = sample_comparison();
  for (StrategyResult& s : c.strategies) s.verify = "skipped", s.max_error.reset();
  expect_parts(html_of(c), {"No outputs were checked"}, {"layers and steps checked"});
}

// Steps 0 and 1 of two layers: decided at step 0, kept at step 1, where 1.31 was planned and 1.40 met.
TEST(Html, KeptDecisionsAreShownByDenoiseStep) {
  Comparison c = sample_comparison();
  StrategyResult& s = c.strategies[0];
  s.replans = 0;
  s.by_layer.resize(4, s.by_layer[0]);
  for (std::size_t i = 0; i < 4; ++i) {
    s.by_layer[i].denoise_step = static_cast<int>(i / 2);
    s.by_layer[i].decided = i < 2;
    if (i >= 2) s.by_layer[i].imbalance_ratio = 1.40;
  }
  expect_parts(html_of(c), {"ulysses u4 by denoise step",
                            ">kept</td><td data-v=\"1.31\" data-column=\"planned imbalance\">1.310</td>"
                            "<td data-v=\"1.4\" data-column=\"actual imbalance\">1.400</td>"});
  for (std::size_t i = 0; i < 2; ++i) s.by_layer[i].decided = false, s.by_layer[i].planned_imbalance_ratio.reset();
  EXPECT_TRUE(has(html_of(c), ">even, nothing known</td><td data-column=\"planned imbalance\">–</td>"))
      << "the first step has no mask before it";
}

// Twenty layers of which two are uneven, then none, then all alike.
TEST(Html, OnlyUnevenLayersAreListedAsUneven) {
  Comparison c = sample_comparison();
  auto& layers = c.strategies[0].by_layer;
  layers.resize(20, layers[0]);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].layer = static_cast<int>(i);
    layers[i].imbalance_ratio = layers[i].coupled_imbalance_ratio = i == 4 || i == 11 ? 1.4 : 1.0;
  }
  const std::string page = html_of(c);
  const std::size_t table = page.find("ulysses u4: 2 of 20 layer passes are uneven");
  ASSERT_NE(table, std::string::npos);
  const std::string rows = page.substr(table, page.find("</table>", table) - table);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 3) << "the heading and two layers: " << rows;
  EXPECT_FALSE(has(rows, ">1.000<"));
  for (LayerResult& l : layers) l.imbalance_ratio = l.coupled_imbalance_ratio = 1.0;
  EXPECT_TRUE(has(html_of(c), "ulysses u4: all 20 layer passes are even, with an imbalance of 1.000."));
  for (LayerResult& l : layers) l.imbalance_ratio = l.coupled_imbalance_ratio = 1.25;
  EXPECT_TRUE(has(html_of(c), "ulysses u4: all 20 layer passes are equally uneven, with an imbalance of 1.250."));
  EXPECT_FALSE(has(html_of(c), "most uneven"));
}

TEST(Html, AThousandRanksFit) {
  Comparison c = sample_comparison();
  for (auto* list : {&c.strategies[0].times.compute_ns, &c.strategies[0].times.wait_late_peer_ns,
                     &c.strategies[0].times.wire_ns, &c.strategies[0].times.other_ns})
    list->assign(1024, 1'000'000);
  EXPECT_LT(html_of(c).size(), 2'000'000u);
}

// The first section and the last one before the definitions: all kinds of blocks. Blocks are apart by one blank line,
// which the file of golden lines leaves out.
TEST(Markdown, ReportOfASampleIsAsReviewed) {
  const Comparison c = sample_comparison();
  const std::string page = render_markdown(make_report({&c, 1}));
  std::istringstream text(page.substr(0, page.find("## What the numbers mean")));
  std::string lines, before;
  bool kept = true;
  for (std::string line; std::getline(text, line); before = line) {
    if (line.starts_with("### ")) kept = line == "### Summary" || line == "### How this was made";
    EXPECT_FALSE(line.empty() && before.empty()) << "after " << lines;
    const bool begins_block = line.starts_with('#') || (line.starts_with('|') && !before.starts_with('|'));
    EXPECT_TRUE(!begins_block || before.empty()) << line;
    if (kept && !line.empty()) lines += line + "\n";
  }
  expect_golden("report/projected.md", lines);
  EXPECT_TRUE(has(page, "| rank 0 | 40.0 ms | 18.6 ms | 2.10 ms | 500 us |")) << page;  // the chart of ranks
}

TEST(Markdown, TextOfAFileStaysText) {
  Comparison c = sample_comparison();
  const std::string script = "<script>alert(1)</script>", attribute = "\" onload='x' |`*_[a](b)";
  c.file = "runs/" + attribute + ".db";
  c.workload.model = script;
  c.workload.pattern = attribute;
  c.workload.config_toml = "</pre></details>" + script + "```";
  c.machine.push_back({script, attribute});
  for (StrategyResult& s : c.strategies) {
    s.label = script;
    s.id = s.error_metric = s.verify = attribute;
  }
  c.strategies[3].problems[0].message = script + attribute;
  const std::string text = render_markdown(make_report({&c, 1}));
  const std::size_t config = text.find("````toml");  // a longer fence than the text's own
  ASSERT_NE(config, std::string::npos);
  EXPECT_TRUE(has(text.substr(config), "\n````\n"));
  expect_parts(text.substr(0, config), {"\\[a\\](b)", "\\|"}, {"<script"});
}

TEST(Metrics, EachHasAHeadingAndEachFigureANameInTheDocs) {
  std::ifstream in(std::string(SPSCOPE_SOURCE_DIR) + "/docs/metrics.md");
  std::stringstream docs;
  docs << in.rdbuf();
  for (const Definition& metric : metrics())
    EXPECT_TRUE(has(docs.str(), "\n## " + metric.title + "\n")) << metric.title;
  const auto named = [&](const FigureRow& figure, auto) {
    EXPECT_TRUE(has(docs.str(), fmt::format("{}`", figure.name))) << figure.name;
  };
  for_each_figure(named);
  for_each_rank_figure(named);
}

// A band with what runs beside the layer pass before: 0 is where the makespan begins, and lines stand at both its ends.
TEST(ReportPage, TimelinesCountFromWhereMakespansBegin) {
  TimelineBands bands;
  bands.caption = "Layer 1";
  bands.parts.emplace_back().name = "compute";
  bands.bands = {{"ring r2", 80, {{"rank 0", {{-20, 30, 0}}, {}}, {"rank 1", {{0, 80, 0}}, {}}}, {}},
                 {"dbsp r2", 60, {{"rank 0", {{0, 60, 0}}, {}}}, {}}};
  const TimelineBands::Span axis = bands.axis();
  EXPECT_EQ(axis.begin_ns, -20);
  EXPECT_EQ(axis.end_ns, 80);
  const std::string page = html_timeline(bands);
  expect_parts(page, {"<b>ring r2</b> 80 ns", "<span>−20 ns</span><span>80 ns</span>",
                      "x=\"0.00%\" y=\"0\" width=\"50.00%\"",   // [-20, 30) of 100 ns
                      "x=\"20.00%\" y=\"0\" width=\"60.00%\"",  // [0, 60) of 100 ns
                      "x1=\"20.000%\" x2=\"20.000%\"",          // where makespans begin
                      "x1=\"80.000%\" x2=\"80.000%\""});        // where dbsp ends
}

}  // namespace
}  // namespace spscope
