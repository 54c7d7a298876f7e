// Malicious or broken TOML: always an error with a place, never a crash (run under ASan and UBSan in CI).
#include <gtest/gtest.h>

#include "backend/config/config_text.h"
#include "backend/config/toml_text.h"

namespace spscope {
namespace {

std::string repeated(std::string_view part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

void expect_syntax_error(const std::string& text, int line) {
  const ReadConfig read = parse_config(text, "hostile.toml");
  ASSERT_EQ(read.problems.size(), 1u) << text.substr(0, 60);
  EXPECT_EQ(read.problems[0].code, ErrorCode::kConfigSyntax);
  EXPECT_EQ(read.problems[0].place.line, line) << read.problems[0].message;
}

TEST(HostileToml, DeepNestingIsRefusedBeforeParsing) {
  expect_syntax_error("\nx = " + repeated("[", 100000), 2);
  expect_syntax_error("x = " + repeated("{a=", 100000), 1);
  expect_syntax_error(repeated("a.", 100000) + "a = 1", 1);
  expect_syntax_error("[" + repeated("a.", 100000) + "a]", 1);
  expect_syntax_error("x = \"\"\"a\"\"\"\"\n" + repeated("\"a\".", 100000) + "a = 1", 2);
  expect_syntax_error("x = ['''\n'''''\n, {" + repeated("'#'.", 100000) + "a = 1}]", 3);
  expect_syntax_error("x = [ # ]]]]\n" + repeated("[\n", 1000), 17);
}

TEST(HostileToml, DotsAndBracketsInTextAndCommentsAreNotNesting) {
  const std::string many = repeated(".[{", 50);
  const ReadConfig read =
      parse_config("# " + many + "\n[run]\nscratch = \"" + many + "\"\noutput = '''" + many + "'''\n", "t");
  ASSERT_TRUE(read.problems.empty()) << render(Error(read.problems));
  EXPECT_EQ(read.config.run.scratch, many);
}

TEST(HostileToml, ValuesOfOtherKindsAreTypeProblems) {
  for (const char* text : {"run = 3", "[[run]]\nseed = 1", "[run]\nseed = 2020-01-01", "[run]\nseed = { a = 1 }",
                           "[run.seed]", "[run]\ndtype = [\"fp32\"]", "[run]\nstrategies = [[\"ring\"]]",
                           "[run]\nstrategies = [1]", "[strategy.usp]\na = []", "strategy = 1", "[strategy]\nusp = 1",
                           "[run]\noutput = \"a\\u0000b\"", "\"\" = 1", "[mask.sparge.deep]\nx = 1"})
    EXPECT_EQ(parse_config(text, "t").problems.size(), 1u) << text;
}

TEST(HostileToml, HugeTextIsRefusedAndHugeKeysAreShortened) {
  const ReadConfig large = parse_config(std::string(kMaxTomlBytes + 1, ' '), "large.toml");
  ASSERT_EQ(large.problems.size(), 1u);
  EXPECT_EQ(large.problems[0].code, ErrorCode::kConfigSyntax);
  const ReadConfig key = parse_config(std::string(500000, 'k') + " = 1", "t");
  ASSERT_EQ(key.problems.size(), 1u);
  EXPECT_LT(render(key.problems[0]).size(), 300u);
  EXPECT_EQ(parse_config(repeated("\"\\u001b[31m\" = 1\n", 1), "t").problems[0].field, "?[31m");
}

TEST(HostileToml, ThousandsOfUnknownKeysAreAllNamed) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "key" + std::to_string(i) + " = 1\n";
  EXPECT_EQ(parse_config(text, "t").problems.size(), 20000u);
}

}  // namespace
}  // namespace spscope
