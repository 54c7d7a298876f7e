// Masks and activations from files: choice of array, denoise step and layer; coarser axes; cuts; sizes that do not fit.
#include "backend/mask/mask_import.h"

#include <gmock/gmock.h>

#include <cmath>
#include <initializer_list>

#include "backend/base/error.h"
#include "backend/base/result.h"
#include "backend/base/rng.h"
#include "backend/mask/array_file.h"
#include "backend/mask/sparge_from_qk.h"
#include "tests/unit/mask/array_files.h"

namespace spscope {
namespace {

using ::testing::HasSubstr;
using testing_files::npy_of;
using testing_files::safetensors;
using testing_files::TemporaryFolder;

std::string random_bits(std::uint64_t seed, std::size_t size) {
  Rng rng(seed);
  std::string bits;
  for (std::size_t i = 0; i < size; ++i) bits += static_cast<char>(rng.below(2));
  return bits;
}

// A file of one array in safetensors format.
std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& data) {
  return safetensors("{\"" + name + "\": {\"dtype\": \"" + dtype + "\", \"shape\": " + shape +
                         ", \"data_offsets\": [0, " + std::to_string(data.size()) + "]}}",
                     data);
}

template <typename Function>
Error error_of(Function&& function) {
  auto result = capture(std::forward<Function>(function));
  return result ? Error(ErrorCode::kInternal, "no error") : result.error();
}

TEST(MaskFile, SelectsDenoiseStepAndLayer) {
  const TemporaryFolder folder;
  const std::string bits = random_bits(1, 2 * 3 * 4 * 5 * 5);
  const MaskFile file(folder.write("m.npy", npy_of("|u1", "(2, 3, 4, 5, 5)", bits)));
  EXPECT_EQ(file.denoise_steps(), 2);
  EXPECT_EQ(file.layers(), 3);
  EXPECT_EQ(file.heads(), 4);
  for (int step = 0; step < 2; ++step) {
    for (int layer = 0; layer < 3; ++layer) {
      const BlockMask mask = file.mask(step, layer, {0, 2, 4, 6, 8, 9});
      for (int h = 0; h < 4; ++h) {
        for (int i = 0; i < 5; ++i)
          for (int j = 0; j < 5; ++j)
            EXPECT_EQ(mask.active(h, i, j), bits[(((step * 3 + layer) * 4 + h) * 5 + i) * 5 + j] == 1);
      }
    }
  }
  EXPECT_THAT(error_of([&] {
                return file.mask(2, 0, {0, 2, 4, 6, 8, 9});
              }).what(),
              HasSubstr("has 2 denoise steps, number 2 (from 0) is wanted"));
  EXPECT_THAT(error_of([&] { return file.mask(0, -1, {0, 2, 4, 6, 8, 9}); }).what(), HasSubstr("has 3 layers"));
}

// A batch, layers behind heads, and one head for all: what the axes are is said, or refused where it is not known.
TEST(MaskFile, AxesAreThoseThatAreSaid) {
  const TemporaryFolder folder;
  const std::string bits = random_bits(4, 2 * 3 * 2 * 2);
  const std::string path = folder.write("m.npy", npy_of("|u1", "(2, 3, 2, 2)", bits));
  const auto bit = [&](int a, int b, int q, int k) { return bits[((a * 3 + b) * 2 + q) * 2 + k] == 1; };
  const MaskFile batch(path, {.axes = "batch,heads,q,k", .batch = 1}), turned(path, {.axes = "heads,layers,q,k"});
  EXPECT_THAT(batch.words(), HasSubstr("batch of 2, 3 heads, 2 x 2 blocks"));
  EXPECT_EQ(MaskFile(path).axes_with_batch(), "batch,heads,q,k");
  EXPECT_EQ(batch.axes_with_batch() + turned.axes_with_batch(), "");
  const std::string five = folder.write("five.npy", npy_of("|u1", "(2, 1, 3, 2, 2)", random_bits(5, 24)));
  EXPECT_EQ(MaskFile(five).axes_with_batch(), "") << "one layer, or a batch of one";
  EXPECT_EQ(
      MaskFile(folder.write("one_layer.npy", npy_of("|u1", "(1, 3, 2, 2)", random_bits(6, 12)))).axes_with_batch(), "");
  for (int q = 0; q < 2; ++q)
    for (int k = 0; k < 2; ++k) {
      EXPECT_EQ(batch.mask(0, 0, {0, 1, 2}).active(2, q, k), bit(1, 2, q, k));
      EXPECT_EQ(turned.mask(0, 2, {0, 1, 2}).active(1, q, k), bit(1, 2, q, k));
    }
  EXPECT_THAT(error_of([&] { return MaskFile(path, {.axes = "batch,heads,q,k"}); }).what(), HasSubstr("a batch of 2"));
  for (const char* wrong : {"heads,q,k", "q,k,heads,batch", "heads,heads,q,k", "rows,heads,q,k", "batch,heads,k,q"})
    EXPECT_EQ(error_of([&] { return MaskFile(path, {.axes = wrong}); }).code(), ErrorCode::kMaskShape) << wrong;
  const MaskFile one(folder.write("one.npy", npy_of("|u1", "(2, 2)", std::string("\0\1\1\0", 4))));
  EXPECT_EQ(one.mask(0, 0, {0, 1, 2}).heads(), 1);
  const BlockMask all = one.mask(0, 0, {0, 1, 2}, 5);
  EXPECT_TRUE(all.heads() == 5 && all.active(4, 0, 1) && !all.active(4, 1, 1));
}

// 3 query blocks of 22 may hold 8, 9 or 10 of them.
TEST(MaskFile, AFactorThatIsNotUniqueMustBeGiven) {
  const TemporaryFolder folder;
  const std::string path = folder.write("m.npy", npy_of("|u1", "(1, 3, 22)", random_bits(5, 66)));
  const std::vector<std::int32_t> cuts = BlockMask::uniform_starts(22 * 4, 4);
  EXPECT_THAT(error_of([&] { return MaskFile(path).mask(0, 0, cuts); }).hint(), HasSubstr("mask.q_block"));
  for (const int factor : {8, 9, 10}) {
    const BlockMask mask = MaskFile(path, {.block = 4, .q_block = 4 * factor}).mask(0, 0, cuts);
    for (int k = 0; k < 22; ++k) EXPECT_EQ(mask.active(0, factor - 1, k), mask.active(0, 0, k));
  }
  EXPECT_EQ(error_of([&] { return MaskFile(path, {.block = 4, .q_block = 44}).mask(0, 0, cuts); }).code(),
            ErrorCode::kMaskShape);
}

TEST(MaskFile, CoarserAxesAreExpandedByAWholeFactor) {
  const TemporaryFolder folder;
  // 7 blocks: query blocks of two are 4, key blocks of three are 3.
  const std::string bits = random_bits(2, 2 * 4 * 3);
  const MaskFile file(folder.write("m.npy", npy_of("|b1", "(2, 4, 3)", bits)));
  const BlockMask mask = file.mask(0, 0, {0, 2, 4, 6, 8, 10, 12, 13});
  EXPECT_EQ(file.cut_text({0, 2, 4, 6, 8, 10, 12, 13}), "blocks of 4 x 6 tokens cut into 2 x 2");
  EXPECT_EQ(file.cut_text({0, 3, 4, 6, 8, 10, 12, 13}), "each block cut into 2 x 3");
  for (int h = 0; h < 2; ++h) {
    for (int i = 0; i < 7; ++i)
      for (int j = 0; j < 7; ++j) EXPECT_EQ(mask.active(h, i, j), bits[(h * 4 + i / 2) * 3 + j / 3] == 1);
  }
}

TEST(MaskFile, BlocksThatDoNotFitAreRefused) {
  const TemporaryFolder folder;
  const MaskFile file(folder.write("m.npy", npy_of("|b1", "(1, 4, 4)", random_bits(3, 16))));
  for (int blocks : {2, 3, 5, 6, 9}) {
    const Error error = error_of([&] { return file.mask(0, 0, BlockMask::uniform_starts(blocks, 1)); });
    EXPECT_EQ(error.code(), ErrorCode::kMaskShape) << blocks;
    EXPECT_THAT(error.what(), HasSubstr("has 4 x 4 blocks, the workload has " + std::to_string(blocks)));
  }
}

TEST(MaskFile, CutsOfTheFileAreUsedAndMustAgree) {
  const TemporaryFolder folder;
  const std::string json = R"({"mask": {"dtype": "U8", "shape": [1, 2, 2], "data_offsets": [0, 4]},)"
                           R"( "block_starts": {"dtype": "U8", "shape": [3], "data_offsets": [4, 7]}})";
  const MaskFile file(folder.write("m.safetensors", safetensors(json, std::string("\x01\0\0\x01\0\x05\x07", 7))));
  EXPECT_EQ(file.block_starts(), (std::vector<std::int32_t>{0, 5, 7}));
  EXPECT_EQ(file.mask(0, 0, file.block_starts()).tokens(), 7);
  EXPECT_THAT(error_of([&] { return file.mask(0, 0, {0, 4, 7}); }).what(), HasSubstr("end at 7 tokens in 2 blocks"));
}

TEST(MaskFile, BadCutsAreRefused) {
  for (const char* starts : {"\0\x05\x05", "\x01\x05\x07", "\0\x07\x05"}) {
    const TemporaryFolder folder;
    folder.write("m.block_starts.npy", npy_of("|u1", "(3,)", std::string(starts, 3)));
    const std::string path = folder.write("m.npy", npy_of("|b1", "(1, 1, 1)", "\x01"));
    const Error error = error_of([&] { return MaskFile(path); });
    EXPECT_EQ(error.code(), ErrorCode::kMaskValue);
    EXPECT_THAT(error.what(), HasSubstr("are not block borders"));
  }
}

TEST(MaskFile, AdviceFitsWhatTheArrayHolds) {
  const TemporaryFolder folder;
  const auto hint = [&](const char* type, const char* shape, const std::string& content) {
    return error_of([&] { return MaskFile(folder.write("m.npy", npy_of(type, shape, content))); }).hint();
  };
  const auto floats = [](std::initializer_list<float> values) {
    return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(float));
  };
  EXPECT_THAT(hint("<f4", "(1, 1, 2)", floats({0, -INFINITY})), HasSubstr("(mask == 0)"));
  EXPECT_THAT(hint("<f4", "(1, 1, 2)", floats({0, 1})), HasSubstr("(mask > 0)"));
  EXPECT_THAT(hint("|u1", "(1, 1, 2)", std::string("\0\xff", 2)), HasSubstr("(mask > 0)"));
}

TEST(MaskFile, ArrayIsChosenByNameOrBecauseItIsTheOnlyOne) {
  const TemporaryFolder folder;
  const std::string two = R"({"a": {"dtype": "U8", "shape": [1, 1, 1], "data_offsets": [0, 1]},)"
                          R"( "b": {"dtype": "U8", "shape": [1, 1, 1], "data_offsets": [1, 2]}})";
  const std::string path = folder.write("two.safetensors", safetensors(two, std::string("\x01\0", 2)));
  EXPECT_TRUE(MaskFile(path, {.array = "a"}).mask(0, 0, {0, 3}).active(0, 0, 0));
  EXPECT_FALSE(MaskFile(path, {.array = "b"}).mask(0, 0, {0, 3}).active(0, 0, 0));
  const Error error = error_of([&] { return MaskFile(path); });
  EXPECT_THAT(error.what(), HasSubstr("has 2 arrays besides block_starts"));
  EXPECT_THAT(error.hint(), HasSubstr("mask.array: a, b"));
  EXPECT_THAT(error_of([&] { return MaskFile(path, {.array = "c"}); }).what(), HasSubstr("has no array \"c\""));
  EXPECT_EQ(MaskFile(folder.write("one.safetensors", tensor("m", "BOOL", "[1, 1, 1]", "\x01"))).heads(), 1);
}

TEST(MaskFile, OtherValuesTypesAndShapesAreRefused) {
  const TemporaryFolder folder;
  auto error = [&](const std::string& content) {
    const std::string path = folder.write("m.npy", content);
    return error_of([&] { return MaskFile(path); });
  };
  EXPECT_THAT(error(npy_of("|u1", "(1, 1, 2)", "\x01\x02")).what(), HasSubstr("0 and 1 at element 1"));
  EXPECT_EQ(error(npy_of("<i2", "(1, 1, 1)", "\x01\x01")).code(), ErrorCode::kMaskValue);
  EXPECT_EQ(error(npy_of("<f4", "(1, 1, 1)", "abcd")).code(), ErrorCode::kMaskDtype);
  EXPECT_EQ(error(npy_of("|u1", "(1,)", "\x01")).code(), ErrorCode::kMaskShape);
  EXPECT_EQ(error(npy_of("|u1", "(1, 1, 1, 1, 1, 1, 1)", "\x01")).code(), ErrorCode::kMaskShape);
  EXPECT_EQ(error(npy_of("|u1", "(1, 0, 4)", "")).code(), ErrorCode::kMaskShape);
}

TEST(MaskFile, ReadsWhatWriteMaskNpyWrote) {
  const TemporaryFolder folder;
  Rng rng(4);
  BlockMask mask(3, {0, 4, 5, 9, 12});
  for (int h = 0; h < 3; ++h) {
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) mask.set(h, i, j, rng.below(2) == 1);
  }
  write_mask_npy(mask, folder.file("mask.npy"), folder.file("block_starts.npy"));
  const MaskFile file(folder.file("mask.npy"));
  EXPECT_EQ(file.mask(0, 0, file.block_starts()).hash(), mask.hash());
}

// The sample derived from photographs: numpy computed its mask from its activations.
TEST(PhotoSample, MaskEqualsTheOneComputedFromItsActivations) {
  const std::string folder = std::string(SPSCOPE_SOURCE_DIR) + "/samples/", path = folder + "photo_qkv.safetensors";
  constexpr int kTokens = 4 * 18 * 22;
  const std::vector<Array> q = read_arrays(path, {.only = {"q"}}), k = read_arrays(path, {.only = {"k"}});
  ASSERT_EQ(q.at(0).shape, (std::vector<std::int64_t>{8, kTokens, 16}));
  const std::vector<std::int32_t> starts = BlockMask::uniform_starts(kTokens, 32);
  const BlockMask computed = sparge_from_qk(to_floats(q[0], path), to_floats(k.at(0), path), 8, 16, starts);
  EXPECT_EQ(MaskFile(folder + "photo_mask.npy").mask(0, 0, starts).hash(), computed.hash());
}

}  // namespace
}  // namespace spscope
