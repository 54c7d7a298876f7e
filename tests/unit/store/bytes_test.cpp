#include "backend/base/bytes.h"

#include <gtest/gtest.h>

#include <string_view>

#include "backend/base/error.h"
#include "backend/base/utf8.h"
#include "backend/store/sqlite/value_text.h"

namespace spscope {
namespace {

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Check values of the CRC catalogue (CRC-32/ISCSI) and of RFC 3720, B.4.
TEST(Crc32c, EqualsPublishedValues) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xff'))), 0x62a8ab43u);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Bytes, NumbersRoundTrip) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::int64_t numbers[] = {0, -1, 1, 63, 64, -64, -65, 127, 128, 1 << 20, Limits::max(), Limits::min()};
  ByteWriter out;
  for (std::int64_t x : numbers) out.number(x), out.unsigned_number(static_cast<std::uint64_t>(x));
  out.text("name");
  const std::vector<std::uint8_t> bytes = std::move(out).finish();
  ByteReader in(bytes, "a test");
  for (std::int64_t x : numbers) {
    EXPECT_EQ(in.number(), x);
    EXPECT_EQ(in.unsigned_number(), static_cast<std::uint64_t>(x));
  }
  EXPECT_EQ(in.text(), "name");
  in.expect_end();
}

TEST(Bytes, EveryFlippedBitIsNoticed) {
  ByteWriter out;
  out.text("some content");
  const std::vector<std::uint8_t> bytes = std::move(out).finish();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::vector<std::uint8_t> damaged = bytes;
    damaged[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    EXPECT_THROW(ByteReader(damaged, "a test"), Error) << bit;
  }
}

TEST(Bytes, ACountThatCannotFitIsRefused) {
  ByteWriter out;
  out.unsigned_number(std::uint64_t{1} << 40);
  const std::vector<std::uint8_t> bytes = std::move(out).finish();
  ByteReader in(bytes, "a test");
  EXPECT_THROW(in.count(), Error);
}

TEST(CleanText, KeepsValidTextAndRepairsTheRest) {
  const std::string_view valid = "naïve 你好 😀";
  EXPECT_EQ(clean_text(valid).text, valid);
  EXPECT_FALSE(clean_text(valid).repaired);
  EXPECT_EQ(valid_utf8(valid), valid);
  // A lone continuation byte, an overlong slash, a surrogate, a number past U+10FFFF, a cut character, a zero byte.
  for (std::string_view bad : {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe4\xbd"}) {
    const CleanText clean = clean_text(bad);
    EXPECT_TRUE(clean.repaired);
    EXPECT_FALSE(clean_text(clean.text).repaired);
  }
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(clean_text(std::string_view("a\0b", 3)).text, "a" + mark + "b");
  const std::string text(2 * kMaxNameBytes, 'x');
  EXPECT_EQ(valid_utf8(text + "\xff\xc3"), text + mark + mark) << "it is as long as the text";
}

TEST(CleanText, CutsBetweenCharacters) {
  std::string text(kMaxNameBytes - 1, 'x');
  EXPECT_FALSE(clean_text(text + "y").cut);
  const CleanText clean = clean_text(text + "é");
  EXPECT_TRUE(clean.cut);
  EXPECT_EQ(clean.text, text);
}

TEST(ValueText, ParametersRoundTrip) {
  const ParameterValue values[] = {true,  false, std::int64_t{-7},      std::int64_t{1} << 62, 0.1,
                                   1e300, -0.0,  std::string("a,b = c")};
  for (const ParameterValue& value : values) EXPECT_EQ(parameter_value(value.index(), to_text(value)), value);
  EXPECT_FALSE(parameter_value(0, "maybe"));
  EXPECT_FALSE(parameter_value(1, "1x"));
  EXPECT_FALSE(parameter_value(2, ""));
  EXPECT_FALSE(parameter_value(9, "1"));
}

TEST(ValueText, HashesRoundTrip) {
  EXPECT_EQ(hash_text(0x12), "0000000000000012");
  EXPECT_EQ(parse_hash("fedcba9876543210"), 0xfedcba9876543210u);
  EXPECT_FALSE(parse_hash("12"));
  EXPECT_FALSE(parse_hash("fedcba987654321z"));
}

}  // namespace
}  // namespace spscope
