#include "backend/mask/mask_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backend/base/error.h"
#include "backend/base/whole_file.h"
#include "backend/mask/array_parts.h"
#include "backend/mask/npy_format.h"

namespace spscope {
namespace {

constexpr std::string_view kStartsName = "block_starts";

std::string names_of(const std::vector<Array>& arrays) {
  std::string names;
  for (const Array& array : arrays) names += fmt::format("{}{}", names.empty() ? "" : ", ", array.name);
  return names;
}

// Takes the wanted array out of those of the file.
Array choose(std::vector<Array>& arrays, const std::string& wanted, const std::string& path) {
  std::vector<Array*> candidates;
  for (Array& array : arrays) {
    if (array.name == kStartsName) continue;
    if (array.name == (wanted.empty() ? "mask" : wanted)) return std::move(array);
    candidates.push_back(&array);
  }
  if (wanted.empty() && candidates.size() == 1) return std::move(*candidates[0]);
  if (!wanted.empty()) {
    throw Error(ErrorCode::kMaskFile, fmt::format("{} has no array \"{}\"", place_of(path), wanted),
                fmt::format("it has: {}", names_of(arrays)));
  }
  throw Error(
      ErrorCode::kMaskFile, fmt::format("{} has {} arrays besides block_starts", place_of(path), candidates.size()),
      candidates.empty() ? "save the mask under the name mask" : fmt::format("name one of: {}", names_of(arrays)));
}

std::vector<std::int32_t> checked_starts(const Array& array, const std::string& path) {
  const std::vector<std::int64_t> values = to_integers(array, path);
  bool good = array.shape.size() == 1 && values.size() >= 2 && values[0] == 0 && values.back() <= INT32_MAX;
  for (std::size_t i = 1; good && i < values.size(); ++i) {
    good = values[i] > values[i - 1] && values[i] - values[i - 1] <= kMaxBlockTokens;
  }
  if (!good) {
    throw Error(ErrorCode::kMaskValue, fmt::format("{} are not block borders", place_of(path, array.name)),
                fmt::format("give ascending tokens from 0 to the number of tokens, at most {} apart", kMaxBlockTokens));
  }
  return {values.begin(), values.end()};
}

void check_bits(const Array& array, const std::string& path) {
  const std::string place = place_of(path, array.name);
  const bool integer = array.type < ElementType::kF16;
  if (!integer) {
    throw Error(ErrorCode::kMaskDtype,
                fmt::format("{} has the type {}, a mask has bool or an integer type", place, element_name(array.type)),
                "save mask.astype(np.uint8)");
  }
  // Little-endian 0 or 1: the first byte is 0 or 1, the others of an element are 0.
  const int width = element_bytes(array.type);
  for (std::size_t i = 0; i < array.bytes.size(); ++i) {
    if (std::to_integer<unsigned>(array.bytes[i]) <= (i % width == 0 ? 1U : 0U)) continue;
    throw Error(ErrorCode::kMaskValue,
                fmt::format("{} holds something else than 0 and 1 at element {}", place, i / width),
                "save (scores > threshold).astype(np.uint8)");
  }
}

// The smallest whole factor by which `count` blocks cover `blocks`; 0 when there is none.
std::int64_t expansion(std::int64_t blocks, std::int64_t count) {
  const std::int64_t factor = (blocks + count - 1) / count;
  return (blocks + factor - 1) / factor == count ? factor : 0;
}

}  // namespace

MaskFile::MaskFile(std::string path, const std::string& array) : path_(std::move(path)) {
  const std::filesystem::path file(path_);
  std::vector<Array> arrays = read_arrays(path_);
  const bool alone = file.extension() == ".npy";
  if (alone) {
    const std::filesystem::path beside = file.parent_path() / fmt::format("{}.npy", kStartsName);
    if (std::filesystem::exists(beside))
      block_starts_ = checked_starts(read_arrays(beside.string())[0], beside.string());
  }
  for (const Array& candidate : arrays) {
    if (candidate.name == kStartsName && !alone) block_starts_ = checked_starts(candidate, path_);
  }
  array_ = alone ? std::move(arrays[0]) : choose(arrays, array, path_);
  check_bits(array_, path_);
  const std::size_t rank = array_.shape.size();
  if (rank < 3 || rank > 5) {
    throw Error(ErrorCode::kMaskShape,
                fmt::format("{} has the shape {}", place_of(path_, array_.name), shape_text(array_.shape)),
                "a mask is [heads, q, k], [layers, heads, q, k] or [denoise steps, layers, heads, q, k]");
  }
  std::copy(array_.shape.begin(), array_.shape.end(), extent_ + (5 - rank));
  for (std::int64_t extent : extent_) {
    if (extent >= 1 && extent <= INT32_MAX) continue;
    throw Error(ErrorCode::kMaskShape,
                fmt::format("{} has the shape {}", place_of(path_, array_.name), shape_text(array_.shape)),
                "each dimension of a mask is from 1 to 2^31 - 1");
  }
}

BlockMask MaskFile::mask(int denoise_step, int layer) const {
  if (block_starts_.empty()) {
    throw Error(ErrorCode::kMaskShape, fmt::format("{} does not say where its blocks begin", place_of(path_)),
                "add an array block_starts, or give the number of tokens and the block size");
  }
  return mask(denoise_step, layer, block_starts_);
}

BlockMask MaskFile::mask(int denoise_step, int layer, const std::vector<std::int32_t>& block_starts) const {
  const std::string place = place_of(path_, array_.name);
  const int wanted[2] = {denoise_step, layer};
  std::int64_t index = 0;
  for (int d = 0; d < 2; ++d) {
    const bool shared = extent_[d] == 1;
    if (!shared && (wanted[d] < 0 || wanted[d] >= extent_[d])) {
      throw Error(ErrorCode::kMaskShape,
                  fmt::format("{} has {} {}, number {} (from 0) is wanted", place, extent_[d],
                              d == 0 ? "denoise steps" : "layers", wanted[d]),
                  d == 0 ? "lower run.denoise_steps" : "lower run.layers");
    }
    index = index * extent_[d] + (shared ? 0 : wanted[d]);
  }
  if (!block_starts_.empty() && block_starts != block_starts_) {
    throw Error(
        ErrorCode::kMaskShape,
        fmt::format("the blocks of {} end at {} tokens in {} blocks, {} tokens in {} blocks are wanted", place,
                    block_starts_.back(), block_starts_.size() - 1, block_starts.back(), block_starts.size() - 1),
        "set model.grid, model.text_tokens and mask.block to those of the file");
  }
  BlockMask result(heads(), block_starts);
  const std::int64_t q_factor = expansion(result.blocks(), extent_[3]),
                     k_factor = expansion(result.blocks(), extent_[4]);
  if (q_factor == 0 || k_factor == 0) {
    throw Error(
        ErrorCode::kMaskShape,
        fmt::format("{} has {} x {} blocks, the workload has {}", place, extent_[3], extent_[4], result.blocks()),
        "set model.grid, model.text_tokens and mask.block to those of the file");
  }
  const int width = element_bytes(array_.type);
  const std::int64_t first = index * extent_[2] * extent_[3] * extent_[4];
  for (std::int32_t head = 0; head < result.heads(); ++head) {
    for (std::int32_t q = 0; q < result.blocks(); ++q) {
      const std::int64_t row = first + (head * extent_[3] + q / q_factor) * extent_[4];
      const std::span<std::uint64_t> bits = result.mutable_row(head, q);
      for (std::int32_t k = 0; k < result.blocks(); ++k) {
        const auto bit = std::to_integer<std::uint64_t>(array_.bytes[(row + k / k_factor) * width]);
        bits[k / 64] |= bit << (k % 64);
      }
    }
  }
  return result;
}

void write_mask_npy(const BlockMask& mask, const std::string& path, const std::string& starts_path) {
  constexpr std::size_t kWriteBytes = 1 << 20;  // the array is 8 times as large as the bits, so it goes out in pieces
  const std::int64_t blocks = mask.coarse_blocks();
  const std::int64_t shape[] = {mask.heads(), blocks, blocks};
  WholeFile file(path);
  file.write(npy_preamble(ElementType::kU8, shape));
  std::vector<std::byte> bytes;
  for (int head = 0; head < mask.heads(); ++head) {
    for (std::int32_t q = 0; q < blocks; ++q) {
      const std::span<const std::uint64_t> row = mask.row(head, q);
      for (std::int32_t k = 0; k < blocks; ++k) bytes.push_back(static_cast<std::byte>(row[k / 64] >> (k % 64) & 1));
      if (bytes.size() < kWriteBytes) continue;
      file.write(bytes);
      bytes.clear();
    }
  }
  file.write(bytes);
  file.commit();
  if (starts_path.empty()) return;
  const std::int64_t starts_shape[] = {blocks + 1};
  write_npy(starts_path, ElementType::kI32, starts_shape, std::as_bytes(mask.coarse_starts()));
}

}  // namespace spscope
