#include "backend/mask/mask_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backend/base/error.h"
#include "backend/base/whole_file.h"
#include "backend/mask/array_parts.h"
#include "backend/mask/key_lists.h"
#include "backend/mask/mask_array.h"
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
Array choose(std::vector<Array>& arrays, const std::string& path, const MaskReading& reading) {
  const std::string& wanted = reading.array;
  const MaskUser user = reading.user;
  std::vector<Array*> candidates;
  for (Array& array : arrays) {
    if (array.name == kStartsName || (reading.lists && array.name == reading.counts)) continue;
    if (array.name == (!wanted.empty() ? wanted : reading.lists ? "lut" : "mask")) return std::move(array);
    candidates.push_back(&array);
  }
  if (wanted.empty() && candidates.size() == 1) return std::move(*candidates[0]);
  if (!wanted.empty()) {
    throw Error(ErrorCode::kMaskFile, fmt::format("{} has no array \"{}\"", place_of(path), wanted),
                fmt::format("it has: {}", names_of(arrays)));
  }
  throw Error(ErrorCode::kMaskFile,
              fmt::format("{} has {} arrays besides block_starts", place_of(path), candidates.size()),
              candidates.empty()         ? "save the mask under the name mask"
              : user == MaskUser::kFlags ? fmt::format("choose one with --array: {}", names_of(arrays))
                                         : fmt::format("name one as mask.array: {}", names_of(arrays)));
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

// The lengths of the lists of a look-up table.
const Array& counts_of(const std::vector<Array>& arrays, const std::string& path, const MaskReading& reading) {
  const auto found = std::ranges::find(arrays, reading.counts, &Array::name);
  if (found != arrays.end()) return *found;
  throw Error(ErrorCode::kMaskFile,
              fmt::format("{} has no array \"{}\", the lengths of the lists", place_of(path), reading.counts),
              std::filesystem::path(path).extension() == ".npy"
                  ? "save both in one file: np.savez(\"lut.npz\", lut=lut, valid_block_num=valid_block_num)"
                  : fmt::format("name it with {}; the file has: {}",
                                reading.user == MaskUser::kFlags ? "--counts" : "mask.counts", names_of(arrays)));
}

// The smallest whole factor by which `count` blocks cover `blocks`; 0 when there is none.
std::int64_t expansion(std::int64_t blocks, std::int64_t count) {
  const std::int64_t factor = (blocks + count - 1) / count;
  return (blocks + factor - 1) / factor == count ? factor : 0;
}

}  // namespace

MaskFile::MaskFile(std::string path, const MaskReading& reading) : path_(std::move(path)), user_(reading.user) {
  const std::int64_t max_bytes = reading.max_bytes;
  std::vector<Array> arrays = read_arrays(path_, {.max_bytes = max_bytes});
  const bool alone = std::filesystem::path(path_).extension() == ".npy";
  if (alone) read_starts_beside(max_bytes);
  for (const Array& candidate : arrays) {
    if (candidate.name == kStartsName && !alone) block_starts_ = checked_starts(candidate, path_);
  }
  if (reading.lists) {
    const Array counts = counts_of(arrays, path_, reading);
    array_ = bits_of_lists(choose(arrays, path_, reading), counts, reading.delta, path_, max_bytes);
  } else {
    array_ = alone ? std::move(arrays[0]) : choose(arrays, path_, reading);
  }
  require_bits(array_, path_);
  extent_ = mask_extents(array_, path_);
}

void MaskFile::read_starts_beside(std::int64_t max_bytes) {
  const std::filesystem::path file(path_), folder = file.parent_path();
  std::vector<std::string> beside = {starts_path_of(path_)};
  if (file.filename() == "mask.npy") beside.push_back((folder / fmt::format("{}.npy", kStartsName)).string());
  for (const std::string& path : beside) {
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown)) continue;
    block_starts_ = checked_starts(read_arrays(path, {.max_bytes = max_bytes})[0], path);
    starts_file_ = path;
    return;
  }
}

// " (from "masks/block_starts.npy")"
std::string MaskFile::starts_note() const {
  return starts_file_.empty() ? "" : fmt::format(" (from {})", place_of(starts_file_));
}

// The hint for sizes that do not fit.
std::string MaskFile::size_hint() const {
  const std::string beside =
      starts_file_.empty() ? "" : fmt::format("; remove {} if it is not of this mask", place_of(starts_file_));
  return (user_ == MaskUser::kFlags ? "give the --tokens and --block of the mask"
                                    : "set model.grid, model.text_tokens and mask.block to those of the file") +
         beside;
}

void MaskFile::require_tokens(std::int64_t tokens) const {
  if (block_starts_.empty() || block_starts_.back() == tokens) return;
  throw Error(ErrorCode::kMaskShape,
              fmt::format("{} is a mask of {} tokens{}, the sequence has {}", place_of(path_, array_.name),
                          block_starts_.back(), starts_note(), tokens),
              size_hint());
}

BlockMask MaskFile::mask(int denoise_step, int layer) const {
  if (block_starts_.empty()) {
    throw Error(ErrorCode::kMaskShape, fmt::format("{} has no block borders", place_of(path_)),
                "add an array block_starts, or give the number of tokens and the block size");
  }
  return mask(denoise_step, layer, block_starts_);
}

// Which of the file's [heads, q, k] is the one of this step and layer.
std::int64_t MaskFile::entry(int denoise_step, int layer) const {
  const int wanted[2] = {denoise_step, layer};
  std::int64_t index = 0;
  for (std::size_t d = 0; d < 2; ++d) {
    const bool shared = extent_[d] == 1;
    if (!shared && (wanted[d] < 0 || wanted[d] >= extent_[d])) {
      const bool flags = user_ == MaskUser::kFlags;
      throw Error(ErrorCode::kMaskShape,
                  fmt::format("{} has {} {}, number {} (from 0) is wanted", place_of(path_, array_.name), extent_[d],
                              d == 0 ? "denoise steps" : "layers", wanted[d]),
                  d == 0  ? flags ? "give a lower --step" : "lower run.denoise_steps"
                  : flags ? "give a lower --layer"
                          : "lower run.layers");
    }
    index = index * extent_[d] + (shared ? 0 : wanted[d]);
  }
  return index;
}

BlockMask MaskFile::mask(int denoise_step, int layer, const std::vector<std::int32_t>& block_starts) const {
  const std::int64_t index = entry(denoise_step, layer);
  if (!block_starts_.empty() && block_starts != block_starts_) {
    throw Error(ErrorCode::kMaskShape,
                fmt::format("the blocks of {} end at {} tokens in {} blocks{}, {} tokens in {} blocks are wanted",
                            place_of(path_, array_.name), block_starts_.back(), block_starts_.size() - 1, starts_note(),
                            block_starts.back(), block_starts.size() - 1),
                size_hint());
  }
  BlockMask result(heads(), block_starts);
  const std::int64_t q_factor = expansion(result.blocks(), extent_[3]),
                     k_factor = expansion(result.blocks(), extent_[4]);
  if (q_factor == 0 || k_factor == 0) {
    throw Error(
        ErrorCode::kMaskShape,
        fmt::format(
            "{} has {} x {} blocks{}, {} has {}", place_of(path_, array_.name), extent_[3], extent_[4],
            starts_file_.empty() ? "" : fmt::format(", and {} cuts {}", place_of(starts_file_), result.blocks()),
            user_ == MaskUser::kFlags ? "the sequence" : "the workload", result.blocks()),
        size_hint());
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

std::string starts_path_of(const std::string& mask_path) {
  const std::filesystem::path path(mask_path);
  return (path.parent_path() / fmt::format("{}.{}.npy", path.stem().string(), kStartsName)).string();
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
