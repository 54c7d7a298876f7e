// Reading and writing of array files: good ones, and every way in which one can be bad.
#include "backend/mask/array_file.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "backend/base/error.h"
#include "backend/base/result.h"
#include "backend/mask/mask_import.h"
#include "tests/unit/mask/array_files.h"

namespace spscope {
namespace {

using ::testing::HasSubstr;
using testing_files::npy;
using testing_files::npy_of;
using testing_files::safetensors;
using testing_files::TemporaryFolder;
using testing_files::zip;

// The error of reading this content as a file of this name.
struct Refusal {
  ErrorCode code;
  std::string message, hint;
};
Refusal refusal(const std::string& name, const std::string& content, const ReadOptions& options = {}) {
  const TemporaryFolder folder;
  const std::string path = folder.write(name, content);
  auto result = capture([&] { return read_arrays(path, options); });
  if (result) return {ErrorCode::kInternal, "it was read", {}};
  return {result.error().code(), result.error().what(), result.error().hint()};
}

TEST(Npy, ReadsEachTypeAndShape) {
  const TemporaryFolder folder;
  const Array a = read_arrays(
      folder.write("a.npy", npy_of("<i2", "(2, 3)", std::string("\x01\x00\xfe\xff", 4) + std::string(8, '\0'))))[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(to_integers(a, "a.npy"), (std::vector<std::int64_t>{1, -2, 0, 0, 0, 0}));
  const Array scalar = read_arrays(folder.write("s.npy", npy_of("|b1", "()", "\x01")))[0];
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(scalar.num_elements(), 1);
  const Array empty = read_arrays(folder.write("e.npy", npy_of("<f4", "(0, 1099511627776)", "")))[0];
  EXPECT_EQ(empty.num_elements(), 0);
}

TEST(Npy, ReadsVersionTwoHeaders) {
  const TemporaryFolder folder;
  std::string text = "{\"descr\": \"|u1\", \"fortran_order\": False, \"shape\": (2,)}\n";
  const std::string file = std::string("\x93NUMPY\x02\x00", 8) + testing_files::little_endian(text.size(), 4) + text;
  EXPECT_EQ(to_integers(read_arrays(folder.write("v.npy", file + "\x05\x06"))[0], ""),
            (std::vector<std::int64_t>{5, 6}));
}

TEST(Npy, BadFilesAreRefusedByName) {
  EXPECT_EQ(refusal("a.npy", "").code, ErrorCode::kMaskTruncated);
  EXPECT_EQ(refusal("a.npy", "this is a text file").code, ErrorCode::kMaskFormat);
  EXPECT_THAT(refusal("a.npy", "this is a text file").message, HasSubstr("a.npy\" is not in .npy format"));
  EXPECT_EQ(refusal("a.npy", npy_of("|u1", "(4,)", "abc")).code, ErrorCode::kMaskTruncated);
  EXPECT_EQ(refusal("a.npy", npy_of("|u1", "(4,)", "abcde")).code, ErrorCode::kMaskFormat);
  EXPECT_THAT(refusal("a.npy", npy_of("|u1", "(4,)", "abcde")).message, HasSubstr("has 1 bytes after"));
  EXPECT_EQ(refusal("a.npy", npy_of("|O", "(4,)", "")).code, ErrorCode::kMaskDtype);
  EXPECT_THAT(refusal("a.npy", npy_of("|O", "(4,)", "")).message, HasSubstr("an object type"));
  EXPECT_THAT(refusal("a.npy", npy_of(">f4", "(1,)", "abcd")).message, HasSubstr("a big-endian type (\">f4\")"));
  EXPECT_EQ(refusal("a.npy", npy_of("<c8", "(1,)", "abcdefgh")).code, ErrorCode::kMaskDtype);
  EXPECT_EQ(refusal("a.npy", npy_of("<U4", "(1,)", "abcdefgh")).code, ErrorCode::kMaskDtype);
  const std::string structured = "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }";
  EXPECT_THAT(refusal("a.npy", npy(structured, "abcd")).message, HasSubstr("a structured type"));
  const std::string by_column = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }";
  EXPECT_EQ(refusal("a.npy", npy(by_column, "abcd")).code, ErrorCode::kMaskShape);
  EXPECT_THAT(refusal("a.npy", npy(by_column, "abcd")).hint, HasSubstr("np.ascontiguousarray"));
  EXPECT_EQ(refusal("a.npy", npy_of("|u1", "(-4,)", "abcd")).code, ErrorCode::kMaskShape);
  EXPECT_EQ(refusal("a.npy", npy("{'descr': '|u1', 'shape': (4,)}", "abcd")).code, ErrorCode::kMaskFormat);
  EXPECT_EQ(refusal("a.npy", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4,), 'x': 1}", "abcd")).code,
            ErrorCode::kMaskFormat);
  EXPECT_EQ(refusal("a.npy", npy("not a dictionary", "abcd")).code, ErrorCode::kMaskFormat);
}

TEST(Npy, HugeShapesAreRefusedBeforeMemoryIsTaken) {
  for (const char* shape : {"(1099511627776,)", "(1099511627776, 1099511627776)", "(4294967296, 4294967296, 2)",
                            "(9223372036854775807, 9223372036854775807)", "(99999999999999999999,)"})
    EXPECT_EQ(refusal("a.npy", npy_of("<f8", shape, "abcd")).code, ErrorCode::kMaskTooLarge) << shape;
  EXPECT_EQ(refusal("a.npy", npy_of("|u1", "(4,)", "abcd"), {.max_bytes = 3, .only = {}}).code,
            ErrorCode::kMaskTooLarge);
}

TEST(ArrayFiles, PathsAreChecked) {
  EXPECT_EQ(refusal("a.pt", "x").code, ErrorCode::kMaskFormat);
  EXPECT_THAT(refusal("a.pt", "x").hint, HasSubstr(".npy, .npz, .safetensors"));
  for (const char* name : {"/nonexistent/a.npy", "/nonexistent/a.safetensors", "/nonexistent/a.npz"}) {
    auto result = capture([&] { return read_arrays(name); });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kMaskFile);
    EXPECT_THAT(result.error().what(), HasSubstr("No such file"));
  }
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("folder.npy"));
  EXPECT_THROW(read_arrays(folder.file("folder.npy")), Error);
}

TEST(Safetensors, ReadsTensorsAndSkipsMetadata) {
  const TemporaryFolder folder;
  const std::string json =
      R"({"__metadata__": {"a": "b"}, "k": {"dtype": "BF16", "shape": [2], "data_offsets": [2, 6]},)"
      R"( "mask": {"dtype": "BOOL", "shape": [1, 2], "data_offsets": [0, 2]}})";
  const std::string path = folder.write("t.safetensors", safetensors(json, std::string("\x01\x00\x80\x3f\x00\xc0", 6)));
  const std::vector<Array> arrays = read_arrays(path);
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(to_floats(arrays[0], path), (std::vector<float>{1.0F, -2.0F}));
  EXPECT_EQ(to_integers(arrays[1], path), (std::vector<std::int64_t>{1, 0}));
}

TEST(Safetensors, BadFilesAreRefusedByName) {
  auto entry = [](const char* dtype, const char* shape, const char* offsets) {
    return safetensors("{\"q\": {\"dtype\": \"" + std::string(dtype) + "\", \"shape\": " + shape +
                           ", \"data_offsets\": " + offsets + "}}",
                       "abcd");
  };
  const std::string name = "a.safetensors";
  EXPECT_EQ(refusal(name, entry("U8", "[4]", "[0, 4]")).message, "it was read");
  EXPECT_EQ(refusal(name, entry("U8", "[4]", "[1, 5]")).code, ErrorCode::kMaskTruncated);
  EXPECT_EQ(refusal(name, entry("U8", "[4]", "[0, 3]")).code, ErrorCode::kMaskFormat);
  EXPECT_EQ(refusal(name, entry("U8", "[4]", "[4, 0]")).code, ErrorCode::kMaskFormat);
  EXPECT_EQ(refusal(name, entry("U8", "[4]", "[-4, 0]")).code, ErrorCode::kMaskFormat);
  EXPECT_EQ(refusal(name, entry("U8", "[4.5]", "[0, 4]")).code, ErrorCode::kMaskFormat);
  EXPECT_EQ(refusal(name, entry("U8", "[18446744073709551615]", "[0, 4]")).code, ErrorCode::kMaskFormat);
  EXPECT_EQ(refusal(name, entry("U8", "[1099511627776, 1099511627776]", "[0, 4]")).code, ErrorCode::kMaskTooLarge);
  EXPECT_EQ(refusal(name, entry("F8_E4M3", "[4]", "[0, 4]")).code, ErrorCode::kMaskDtype);
  EXPECT_THAT(refusal(name, entry("F8_E4M3", "[4]", "[0, 4]")).message, HasSubstr("array \"q\" of "));
  EXPECT_EQ(refusal(name, safetensors("{\"q\": 3}", "")).code, ErrorCode::kMaskFormat);
  EXPECT_EQ(refusal(name, safetensors("[1, 2]", "")).code, ErrorCode::kMaskFormat);
  EXPECT_EQ(refusal(name, safetensors("{", "")).code, ErrorCode::kMaskFormat);
  EXPECT_EQ(refusal(name, safetensors(std::string(100000, '['), "")).code, ErrorCode::kMaskFormat);
  EXPECT_EQ(refusal(name, "short").code, ErrorCode::kMaskFormat);
  EXPECT_EQ(refusal(name, testing_files::little_endian(1000, 8) + "{}").code, ErrorCode::kMaskTruncated);
  EXPECT_EQ(refusal(name, std::string(8, '\xff') + "{}").code, ErrorCode::kMaskFormat);
}

TEST(Safetensors, OnlyWantedArraysAreReadAndAbsentOnesNamed) {
  const std::string json = R"({"q": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},)"
                           R"( "other": {"dtype": "F8_E4M3", "shape": [1], "data_offsets": [1, 2]}})";
  const TemporaryFolder folder;
  const std::string path = folder.write("a.safetensors", safetensors(json, "ab"));
  EXPECT_EQ(read_arrays(path, {.only = {"q"}}).size(), 1u);
  const Refusal absent = refusal("a.safetensors", safetensors(json, "ab"), {.only = {"othr"}});
  EXPECT_THAT(absent.message, HasSubstr("has no array \"othr\""));
  EXPECT_EQ(absent.hint, "did you mean \"other\"? it has: other, q");
}

TEST(Npz, ReadsArraysOrSaysWhatIsMissing) {
  const std::string content =
      zip({{"q.npy", npy_of("|u1", "(2,)", "\x01\x02")}, {"k.npy", npy_of("<i2", "(1,)", "\x03\x01"), true}});
  const TemporaryFolder folder;
  const std::vector<Array> arrays = read_arrays(folder.write("a.npz", content));
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].name, "q");
  EXPECT_EQ(to_integers(arrays[0], ""), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(arrays[1].name, "k");
  EXPECT_EQ(to_integers(arrays[1], ""), (std::vector<std::int64_t>{0x103}));
}

TEST(Npz, BadFilesAreRefusedByName) {
  const std::string good = npy_of("|u1", "(2,)", "ab");
  EXPECT_THAT(refusal("a.npz", "not a zip").message, HasSubstr("a.npz\" is not a zip archive"));
  EXPECT_THAT(refusal("a.npz", zip({{"../q.npy", good}})).message, HasSubstr("a path with folders"));
  EXPECT_THAT(refusal("a.npz", zip({{"x\\q.npy", good}})).message, HasSubstr("a path with folders"));
  EXPECT_THAT(refusal("a.npz", zip({{"q.txt", good}})).message, HasSubstr("which is not a .npy file"));
  EXPECT_THAT(refusal("a.npz", zip({{"q.npy", good}, {"q.npy", good}})).message, HasSubstr("twice"));
  EXPECT_THAT(refusal("a.npz", zip({{"q.npy", npy_of("|O", "(2,)", "ab")}})).message, HasSubstr("array \"q\" of "));
  EXPECT_EQ(refusal("a.npz", zip({{"q.npy", npy_of("|u1", "(1099511627776,)", "")}})).code, ErrorCode::kMaskTooLarge);
  EXPECT_EQ(refusal("a.npz", zip({{"q.npy", npy_of("|u1", "(2,)", "abc")}})).code, ErrorCode::kMaskFormat);
  std::string wrong_checksum = zip({{"q.npy", good}});
  wrong_checksum[wrong_checksum.find(good) + good.size() - 1] ^= 1;
  EXPECT_EQ(refusal("a.npz", wrong_checksum).code, ErrorCode::kMaskTruncated);
}

TEST(ToFloats, ConvertsHalfPrecisionExactly) {
  // 1, -2, largest 65504, smallest normal 2^-14, smallest subnormal 2^-24, -0.
  const std::uint16_t halves[] = {0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x8000};
  Array array{.name = "q", .type = ElementType::kF16, .shape = {6}, .bytes = {}};
  array.bytes.resize(12);
  std::memcpy(array.bytes.data(), halves, 12);
  const std::vector<float> values = to_floats(array, "f");
  EXPECT_EQ(values, (std::vector<float>{1, -2, 65504, 0x1p-14F, 0x1p-24F, -0.0F}));
  EXPECT_TRUE(std::signbit(values[5]));
}

TEST(ToFloats, NanInfinityAndIntegersAreRefused) {
  const std::uint16_t bad_halves[] = {0x7c00, 0x7e00};
  for (std::uint16_t bits : bad_halves) {
    Array array{.name = "q", .type = ElementType::kF16, .shape = {1}, .bytes = std::vector<std::byte>(2)};
    std::memcpy(array.bytes.data(), &bits, 2);
    auto result = capture([&] { return to_floats(array, "file"); });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kMaskValue);
    EXPECT_THAT(result.error().what(), HasSubstr("array \"q\" of \"file\" holds "));
  }
  const Array bytes{.name = "m", .type = ElementType::kU8, .shape = {1}, .bytes = std::vector<std::byte>(1)};
  EXPECT_THROW(to_floats(bytes, "file"), Error);
  const Array floats{.name = "m", .type = ElementType::kF32, .shape = {1}, .bytes = std::vector<std::byte>(4)};
  EXPECT_THROW(to_integers(floats, "file"), Error);
}

TEST(WriteNpy, WritesWhatNumpyWrites) {
  const TemporaryFolder folder;
  const std::int16_t values[] = {1, 2, 3};
  const std::int64_t shape[] = {3, 1};
  write_npy(folder.file("w.npy"), ElementType::kI16, shape, std::as_bytes(std::span(values)));
  std::ifstream file(folder.file("w.npy"), std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(content, npy("{'descr': '<i2', 'fortran_order': False, 'shape': (3,1,), }",
                         std::string("\x01\x00\x02\x00\x03\x00", 6)));
  EXPECT_EQ((content.size() - 6) % 64, 0u);
}

}  // namespace
}  // namespace spscope
