#include "backend/mask/list_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "backend/base/error.h"
#include "backend/mask/array_parts.h"

namespace spscope {
namespace {

struct Layout {
  std::string_view of;  // "FlexAttention's lists"
  std::string_view entries, counts, starts;
  std::optional<bool> delta;
  std::string_view kernel = {};  // kernel_of_lists()
};

// Names as of September 2026: BlockMask of torch.nn.attention.flex_attention; BlockSparseTensors of FlashAttention 4,
// and with offsets MagiAttention's compact form; SpargeAttn; FastVideo's video sparse attention; FlashInfer and scipy;
// torch.sparse_bsr_tensor.
constexpr Layout kLayouts[] = {
    {"FlexAttention's lists", "kv_indices", "kv_num_blocks", "", false, "flex"},
    {"FlashAttention's flat lists", "mask_block_idx", "mask_block_cnt", "mask_block_offset", false},
    {"FlashAttention's lists", "mask_block_idx", "mask_block_cnt", "", false},
    {"SpargeAttention's table", "lut", "valid_block_num", "", std::nullopt, "sparge"},
    {"video sparse attention's lists", "q2k_block_sparse_index", "q2k_block_sparse_num", "", false, "vsa"},
    {"video sparse attention's lists", "q2k_index", "q2k_num", "", false, "vsa"},
    {"CSR lists", "indices", "", "indptr", false},
    {"PyTorch's BSR lists", "col_indices", "", "crow_indices", false},
};

const Array* find(std::span<const Array> arrays, std::string_view name) {
  const auto found = std::ranges::find(arrays, name, &Array::name);
  return name.empty() || found == arrays.end() ? nullptr : &*found;
}

bool is_there(std::span<const Array> arrays, const Layout& layout) {
  return std::ranges::all_of(std::array{layout.entries, layout.counts, layout.starts},
                             [&](std::string_view name) { return name.empty() || find(arrays, name) != nullptr; });
}

// Of entries without their lengths it is the layout as well: who reads them says what is missing.
const Layout* known(std::span<const Array> arrays, const std::string& entries) {
  const auto meant = [&](const Layout& layout) {
    return (entries.empty() || entries == layout.entries) && find(arrays, layout.entries) != nullptr;
  };
  for (const Layout& layout : kLayouts)
    if (meant(layout) && is_there(arrays, layout)) return &layout;
  const auto found = std::ranges::find_if(kLayouts, meant);
  return found == std::end(kLayouts) ? nullptr : &*found;
}

// The array of full blocks beside one of partial ones.
std::string full_name(const std::string& name) {
  if (name.empty()) return {};
  return "full_" + (name.starts_with("mask_") ? name.substr(5) : name);
}

// The lists of one array of entries.
class Part {
 public:
  Part(const Array& entries, const Array* counts, const Array* starts, const std::string& path)
      : path_(path), entries_(entries), num_entries_(entries.num_elements()) {
    lists.entries = &entries;
    if (counts && starts)
      flat(*counts, *starts);
    else if (counts)
      table(*counts);
    else
      csr(*starts);
    for (std::size_t row = 0; row < lists.begin.size(); ++row)
      if (lists.count[row] < 0 || lists.begin[row] + lists.count[row] > num_entries_)
        refuse(ErrorCode::kMaskValue,
               fmt::format("the list of row {} begins at {} and has {} entries, and there are {}", row,
                           lists.begin[row], lists.count[row], num_entries_));
  }

  KeyLists lists;
  std::vector<std::int64_t> rows;
  std::int64_t slots = 0;

 private:
  [[noreturn]] void refuse(ErrorCode code, const std::string& what) const {
    throw Error(code, fmt::format("{}: {}", place_of(path_, entries_.name), what),
                "check that these arrays belong together: entries, their lengths (--counts, mask.counts) and their "
                "beginnings (--starts, mask.starts)");
  }

  // Whole numbers from 0 to `most`.
  std::vector<std::int64_t> places(const Array& array, std::int64_t most) const {
    std::vector<std::int64_t> values = to_integers(array, path_);
    for (const std::int64_t value : values)
      if (value < 0 || value > most)
        refuse(ErrorCode::kMaskValue,
               fmt::format("\"{}\" has the value {}, and there are {} entries", array.name, value, most));
    return values;
  }

  void table(const Array& counts) {
    const std::vector<std::int64_t>& shape = entries_.shape;
    if (shape.size() < 2 || counts.shape.size() + 1 != shape.size() ||
        !std::equal(counts.shape.begin(), counts.shape.end(), shape.begin()))
      refuse(
          ErrorCode::kMaskShape,
          fmt::format("a table [..., heads, q blocks, slots] has lengths [..., heads, q blocks], and the shapes are {} "
                      "and, of \"{}\", {}",
                      shape_text(shape), counts.name, shape_text(counts.shape)));
    rows = counts.shape;
    slots = shape.back();
    lists.count = places(counts, slots);
    for (std::int64_t row = 0; row < std::ssize(lists.count); ++row) lists.begin.push_back(row * slots);
  }

  void flat(const Array& counts, const Array& starts) {
    rows = counts.shape;
    lists.count = places(counts, num_entries_);
    lists.begin = places(starts, num_entries_);
    const bool prefix = lists.begin.size() == lists.count.size() + 1;
    if (rows.empty() || (!prefix && starts.shape != counts.shape))
      refuse(ErrorCode::kMaskShape, fmt::format("\"{}\" has the shape {}, and \"{}\" {}", starts.name,
                                                shape_text(starts.shape), counts.name, shape_text(counts.shape)));
    for (std::size_t row = 0; prefix && row < lists.count.size(); ++row)
      if (lists.begin[row + 1] - lists.begin[row] != lists.count[row])
        refuse(ErrorCode::kMaskValue,
               fmt::format("\"{}\" gives row {} {} entries, and \"{}\" {}", starts.name, row,
                           lists.begin[row + 1] - lists.begin[row], counts.name, lists.count[row]));
    if (prefix) lists.begin.pop_back();
  }

  void csr(const Array& starts) {
    rows = starts.shape;
    if (rows.empty() || rows.back() < 2 || starts.num_elements() == 0)
      refuse(ErrorCode::kMaskShape, fmt::format("\"{}\" has the shape {}; it has one number more than there are query "
                                                "blocks",
                                                starts.name, shape_text(starts.shape)));
    const std::int64_t pointers = rows.back(), masks = starts.num_elements() / pointers;
    --rows.back();
    // Each mask has entries of its own, or one row of them holds all.
    const bool own = entries_.shape.size() > 1;
    if (own && !std::ranges::equal(std::span(entries_.shape).first(entries_.shape.size() - 1),
                                   std::span(starts.shape).first(starts.shape.size() - 1)))
      refuse(ErrorCode::kMaskShape, fmt::format("it has the shape {}, and \"{}\" {}", shape_text(entries_.shape),
                                                starts.name, shape_text(starts.shape)));
    const std::vector<std::int64_t> at = places(starts, own ? entries_.shape.back() : num_entries_);
    for (std::int64_t mask = 0; mask < masks; ++mask) {
      const std::int64_t first = mask * pointers, offset = own ? mask * entries_.shape.back() : 0;
      const std::int64_t wanted = own || mask == 0 ? 0 : at[first - 1];
      if (at[first] != wanted)
        refuse(ErrorCode::kMaskValue,
               fmt::format("\"{}\" begins mask {} at {}, and not at {}", starts.name, mask, at[first], wanted));
      for (std::int64_t row = first; row < first + pointers - 1; ++row) {
        lists.begin.push_back(offset + at[row]);
        lists.count.push_back(at[row + 1] - at[row]);
      }
    }
    if (!own && at.back() != num_entries_)
      refuse(ErrorCode::kMaskValue,
             fmt::format("\"{}\" ends at {} of {} entries", starts.name, at.back(), num_entries_));
  }

  const std::string& path_;
  const Array& entries_;
  const std::int64_t num_entries_;
};

}  // namespace

bool holds_known_lists(std::span<const Array> arrays, const std::string& entries) {
  return known(arrays, entries) != nullptr;
}

std::string_view kernel_of_lists(std::span<const Array> arrays, const std::string& entries) {
  const Layout* layout = known(arrays, entries);
  return layout == nullptr ? "" : layout->kernel;
}

FoundLists find_lists(std::span<const Array> arrays, const ListNames& names, const std::string& path,
                      const std::string& hint) {
  const Layout* layout = known(arrays, names.entries);
  const auto name_of = [&](const std::string& said, std::string_view Layout::*of_layout, std::string_view otherwise) {
    return !said.empty() ? said : std::string(layout ? layout->*of_layout : otherwise);
  };
  const std::string entries = name_of(names.entries, &Layout::entries, "lut"),
                    starts = name_of(names.starts, &Layout::starts, ""),
                    counts = name_of(names.counts, &Layout::counts, starts.empty() ? "valid_block_num" : "");
  const auto wanted = [&](const std::string& name) -> const Array* {
    if (name.empty()) return nullptr;
    if (const Array* found = find(arrays, name)) return found;
    std::string all;
    for (const Array& array : arrays) all += (all.empty() ? "" : ", ") + array.name;
    throw Error(ErrorCode::kMaskFile, fmt::format("{} has no array \"{}\"", place_of(path), name),
                std::filesystem::path(path).extension() == ".npy"
                    ? "save lists and their lengths in one file: np.savez(\"lut.npz\", lut=lut, "
                      "valid_block_num=valid_block_num)"
                    : fmt::format("{}; it has: {}", hint, all));
  };
  const Part partial(*wanted(entries), wanted(counts), wanted(starts), path);
  FoundLists found{.mask = {.rows = partial.rows, .parts = {partial.lists}, .slots = partial.slots},
                   .words = fmt::format("{} {}", layout ? layout->of : "lists", entries)};
  if (layout) found.mask.delta = layout->delta;
  const std::string full[] = {full_name(entries), full_name(counts), full_name(starts)};
  if (std::ranges::none_of(full, [&](const std::string& name) { return find(arrays, name) != nullptr; })) return found;
  const Part more(*wanted(full[0]), wanted(full[1]), wanted(full[2]), path);
  if (more.rows != partial.rows)
    throw Error(ErrorCode::kMaskShape,
                fmt::format("{} has rows {}, and \"{}\" {}", place_of(path, entries), shape_text(partial.rows), full[0],
                            shape_text(more.rows)),
                "check that both are of one mask");
  found.mask.parts.push_back(more.lists);
  found.words += " and " + full[0];
  return found;
}

}  // namespace spscope
