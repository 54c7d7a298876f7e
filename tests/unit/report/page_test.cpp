#include <gtest/gtest.h>

#include "backend/report/html.h"
#include "backend/report/metrics.h"
#include "backend/report/render.h"
#include "tests/unit/report/golden_file.h"
#include "tests/unit/report/sample_comparison.h"

namespace spscope {
namespace {

std::string html_of(const Comparison& c) { return render_html(make_report({&c, 1})); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Comparison hostile() {
  Comparison c = sample_comparison();
  const std::string script = "<script>alert(1)</script>", attribute = "\" onload='x' |`*_[a](b)";
  c.file = "runs/" + attribute + ".db";
  c.workload.model = script;
  c.workload.pattern = attribute;
  c.workload.config_toml = "</pre></details>" + script + "```";
  c.machine.push_back({script, attribute});
  for (StrategyResult& s : c.strategies) {
    s.label = script;
    s.id = s.error_metric = attribute;
    s.verify = attribute;
  }
  c.strategies[3].reason = c.strategies[3].problems[0].message = script + attribute;
  return c;
}

TEST(Html, ReportOfASampleIsAsReviewed) { expect_golden("report/projected.html", html_of(sample_comparison())); }

TEST(Html, NamesEveryStrategyAndWhyOneIsRefused) {
  const std::string page = html_of(sample_comparison());
  for (const StrategyResult& s : sample_comparison().strategies) EXPECT_TRUE(has(page, s.label)) << s.label;
  EXPECT_TRUE(has(page, "16 ranks exceed the 12 heads"));
  EXPECT_TRUE(has(page, "use at most 12 ranks"));
}

TEST(Html, ShowsWhatIsModelledApartFromWhatIsMeasured) {
  const std::string page = html_of(sample_comparison());
  EXPECT_TRUE(has(page, "<li class=\"measured\" title=\"timed on a processor\">"));
  EXPECT_TRUE(has(page, "<li class=\"modelled\" title=\"calculated from the numbers of a cluster\">"));
  EXPECT_TRUE(has(page, "class=\"hatch\""));
}

TEST(Html, TextOfAFileStaysText) {
  const std::string page = html_of(hostile());
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_FALSE(has(page, "\" onload"));
  EXPECT_FALSE(has(page, "</pre></details><"));
  EXPECT_TRUE(has(page, "&lt;script&gt;alert(1)&lt;/script&gt;"));
}

TEST(Html, ControlCharactersAreReplaced) {
  EXPECT_EQ(html_escaped("a\x01\x1b[2J\n"), "a\xef\xbf\xbd\xef\xbf\xbd[2J\n");
}

TEST(Html, LoadsNothing) {
  const std::string page = html_of(sample_comparison());
  for (const char* outside : {"<script", "<link", "src=", "http:", "https:", "@import", "url(http"})
    EXPECT_FALSE(has(page, outside)) << outside;
}

TEST(Html, EveryLinkOfAHeadingLeadsToADefinition) {
  const std::string page = html_of(sample_comparison());
  for (std::size_t at = page.find("href=\"#"); at != std::string::npos; at = page.find("href=\"#", at + 1)) {
    const std::string id = page.substr(at + 7, page.find('"', at + 7) - at - 7);
    EXPECT_TRUE(has(page, "id=\"" + id + "\"")) << id;
  }
}

TEST(Html, SeveralWorkloadsHaveSectionsOfTheirOwn) {
  const Comparison two[] = {sample_comparison(), sample_comparison()};
  const std::string page = render_html(make_report(two));
  EXPECT_TRUE(has(page, "id=\"part1-summary\"") && has(page, "id=\"part2-summary\""));
}

TEST(Html, AThousandRanksFit) {
  Comparison c = sample_comparison();
  for (auto* list : {&c.strategies[0].times.compute_ns, &c.strategies[0].times.wait_late_peer_ns,
                     &c.strategies[0].times.wire_ns, &c.strategies[0].times.other_ns})
    list->assign(1024, 1'000'000);
  EXPECT_LT(html_of(c).size(), 2'000'000u);
}

TEST(Markdown, ReportOfASampleIsAsReviewed) {
  const Comparison c = sample_comparison();
  expect_golden("report/projected.md", render_markdown(make_report({&c, 1})));
}

TEST(Markdown, TextOfAFileStaysText) {
  const Comparison c = hostile();
  const std::string text = render_markdown(make_report({&c, 1}));
  const std::string config = text.substr(text.find("````toml"));  // a longer fence than the text's own
  EXPECT_TRUE(has(config, "\n````\n"));
  EXPECT_FALSE(has(text.substr(0, text.find("````toml")), "<script"));
  EXPECT_TRUE(has(text, "\\[a\\](b)"));
  EXPECT_TRUE(has(text, "\\|"));
}

TEST(Metrics, EachHasAHeadingInTheDocs) {
  std::ifstream in(std::string(SPSCOPE_SOURCE_DIR) + "/docs/metrics.md");
  std::stringstream docs;
  docs << in.rdbuf();
  for (const Definition& metric : metrics())
    EXPECT_TRUE(has(docs.str(), "\n## " + metric.title + "\n")) << metric.title;
}

}  // namespace
}  // namespace spscope
