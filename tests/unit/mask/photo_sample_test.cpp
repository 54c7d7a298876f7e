// The sample derived from photographs: the files of the repository match samples/README.md, and sparge_from_qk computes
// the same mask from the activations as numpy did.
#include <gtest/gtest.h>

#include "backend/mask/array_file.h"
#include "backend/mask/mask_import.h"
#include "backend/mask/sparge_from_qk.h"

namespace spscope {
namespace {

const std::string kFolder = std::string(SPSCOPE_SOURCE_DIR) + "/samples/";
constexpr int kTokens = 4 * 18 * 22, kBlock = 32;

TEST(PhotoSample, MaskEqualsTheOneComputedFromItsActivations) {
  const std::string path = kFolder + "photo_qkv.safetensors";
  const std::vector<Array> q = read_arrays(path, {.only = {"q"}}), k = read_arrays(path, {.only = {"k"}});
  ASSERT_EQ(q.at(0).shape, (std::vector<std::int64_t>{8, kTokens, 16}));
  const std::vector<std::int32_t> starts = BlockMask::uniform_starts(kTokens, kBlock);
  const BlockMask computed = sparge_from_qk(to_floats(q[0], path), to_floats(k.at(0), path), 8, 16, starts);
  EXPECT_EQ(MaskFile(kFolder + "photo_mask.npy").mask(0, 0, starts).hash(), computed.hash());
}

}  // namespace
}  // namespace spscope
