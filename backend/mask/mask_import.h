// Block masks from files: an array of 0 and 1 of shape [heads, q blocks, k blocks], [layers, heads, q, k] or
// [denoise steps, layers, heads, q, k], in any format of mask_importers.def.
//
// The cuts come from an array `block_starts` in the same file, or from a file beside a .npy file, or from the caller.
// The file beside NAME.npy is NAME.block_starts.npy; beside mask.npy it may also be block_starts.npy, which is what
// --dump writes. A folder may so hold masks of different cuts.
//
// Look-up tables of kernels (key_lists.h) are read as well, when the reader says that the array is one.
//
// Kernels often use query blocks twice as long as key blocks (SpargeAttention: 128 x 64). The coarser axis is expanded
// by a whole factor f: block i of the cuts is block i / f of the array.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/mask/array_file.h"
#include "backend/mask/block_mask.h"

namespace spscope {

// The source of the settings, which error hints name: keys of a config, or flags of `spscope mask`.
enum class MaskUser { kConfig, kFlags };

// How an array becomes a mask.
struct MaskReading {
  std::string array = {};          // name; "": "mask" (of lists "lut"), or the only one that can be meant
  bool lists = false;              // a look-up table, and not 0 and 1
  std::string counts = {};         // of a look-up table: the array of the lengths of its lists
  std::optional<bool> delta = {};  // of a look-up table: key_lists.h
  MaskUser user = MaskUser::kConfig;
  std::int64_t max_bytes = kDefaultMaxMemoryBytes;
};

class MaskFile {
 public:
  // Throws the errors of array_file.h and key_lists.h, and kMaskValue when a value is neither 0 nor 1 or the cuts are
  // not cuts.
  MaskFile(std::string path, const MaskReading& reading);
  // An array of 0 and 1.
  explicit MaskFile(std::string path, const std::string& array = {}, MaskUser user = MaskUser::kConfig,
                    std::int64_t max_bytes = kDefaultMaxMemoryBytes)
      : MaskFile(std::move(path), MaskReading{.array = array, .user = user, .max_bytes = max_bytes}) {}

  // 1 when the array lacks the dimension; one entry then serves every denoise step or layer.
  int denoise_steps() const { return static_cast<int>(extent_[0]); }
  int layers() const { return static_cast<int>(extent_[1]); }
  int heads() const { return static_cast<int>(extent_[2]); }
  int q_blocks() const { return static_cast<int>(extent_[3]); }
  int k_blocks() const { return static_cast<int>(extent_[4]); }
  // Empty when the file has none.
  const std::vector<std::int32_t>& block_starts() const { return block_starts_; }

  // The mask of one denoise step and layer with the cuts of the file. Throws Error kMaskShape when the file has none.
  BlockMask mask(int denoise_step, int layer) const;
  // The same with these cuts, which must equal those of the file if it has some. Throws Error kMaskShape when an index
  // is not in the file or the blocks do not fit the cuts. REQUIRES: block_starts valid for BlockMask.
  BlockMask mask(int denoise_step, int layer, const std::vector<std::int32_t>& block_starts) const;
  // Throws Error kMaskShape, naming the file of the cuts, when they are for a sequence of another length.
  void require_tokens(std::int64_t tokens) const;

 private:
  void read_starts_beside(std::int64_t max_bytes);
  std::string starts_note() const;
  std::string size_hint() const;
  std::int64_t entry(int denoise_step, int layer) const;

  std::string path_;
  MaskUser user_;
  Array array_;
  std::array<std::int64_t, 5> extent_;  // denoise steps, layers, heads, q blocks, k blocks
  std::vector<std::int32_t> block_starts_;
  std::string starts_file_;  // that the cuts are from; "": they are in the file itself, or there are none
};

// The file of the cuts of a mask file: "folder/NAME.block_starts.npy" for "folder/NAME.npy".
std::string starts_path_of(const std::string& mask_path);

// Writes mask.npy as --dump and `spscope mask` do: uint8 [heads, blocks, blocks] at `path`, and the cuts as int32 at
// `starts_path` unless that is empty. Coarse blocks: a refinement is not kept.
void write_mask_npy(const BlockMask& mask, const std::string& path, const std::string& starts_path = {});

}  // namespace spscope
