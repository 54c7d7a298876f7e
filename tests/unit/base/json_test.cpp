// JSON texts written by hand against what Json prints and reads.
#include "backend/base/json.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

namespace spscope {
namespace {

TEST(Json, PrintsEveryKindOfValue) {
  EXPECT_EQ(Json().dump(), "null");
  EXPECT_EQ(Json(true).dump(), "true");
  EXPECT_EQ(Json(-3).dump(), "-3");
  EXPECT_EQ(Json(std::numeric_limits<std::int64_t>::min()).dump(), "-9223372036854775808");
  EXPECT_EQ(Json(std::numeric_limits<std::uint64_t>::max()).dump(), "18446744073709551615");
  EXPECT_EQ(Json(0.1).dump(), "0.1");
  EXPECT_EQ(Json(2.0).dump(), "2.0");
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json("a \"b\"\n\\").dump(), R"("a \"b\"\n\\")");
  EXPECT_EQ(Json(std::vector<int>{1, 2}).dump(), "[1,2]");
  EXPECT_EQ(Json(std::array<std::string_view, 1>{"x"}).dump(), R"(["x"])");
  EXPECT_EQ(Json(std::map<std::string, int>{{"b", 1}, {"a", 2}}).dump(), R"({"a":2,"b":1})");
  EXPECT_EQ(Json::array().dump(), "[]");
  EXPECT_EQ(Json::object().dump(), "{}");
}

TEST(Json, BracesAreAnObjectOnlyWhenAllElementsArePairs) {
  EXPECT_EQ((Json{{"b", 1}, {"a", {"x", "y"}}}).dump(), R"({"b":1,"a":["x","y"]})");
  EXPECT_EQ((Json{{"b", 1}, 2}).dump(), R"([["b",1],2])");
  EXPECT_EQ((Json{1, 2, 3}).dump(), "[1,2,3]");
  const Json one = {{"type", "string"}};
  EXPECT_EQ(one.dump(), R"({"type":"string"})");
}

TEST(Json, KeysKeepTheirOrderUnlessSorted) {
  Json json = {{"z", 1}, {"a", {{"d", 1}, {"c", 2}}}};
  json["m"] = nullptr;
  json["z"] = 3;
  EXPECT_EQ(json.dump(), R"({"z":3,"a":{"d":1,"c":2},"m":null})");
  EXPECT_EQ(json.sorted().dump(), R"({"a":{"c":2,"d":1},"m":null,"z":3})");
}

TEST(Json, IndentsByLevel) { EXPECT_EQ((Json{{"a", {1}}}).dump(2), "{\n  \"a\": [\n    1\n  ]\n}"); }

TEST(Json, ReplacesBytesThatAreNotUtf8) { EXPECT_EQ(Json("a\xff").dump(), "\"a\xef\xbf\xbd\""); }

TEST(Json, ReadsWhatItPrints) {
  const std::string text = R"({"b":[1,-2,18446744073709551615,0.5,null,true],"a":{"text":"é"}})";
  const std::optional<Json> json = Json::parse(text);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->dump(), text);
  EXPECT_EQ((*json)["a"]["text"].text(), "é");
  EXPECT_EQ((*json)["b"][1].number(), -2);
  EXPECT_EQ((*json)["b"][3].number(), 0.5);
  EXPECT_EQ((*json)["b"][1].integer(-5, 5), -2);
  EXPECT_FALSE((*json)["b"][1].integer());
  EXPECT_FALSE((*json)["b"][2].integer());
  EXPECT_FALSE((*json)["b"][3].integer());
  EXPECT_EQ((*json)["b"].find("a"), nullptr);
}

TEST(Json, RefusesTextThatIsNotJson) {
  for (const char* text : {"", "{\"a\":", "{\"a\" 1}", "[1,]", "1 2", "\"\xff\"", "nul"})
    EXPECT_FALSE(Json::parse(text)) << text;
}

TEST(Json, ReadsNestedTextUpToItsLimitAndRefusesDeeper) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  const std::optional<Json> deepest = Json::parse(nested(Json::kMaxDepth));
  ASSERT_TRUE(deepest);
  EXPECT_EQ(deepest->dump(), nested(Json::kMaxDepth));
  EXPECT_FALSE(Json::parse(nested(Json::kMaxDepth + 1)));
  EXPECT_FALSE(Json::parse(std::string(10'000'000, '[')));
}

}  // namespace
}  // namespace spscope
