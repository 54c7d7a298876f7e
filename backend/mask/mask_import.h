// Block masks from files, in any format of mask_importers.def: an array of 0 and 1 (mask_axes.h), or lists of key
// blocks as kernels take them (list_layouts.h).
//
// The cuts come from an array `block_starts` in the same file or one of sizes, `variable_block_sizes`, as video sparse
// attention has it, or from a file beside a .npy file, or from the caller. The file beside NAME.npy is
// NAME.block_starts.npy; beside mask.npy it may also be block_starts.npy, which is what --dump writes. A folder may so
// hold masks of different cuts.
//
// Kernels often use query blocks twice as long as key blocks (SpargeAttention: 128 x 64). The coarser axis is expanded
// by a whole factor f: block i of the cuts is block i / f of the array.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/mask/array_file.h"
#include "backend/mask/block_mask.h"
#include "backend/mask/key_lists.h"
#include "backend/mask/mask_axes.h"

namespace spscope {

// The source of the settings, which error hints name: keys of a config, or flags of `spscope mask`.
enum class MaskUser { kConfig, kFlags };

// How a file becomes a mask.
struct MaskReading {
  std::string array = {};  // name; "": "mask", or of lists the layout's, or the only one that can be meant
  // Whether it is lists and not 0 and 1; nullopt: lists where the arrays have the names of a known layout and none is
  // called "mask".
  std::optional<bool> lists = {};
  std::string counts = {},
              starts = {};         // of lists: the arrays of their lengths and of where they begin; "": the layout's
  std::optional<bool> delta = {};  // of lists: ListedMask::delta; nullopt: the layout's
  std::string axes = {};           // mask_axes.h
  int batch = -1;                  // which entry of the batch; -1: the only one
  std::int64_t tokens = 0;         // of the sequence; 0: not known, or by the cuts of the file
  int block = 0;                   // tokens of the blocks of the mask
  int q_block = 0, key_block = 0;  // of the kernel's blocks, multiples of `block`; 0: by the number of blocks
  MaskUser user = MaskUser::kConfig;
  std::int64_t max_bytes = kDefaultMaxMemoryBytes;
};

// The attention kernel whose lists the file holds, as `spscope list gpus` names it: "flex" of FlexAttention's
// BlockMask; "": of an array of 0 and 1, of lists that no kernel of its own takes, and of a file that cannot be read.
// Reads names of arrays alone.
std::string kernel_of_mask_file(const std::string& path, const MaskReading& reading);

class MaskFile {
 public:
  // Throws the errors of array_file.h, list_layouts.h, key_lists.h and mask_axes.h, and kMaskValue when a value is
  // neither 0 nor 1 or the cuts are not cuts.
  explicit MaskFile(std::string path, MaskReading reading = {});

  // 1 when the array lacks the dimension; one entry then serves every denoise step, layer or head.
  int denoise_steps() const { return static_cast<int>(axes_.of(MaskAxis::kStep)); }
  int layers() const { return static_cast<int>(axes_.of(MaskAxis::kLayer)); }
  int heads() const { return static_cast<int>(axes_.of(MaskAxis::kHead)); }
  // Blocks of the mask that the array's blocks are, where none is cut short.
  std::int64_t whole_blocks() const;
  // What was read: "FlexAttention's lists kv_indices and full_kv_indices: batch of 1, 4 heads, 4 x 4 blocks".
  std::string words() const { return words_ + ": " + axes_.text; }
  // MaskAxes::with_batch
  const std::string& axes_with_batch() const { return axes_.with_batch; }
  // Empty when the file has none.
  const std::vector<std::int32_t>& block_starts() const { return block_starts_; }

  // The mask of one denoise step and layer with these cuts, which must equal those of the file if it has some. Throws
  // Error kMaskShape when an index is not in the file, when the blocks do not fit the cuts, or when they fit them in
  // several ways and the reading does not say which. `heads`: of the result where the file has one head; 0: as the
  // file. REQUIRES: block_starts valid for BlockMask.
  BlockMask mask(int denoise_step, int layer, const std::vector<std::int32_t>& block_starts, int heads = 0) const;
  // How its blocks become those of the cuts, where they are more: "blocks of 128 x 64 tokens cut into 64 x 64"; ""
  // where they are the same. Throws as mask() does.
  std::string cut_text(const std::vector<std::int32_t>& block_starts) const;
  // Throws Error kMaskShape, naming the file of the cuts, when they are for a sequence of another length.
  void require_tokens(std::int64_t tokens) const;

 private:
  void read_starts_beside();
  void read_starts_inside(std::span<const Array> arrays);
  Array bits_of(const std::vector<Array>& arrays);
  void split_heads(ListedMask& lists);
  std::int64_t key_blocks_of(const ListedMask& lists) const;
  std::int64_t factor(std::int64_t count, int tokens, const std::vector<std::int32_t>& starts,
                      std::string_view flag) const;
  std::array<std::int64_t, 2> factors(const std::vector<std::int32_t>& starts) const;
  std::string named(std::string_view flag, std::string_view key) const;
  std::string fitting_block(std::int64_t tokens, std::int64_t blocks) const;
  std::string starts_note() const;
  std::string size_hint() const;
  std::int64_t entry(int denoise_step, int layer) const;

  std::string path_;
  MaskReading reading_;
  Array array_;
  MaskAxes axes_;
  std::string words_;
  std::vector<std::int32_t> block_starts_;
  std::string starts_file_;  // that the cuts are from; "": they are in the file itself, or there are none
};

// The file of the cuts of a mask file: "folder/NAME.block_starts.npy" for "folder/NAME.npy".
std::string starts_path_of(const std::string& mask_path);

// Writes mask.npy as --dump and `spscope mask` do: uint8 [heads, blocks, blocks] at `path`, and the cuts as int32 at
// `starts_path` unless that is empty. Coarse blocks: a refinement is not kept.
void write_mask_npy(const BlockMask& mask, const std::string& path, const std::string& starts_path = {});

}  // namespace spscope
