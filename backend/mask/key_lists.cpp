#include "backend/mask/key_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/base/error.h"
#include "backend/mask/array_parts.h"

namespace spscope {
namespace {

// One way to read the lists, and the first row that it cannot be.
struct Reading {
  bool delta;
  std::string fault = {};  // "head 0, query block 3 lists key block 1190 of 1182"; "" when all rows can be read
};

class Rows {
 public:
  Rows(const ListedMask& lists, std::int64_t key_blocks, const std::string& path)
      : lists_(lists), path_(path), key_blocks_(key_blocks), seen_(static_cast<std::size_t>(key_blocks), -1) {}

  // Sets the bits of all rows; stops at the first row that this reading does not allow.
  void read(Reading& reading, std::vector<std::byte>& bits) {
    std::ranges::fill(bits, std::byte{0});
    std::ranges::fill(seen_, -1);
    const auto rows = static_cast<std::int64_t>(lists_.parts.front().begin.size());
    for (std::int64_t row = 0; row < rows; ++row)
      for (const KeyLists& part : lists_.parts) {
        reading.fault = read_row(part, row, reading.delta, bits);
        if (!reading.fault.empty() && lists_.parts.size() > 1)
          reading.fault = fmt::format("{} of \"{}\", whose lists are joined with another array's", reading.fault,
                                      part.entries->name);
        if (!reading.fault.empty()) return;
      }
  }

 private:
  std::string read_row(const KeyLists& part, std::int64_t row, bool delta, std::vector<std::byte>& bits) {
    const std::int64_t begin = part.begin[row], count = part.count[row];
    std::int64_t key = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t entry = integer_of(*part.entries, begin + i, path_);
      if (delta && (entry < (i > 0) || entry >= key_blocks_))
        return fmt::format("{} has the distance {}", row_name(row), entry);
      key = delta ? key + entry : entry;
      if (key < 0 || key >= key_blocks_)
        return fmt::format("{} lists key block {} (from 0), and there are {}", row_name(row), key, key_blocks_);
      if (std::exchange(seen_[static_cast<std::size_t>(key)], row) == row)
        return fmt::format("{} lists key block {} twice", row_name(row), key);
      bits[static_cast<std::size_t>(row * key_blocks_ + key)] = std::byte{1};
    }
    return {};
  }

  // "head 2, query block 17", with the dimensions in front.
  std::string row_name(std::int64_t row) const {
    const std::size_t dimensions = lists_.rows.size();
    const std::int64_t queries = lists_.rows.back(), heads = dimensions > 1 ? lists_.rows[dimensions - 2] : 1;
    return fmt::format("{}head {}, query block {}",
                       dimensions > 2 ? fmt::format("mask {}, ", row / queries / heads) : "", row / queries % heads,
                       row % queries);
  }

  const ListedMask& lists_;
  const std::string& path_;
  const std::int64_t key_blocks_;
  std::vector<std::int64_t> seen_;  // by key block: the last row that lists it
};

}  // namespace

Array bits_of_lists(const ListedMask& lists, std::int64_t key_blocks, const std::string& path, const std::string& hint,
                    std::int64_t max_bytes) {
  const std::string& name = lists.parts.front().entries->name;
  const std::string place = place_of(path, name);
  Array mask{name, ElementType::kU8, lists.rows, {}};
  mask.shape.push_back(key_blocks);
  const auto size = static_cast<std::size_t>(checked_bytes(place, mask.shape, ElementType::kU8, max_bytes));
  Rows rows(lists, key_blocks, path);
  const std::optional<bool> delta = lists.delta;
  Reading as_delta{true}, as_keys{false};
  if (delta.value_or(true)) {
    mask.bytes.resize(size);
    rows.read(as_delta, mask.bytes);
    if (delta && !as_delta.fault.empty())
      throw Error(ErrorCode::kMaskValue, fmt::format("{} does not hold distances: {}", place, as_delta.fault),
                  "lists of key blocks themselves are read with --delta no (mask.delta in a config)");
    if (delta) return mask;
  }
  std::vector<std::byte> of_keys(size);
  rows.read(as_keys, of_keys);
  if (as_keys.fault.empty() && as_delta.fault.empty() && !delta) {
    if (of_keys == mask.bytes) return mask;
    throw Error(ErrorCode::kMaskValue, fmt::format("{} can hold distances and key blocks alike", place),
                "say which: --delta yes for SpargeAttention's lut, --delta no for lists of key blocks (mask.delta in a "
                "config)");
  }
  if (!as_keys.fault.empty()) {
    if (!delta && as_delta.fault.empty()) return mask;
    throw Error(
        ErrorCode::kMaskValue,
        delta
            ? fmt::format("{} does not hold key blocks: {}", place, as_keys.fault)
            : fmt::format("{} holds neither distances ({}) nor key blocks ({})", place, as_delta.fault, as_keys.fault),
        delta ? hint + "; distances, as in SpargeAttention's lut, are read with --delta yes (mask.delta in a config)"
              : "check that it is the table of this model and that the array of lengths belongs to it");
  }
  mask.bytes = std::move(of_keys);
  return mask;
}

}  // namespace spscope
