#include "backend/mask/mask_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "backend/base/error.h"
#include "backend/base/result.h"
#include "backend/base/whole_file.h"
#include "backend/mask/array_parts.h"
#include "backend/mask/list_layouts.h"
#include "backend/mask/mask_array.h"
#include "backend/mask/npy_format.h"

namespace spscope {
namespace {

constexpr std::string_view kStartsName = "block_starts", kSizesName = "variable_block_sizes";

std::string names_of(const std::vector<Array>& arrays) {
  std::string names;
  for (const Array& array : arrays) names += fmt::format("{}{}", names.empty() ? "" : ", ", array.name);
  return names;
}

// Takes the wanted array of 0 and 1 out of those of the file.
Array choose(std::vector<Array>& arrays, const std::string& path, const std::string& wanted, MaskUser user) {
  std::vector<Array*> candidates;
  for (Array& array : arrays) {
    if (array.name == kStartsName || array.name == kSizesName) continue;
    if (array.name == (wanted.empty() ? "mask" : wanted)) return std::move(array);
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
  std::vector<std::int64_t> values = to_integers(array, path);
  bool good = array.shape.size() == 1;
  if (array.name == kSizesName) {
    good &= std::ranges::all_of(values, [](std::int64_t size) { return size >= 1 && size <= kMaxBlockTokens; });
    values.insert(values.begin(), 0);
    if (good) std::partial_sum(values.begin(), values.end(), values.begin());
  }
  good &= values.size() >= 2 && values[0] == 0 && values.back() <= INT32_MAX;
  for (std::size_t i = 1; good && i < values.size(); ++i) {
    good = values[i] > values[i - 1] && values[i] - values[i - 1] <= kMaxBlockTokens;
  }
  if (!good) {
    throw Error(
        ErrorCode::kMaskValue, fmt::format("{} are not block borders", place_of(path, array.name)),
        array.name == kSizesName
            ? fmt::format("give the tokens of each block, from 1 to {}", kMaxBlockTokens)
            : fmt::format("give ascending tokens from 0 to the number of tokens, at most {} apart", kMaxBlockTokens));
  }
  return {values.begin(), values.end()};
}

std::int64_t ceiling(std::int64_t all, std::int64_t part) { return (all + part - 1) / part; }

bool holds_lists(std::span<const Array> arrays, const MaskReading& reading) {
  const bool has_mask = reading.array.empty() && std::ranges::find(arrays, "mask", &Array::name) != arrays.end();
  return reading.lists.value_or(!has_mask && holds_known_lists(arrays, reading.array));
}

}  // namespace

std::string kernel_of_mask_file(const std::string& path, const MaskReading& reading) {
  if (std::filesystem::path(path).extension() == ".npy") return "";  // one array is no lists
  const auto arrays = capture([&] { return read_arrays(path, {.names_alone = true}); });
  return arrays && holds_lists(*arrays, reading) ? std::string(kernel_of_lists(*arrays, reading.array)) : "";
}

MaskFile::MaskFile(std::string path, MaskReading reading) : path_(std::move(path)), reading_(std::move(reading)) {
  std::vector<Array> arrays = read_arrays(path_, {.max_bytes = reading_.max_bytes});
  const bool alone = std::filesystem::path(path_).extension() == ".npy";
  if (alone)
    read_starts_beside();
  else
    read_starts_inside(arrays);
  const bool lists = holds_lists(arrays, reading_);
  array_ = lists   ? bits_of(arrays)
           : alone ? std::move(arrays[0])
                   : choose(arrays, path_, reading_.array, reading_.user);
  if (words_.empty()) words_ = array_.name.empty() ? "array" : "array " + array_.name;
  require_bits(array_, path_);
  axes_ = mask_axes(array_, path_, reading_.axes, lists);
  const std::int64_t batch = axes_.of(MaskAxis::kBatch);
  if (reading_.batch >= batch || (batch > 1 && reading_.batch < 0))
    throw Error(ErrorCode::kMaskShape,
                reading_.batch < 0 ? fmt::format("{} has a batch of {}", place_of(path_, array_.name), batch)
                                   : fmt::format("{} was read as {}, which has no entry {} (from 0) of a batch",
                                                 place_of(path_, array_.name), axes_.text, reading_.batch),
                fmt::format("choose an entry with {}, from 0; where the dimensions are others, name them with {}",
                            named("--batch", "mask.batch"),
                            named("--axes, as layers,heads,q,k or batch,heads,q,k",
                                  "mask.axes, as layers,heads,q,k or batch,heads,q,k")));
}

std::string MaskFile::named(std::string_view flag, std::string_view key) const {
  return std::string(reading_.user == MaskUser::kFlags ? flag : key);
}

Array MaskFile::bits_of(const std::vector<Array>& arrays) {
  FoundLists found = find_lists(arrays, {reading_.array, reading_.counts, reading_.starts}, path_,
                                named("name the arrays with --array, --counts and --starts",
                                      "name the arrays as mask.array, mask.counts and mask.starts"));
  if (reading_.delta) found.mask.delta = reading_.delta;
  words_ = std::move(found.words);
  split_heads(found.mask);
  return bits_of_lists(found.mask, key_blocks_of(found.mask), path_, size_hint(), reading_.max_bytes);
}

// One list of rows that are more than the query blocks of the sequence is that of all heads, one after another.
void MaskFile::split_heads(ListedMask& lists) {
  const std::int64_t block = reading_.q_block > 0 ? reading_.q_block : reading_.block;
  const std::int64_t queries = !block_starts_.empty() ? std::ssize(block_starts_) - 1
                               : block > 0            ? ceiling(reading_.tokens, block)
                                                      : 0;
  const std::int64_t rows = lists.rows.back();
  if (lists.rows.size() != 1 || queries == 0 || rows <= queries || rows % queries != 0) return;
  // Blocks that are too short make too few heads of too many blocks, and nobody attends to the later half. Of a few
  // blocks that may be so.
  constexpr std::int64_t kFew = 32;
  const std::int64_t keys = reading_.key_block > 0 ? ceiling(reading_.tokens, reading_.key_block) : queries;
  std::int64_t last = -1;
  for (const KeyLists& part : lists.parts)
    for (std::size_t row = 0; row < part.begin.size(); ++row)
      for (std::int64_t i = 0; i < part.count[row]; ++i)
        last = std::max(last, integer_of(*part.entries, part.begin[row] + i, path_));
  if (!lists.delta.value_or(false) && keys >= kFew && 2 * (last + 1) <= keys)
    throw Error(
        ErrorCode::kMaskShape,
        fmt::format("{} has {} rows, which are {} heads of {} blocks of {} tokens, but lists no key block from {} on",
                    place_of(path_, lists.parts.front().entries->name), rows, rows / queries, queries, block, last + 1),
        fmt::format("give the tokens of the kernel's blocks as {}", named("--block", "mask.block")));
  lists.rows = {rows / queries, queries};
  words_ += fmt::format(", one list of the rows of {} heads", rows / queries);
}

// "with --block 128 it fits; ", of a usual length of blocks; "": none fits.
std::string MaskFile::fitting_block(std::int64_t tokens, std::int64_t blocks) const {
  for (const std::int64_t block : {16, 32, 64, 128, 256, 512})
    if (ceiling(tokens, block) == blocks)
      return fmt::format("with {} it fits; ",
                         named(fmt::format("--block {}", block), fmt::format("--set mask.block={}", block)));
  return "";
}

// How many key blocks there are: by the tokens and the kernel's key block. Kernels that list key blocks take tables of
// any width; a table of distances has a slot for each.
std::int64_t MaskFile::key_blocks_of(const ListedMask& lists) const {
  const std::int64_t tokens = block_starts_.empty() ? reading_.tokens : block_starts_.back();
  const bool table = lists.slots > 0 && lists.delta.value_or(true);
  if (tokens == 0) {
    if (table) return lists.slots;
    if (reading_.q_block > 0 && reading_.key_block > 0)
      return ceiling(lists.rows.back() * reading_.q_block, reading_.key_block);
    // A slot for each query block: as many key blocks, as programs pad their tables.
    if (lists.slots == lists.rows.back()) return lists.slots;
    throw Error(ErrorCode::kMaskShape,
                fmt::format("{} lists key blocks, and nothing says how many there are",
                            place_of(path_, lists.parts.front().entries->name)),
                "give the --tokens of the sequence and the --block of the mask");
  }
  const std::int64_t blocks = reading_.key_block > 0  ? ceiling(tokens, reading_.key_block)
                              : block_starts_.empty() ? ceiling(tokens, reading_.block)
                                                      : std::ssize(block_starts_) - 1;
  if (table && lists.slots != blocks)
    throw Error(ErrorCode::kMaskShape,
                fmt::format("{} has {} slots, and {} tokens have {} key blocks",
                            place_of(path_, lists.parts.front().entries->name), lists.slots, tokens, blocks),
                fmt::format("a table of distances has a slot for each key block: give the {} of the kernel; a table of "
                            "key blocks may have fewer: {}",
                            named("--key-block", "mask.key_block"), named("--delta no", "mask.delta = \"no\"")));
  // Query blocks are longer than those of the mask; key blocks may be, too (FlexAttention), or not (SpargeAttention).
  // They are not where a table has a slot for each block of the mask.
  if (reading_.key_block == 0 && lists.rows.back() != blocks && lists.slots != blocks)
    throw Error(
        ErrorCode::kMaskShape,
        fmt::format("{} has {} query blocks, and {} tokens have {} blocks of {}",
                    place_of(path_, lists.parts.front().entries->name), lists.rows.back(), tokens, blocks,
                    reading_.block),
        fmt::format("{}give the tokens of the kernel's block as {}, or where its query blocks are longer than its key "
                    "blocks those of both, {} and {}",
                    fitting_block(tokens, lists.rows.back()), named("--block", "mask.block"),
                    named("--block", "mask.block"), named("--key-block", "mask.key_block")));
  return blocks;
}

void MaskFile::read_starts_inside(std::span<const Array> arrays) {
  for (const std::string_view name : {kSizesName, kStartsName}) {
    const auto found = std::ranges::find(arrays, name, &Array::name);
    if (found != arrays.end()) block_starts_ = checked_starts(*found, path_);
  }
}

void MaskFile::read_starts_beside() {
  const std::filesystem::path file(path_), folder = file.parent_path();
  std::vector<std::string> beside = {starts_path_of(path_)};
  if (file.filename() == "mask.npy") beside.push_back((folder / fmt::format("{}.npy", kStartsName)).string());
  for (const std::string& path : beside) {
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown)) continue;
    block_starts_ = checked_starts(read_arrays(path, {.max_bytes = reading_.max_bytes})[0], path);
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
  return named("give the --tokens and --block of the mask",
               "set model.grid, model.text_tokens and mask.block to those of the file") +
         beside;
}

void MaskFile::require_tokens(std::int64_t tokens) const {
  if (block_starts_.empty() || block_starts_.back() == tokens) return;
  throw Error(ErrorCode::kMaskShape,
              fmt::format("{} is a mask of {} tokens{}, the sequence has {}", place_of(path_, array_.name),
                          block_starts_.back(), starts_note(), tokens),
              size_hint());
}

// Where the [heads, q, k] of this step and layer begin in the array.
std::int64_t MaskFile::entry(int denoise_step, int layer) const {
  struct Wanted {
    MaskAxis axis;
    int number;
    std::string_view name, hint;
  };
  std::int64_t begin = std::max(reading_.batch, 0) * axes_.step(MaskAxis::kBatch);
  for (const Wanted& w : {Wanted{MaskAxis::kStep, denoise_step, "denoise steps",
                                 reading_.user == MaskUser::kFlags ? "give a lower --step" : "lower run.denoise_steps"},
                          Wanted{MaskAxis::kLayer, layer, "layers",
                                 reading_.user == MaskUser::kFlags ? "give a lower --layer" : "lower run.layers"}}) {
    const std::int64_t extent = axes_.of(w.axis);
    if (extent == 1) continue;
    if (w.number < 0 || w.number >= extent)
      throw Error(ErrorCode::kMaskShape,
                  fmt::format("{} has {} {}, number {} (from 0) is wanted", place_of(path_, array_.name), extent,
                              w.name, w.number),
                  std::string(w.hint));
    begin += w.number * axes_.step(w.axis);
  }
  return begin;
}

// How many blocks of the cuts one of the array's holds, along an axis that has `count`; 0: these do not fit. `tokens`
// of the kernel's block, 0: not known.
std::int64_t MaskFile::factor(std::int64_t count, int tokens, const std::vector<std::int32_t>& starts,
                              std::string_view flag) const {
  const std::int64_t blocks = std::ssize(starts) - 1, fine = starts[1], least = ceiling(blocks, count);
  const auto fits = [&](std::int64_t factor) { return ceiling(blocks, factor) == count; };
  if (tokens > 0) return tokens % fine == 0 && fits(tokens / fine) ? tokens / fine : 0;
  if (!fits(least)) return 0;
  // Most kernels have blocks of twice the length. Where several other factors fit, the reader must say which.
  if (count > 1 && least != 2 && fits(least + 1))
    throw Error(ErrorCode::kMaskShape,
                fmt::format("{} has {} blocks where the sequence has {}, so each may hold {} or {} of them",
                            place_of(path_, array_.name), count, blocks, least, least + 1),
                fmt::format("give the tokens of the kernel's block: {}", flag));
  return least;
}

// The factors along q and k.
std::array<std::int64_t, 2> MaskFile::factors(const std::vector<std::int32_t>& starts) const {
  const std::int64_t q_blocks = axes_.of(MaskAxis::kQ), k_blocks = axes_.of(MaskAxis::kK),
                     blocks = std::ssize(starts) - 1;
  const bool one_length = reading_.q_block == 0 && reading_.key_block == 0;
  const std::array<std::int64_t, 2> both = {
      factor(q_blocks, reading_.q_block, starts, named("--q-block", "mask.q_block")),
      factor(k_blocks, reading_.key_block, starts, named("--key-block", "mask.key_block"))};
  if (both[0] > 0 && both[1] > 0) return both;
  throw Error(ErrorCode::kMaskShape,
              fmt::format("{} has {} x {} blocks{}, {} has {}", place_of(path_, array_.name), q_blocks, k_blocks,
                          starts_file_.empty() ? "" : fmt::format(", and {} cuts {}", place_of(starts_file_), blocks),
                          named("the sequence", "the workload"), blocks),
              one_length && q_blocks != k_blocks
                  ? fmt::format("a mask of one length of blocks has {0} x {0} of them here; where query blocks are of "
                                "another length than key blocks, give {1} and {2}",
                                blocks, named("--q-block", "mask.q_block"), named("--key-block", "mask.key_block"))
                  : size_hint());
}

std::string MaskFile::cut_text(const std::vector<std::int32_t>& block_starts) const {
  const auto [q, k] = factors(block_starts);
  if (q == 1 && k == 1) return "";
  // Of cuts of many sizes only the number of blocks says it.
  const bool even =
      block_starts.size() > 2 && block_starts == BlockMask::uniform_starts(block_starts.back(), block_starts[1]);
  if (!even) return fmt::format("each block cut into {} x {}", q, k);
  const std::int64_t tokens = block_starts[1];
  return fmt::format("blocks of {} x {} tokens cut into {} x {}", q * tokens, k * tokens, tokens, tokens);
}

std::int64_t MaskFile::whole_blocks() const {
  const auto blocks = [&](MaskAxis axis, int tokens) {
    return axes_.of(axis) * (reading_.block > 0 ? std::max(tokens / reading_.block, 1) : 1);
  };
  return std::max(blocks(MaskAxis::kQ, reading_.q_block), blocks(MaskAxis::kK, reading_.key_block));
}

BlockMask MaskFile::mask(int denoise_step, int layer, const std::vector<std::int32_t>& block_starts, int heads) const {
  const std::int64_t begin = entry(denoise_step, layer);
  if (!block_starts_.empty() && block_starts != block_starts_) {
    throw Error(ErrorCode::kMaskShape,
                fmt::format("the blocks of {} end at {} tokens in {} blocks{}, {} tokens in {} blocks are wanted",
                            place_of(path_, array_.name), block_starts_.back(), block_starts_.size() - 1, starts_note(),
                            block_starts.back(), block_starts.size() - 1),
                size_hint());
  }
  BlockMask result(this->heads() == 1 && heads > 0 ? heads : this->heads(), block_starts);
  const auto [q_factor, k_factor] = factors(block_starts);
  const int width = element_bytes(array_.type);
  for (std::int32_t head = 0; head < result.heads(); ++head) {
    const std::int64_t first = begin + (this->heads() == 1 ? 0 : head * axes_.step(MaskAxis::kHead));
    for (std::int32_t q = 0; q < result.blocks(); ++q) {
      const std::int64_t row = first + q / q_factor * axes_.step(MaskAxis::kQ);
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
