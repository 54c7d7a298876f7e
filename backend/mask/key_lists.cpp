#include "backend/mask/key_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "backend/base/error.h"
#include "backend/mask/array_parts.h"

namespace spscope {
namespace {

// One way to read the lists, and the first row that it cannot be.
struct Reading {
  bool delta;
  std::string fault = {};  // "head 0, query block 3 lists key block 1190 of 1182"; "" when all rows can be read
};

class KeyLists {
 public:
  KeyLists(const Array& lists, const Array& counts, const std::string& path)
      : path_(path), place_(place_of(path, lists.name)), lists_(lists), counts_(counts) {
    const std::vector<std::int64_t>& shape = lists.shape;
    if (shape.size() < 3)
      throw Error(ErrorCode::kMaskShape, fmt::format("{} has the shape {}", place_, shape_text(shape)),
                  "lists of key blocks are [heads, q blocks, slots], with dimensions of layers and steps in front");
    if (!std::equal(shape.begin(), shape.end() - 1, counts.shape.begin(), counts.shape.end()))
      throw Error(ErrorCode::kMaskShape,
                  fmt::format("{} has the shape {}, its lengths {} {}", place_, shape_text(shape),
                              place_of(path, counts.name), shape_text(counts.shape)),
                  "lengths are [..., heads, q blocks] of lists [..., heads, q blocks, slots]");
    slots_ = shape.back();
    seen_.assign(static_cast<std::size_t>(slots_), -1);
  }

  // Sets the bits of all rows; stops at the first row that this reading does not allow.
  void read(Reading& reading, std::vector<std::byte>& bits) {
    std::ranges::fill(bits, std::byte{0});
    std::ranges::fill(seen_, -1);
    for (std::int64_t row = 0; row < counts_.num_elements() && reading.fault.empty(); ++row) {
      const std::int64_t count = integer_of(counts_, row, path_);
      if (count < 0 || count > slots_)
        throw Error(ErrorCode::kMaskValue,
                    fmt::format("{} says {} has {} entries, and there are {} slots", place_of(path_, counts_.name),
                                row_name(row), count, slots_),
                    "name the array of lengths with --counts (mask.counts in a config)");
      reading.fault = read_row(row, count, reading.delta, bits);
    }
  }

 private:
  std::string read_row(std::int64_t row, std::int64_t count, bool delta, std::vector<std::byte>& bits) {
    std::int64_t key = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t entry = integer_of(lists_, row * slots_ + i, path_);
      if (delta && (entry < (i > 0) || entry >= slots_))
        return fmt::format("{} has the distance {}", row_name(row), entry);
      key = delta ? key + entry : entry;
      if (key < 0 || key >= slots_)
        return fmt::format("{} lists key block {}, and there are {}", row_name(row), key, slots_);
      if (std::exchange(seen_[static_cast<std::size_t>(key)], row) == row)
        return fmt::format("{} lists key block {} twice", row_name(row), key);
      bits[static_cast<std::size_t>(row * slots_ + key)] = std::byte{1};
    }
    return {};
  }

  // "head 2, query block 17", with the dimensions in front.
  std::string row_name(std::int64_t row) const {
    const std::int64_t queries = counts_.shape.back(), heads = counts_.shape[counts_.shape.size() - 2];
    const std::int64_t entry = row / queries / heads;
    return fmt::format("{}head {}, query block {}", counts_.shape.size() > 2 ? fmt::format("mask {}, ", entry) : "",
                       row / queries % heads, row % queries);
  }

  const std::string& path_;
  const std::string place_;
  const Array &lists_, &counts_;
  std::int64_t slots_ = 0;
  std::vector<std::int64_t> seen_;  // by key block: the last row that lists it
};

}  // namespace

Array bits_of_lists(const Array& lists, const Array& counts, std::optional<bool> delta, const std::string& path,
                    std::int64_t max_bytes) {
  KeyLists rows(lists, counts, path);
  const std::string place = place_of(path, lists.name);
  Array mask{lists.name, ElementType::kU8, lists.shape, {}};
  const auto size = static_cast<std::size_t>(checked_bytes(place, lists.shape, ElementType::kU8, max_bytes));
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
    throw Error(ErrorCode::kMaskValue,
                delta ? fmt::format("{} does not hold key blocks: {}", place, as_keys.fault)
                      : fmt::format("{} holds neither distances ({}) nor key blocks ({})", place, as_delta.fault,
                                    as_keys.fault),
                delta ? "distances, as in SpargeAttention's lut, are read with --delta yes (mask.delta in a config)"
                      : "check that it is the table of this model and that the array of lengths belongs to it");
  }
  mask.bytes = std::move(of_keys);
  return mask;
}

}  // namespace spscope
