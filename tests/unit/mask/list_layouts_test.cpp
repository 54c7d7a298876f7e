// Files in the layouts of kernels against the masks that they were made of.
#include "backend/mask/list_layouts.h"

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/json.h"
#include "backend/base/result.h"
#include "backend/base/rng.h"
#include "backend/mask/mask_import.h"
#include "tests/unit/mask/array_files.h"

namespace spscope {
namespace {

using Ints = std::vector<std::int64_t>;
using ::testing::HasSubstr;

struct Named {
  std::string name;
  Ints shape, values;
};

std::string file_of(const std::vector<Named>& arrays) {
  Json header = Json::object();
  std::string data;
  for (const Named& array : arrays) {
    const std::size_t begin = data.size();
    for (const std::int64_t value : array.values)
      data += testing_files::little_endian(static_cast<std::uint32_t>(value), 4);
    Json shape = Json::array(), offsets = Json::array();
    for (const std::int64_t extent : array.shape) shape.push_back(extent);
    for (const std::size_t offset : {begin, data.size()}) offsets.push_back(static_cast<std::int64_t>(offset));
    header[array.name] = {{"dtype", "I32"}, {"shape", std::move(shape)}, {"data_offsets", std::move(offsets)}};
  }
  return testing_files::safetensors(header.dump(), data);
}

// A mask and its lists. Key blocks of a row stand in any order.
struct Truth {
  Rng rng;
  std::int64_t heads, q, k, tokens, block;
  std::vector<Ints> rows = {};  // by head and query block

  explicit Truth(std::uint64_t seed) : rng(seed) {
    heads = 1 + rng.below(3);
    block = 1 + rng.below(6);
    q = k = 1 + rng.below(9);
    tokens = k * block - rng.below(block);
    const double density = rng.uniform();
    for (std::int64_t row = 0; row < heads * q; ++row) {
      Ints keys;
      for (std::int64_t key = 0; key < k; ++key)
        if (rng.uniform() < density) keys.push_back(key);
      rows.push_back(std::move(keys));
    }
  }
  void shuffle() {
    for (Ints& keys : rows)
      for (std::size_t i = keys.size(); i > 1; --i) std::swap(keys[i - 1], keys[rng.below(static_cast<int>(i))]);
  }
  Ints counts() const {
    Ints all;
    for (const Ints& keys : rows) all.push_back(std::ssize(keys));
    return all;
  }
  Ints starts() const {
    Ints all = {0};
    for (const Ints& keys : rows) all.push_back(all.back() + std::ssize(keys));
    return all;
  }
  Ints entries() const {
    Ints all;
    for (const Ints& keys : rows) all.insert(all.end(), keys.begin(), keys.end());
    return all;
  }
  Truth distances() const {
    Truth result = *this;
    for (Ints& keys : result.rows)
      for (std::size_t i = keys.size(); i-- > 1;) keys[i] -= keys[i - 1];
    return result;
  }
  std::int64_t widest() const { return std::max<std::int64_t>(1, std::ranges::max(counts())); }
  // Slots behind a list hold numbers of no meaning.
  Named table(const std::string& name, std::int64_t slots) {
    Ints all;
    for (const Ints& keys : rows) {
      all.insert(all.end(), keys.begin(), keys.end());
      for (std::int64_t slot = std::ssize(keys); slot < slots; ++slot)
        all.push_back(static_cast<int>(rng.below(99)) - 9);
    }
    return {name, {1, heads, q, slots}, std::move(all)};
  }
  Named lengths(const std::string& name) const { return {name, {1, heads, q}, counts()}; }
  bool equals(const BlockMask& mask) const {
    if (mask.heads() != heads || mask.blocks() != k || mask.tokens() != tokens) return false;
    std::int64_t active = 0;
    for (std::int64_t row = 0; row < heads * q; ++row)
      for (const std::int64_t key : rows[row])
        active += mask.active(static_cast<int>(row / q), static_cast<int>(row % q), static_cast<int>(key));
    std::int64_t all = 0;
    for (int head = 0; head < mask.heads(); ++head)
      for (int i = 0; i < q; ++i)
        for (int j = 0; j < k; ++j) all += mask.active(head, i, j);
    return active == std::ssize(entries()) && all == active;
  }
};

// What a program with this layout would save.
using Layout = std::function<std::vector<Named>(Truth&)>;

void read_exactly(const Layout& layout, const std::optional<bool>& delta = {}) {
  const TemporaryFolder folder;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Truth truth(seed);
    const std::string path = folder.write("m.safetensors", file_of(layout(truth)));
    const MaskFile file(path, {.delta = delta, .tokens = truth.tokens, .block = static_cast<int>(truth.block)});
    ASSERT_TRUE(truth.equals(
        file.mask(0, 0, BlockMask::uniform_starts(static_cast<int>(truth.tokens), static_cast<int>(truth.block)))))
        << seed;
  }
}

// Some blocks of each row are full, and in arrays of their own.
std::vector<Named> with_full(Truth& truth, const char* entries, const char* counts, const char* full_entries,
                             const char* full_counts) {
  truth.shuffle();
  Truth full = truth, partial = truth;
  for (std::size_t row = 0; row < truth.rows.size(); ++row) {
    const auto some = static_cast<std::size_t>(truth.rng.below(static_cast<int>(truth.rows[row].size()) + 1));
    full.rows[row].resize(some);
    partial.rows[row].erase(partial.rows[row].begin(), partial.rows[row].begin() + static_cast<std::ptrdiff_t>(some));
  }
  return {partial.table(entries, truth.rng.uniform() < 0.5 ? truth.k : truth.widest()), partial.lengths(counts),
          full.table(full_entries, truth.widest()), full.lengths(full_counts)};
}

TEST(ListLayouts, WithFullBlocks) {
  read_exactly(
      [](Truth& t) { return with_full(t, "kv_indices", "kv_num_blocks", "full_kv_indices", "full_kv_num_blocks"); });
  read_exactly(
      [](Truth& t) { return with_full(t, "mask_block_idx", "mask_block_cnt", "full_block_idx", "full_block_cnt"); });
}

TEST(ListLayouts, OfFlexAttentionWithoutFullBlocksAndOfTopKAndOfFlatListsWithStartsAndCounts) {
  read_exactly([](Truth& t) -> std::vector<Named> {
    t.shuffle();
    return {t.table("kv_indices", t.widest()), t.lengths("kv_num_blocks")};
  });
  read_exactly([](Truth& t) -> std::vector<Named> {
    t.shuffle();
    return {{"mask_block_idx", {std::ssize(t.entries())}, t.entries()},
            t.lengths("mask_block_cnt"),
            {"mask_block_offset", {std::ssize(t.starts())}, t.starts()}};
  });
}

TEST(ListLayouts, OfSpargeAttention) {
  read_exactly(
      [](Truth& t) -> std::vector<Named> {
        return {t.distances().table("lut", t.k), t.lengths("valid_block_num")};
      },
      true);
}

TEST(ListLayouts, OfCsrWithOneArrayOfEntries) {
  read_exactly([](Truth& t) -> std::vector<Named> {
    Ints pointers;  // [heads, q + 1], counted on from head to head; or one list of the rows of all heads
    const Ints starts = t.starts();
    const Named entries{"indices", {std::ssize(t.entries())}, t.entries()};
    if (t.rng.uniform() < 0.5) return {entries, {"indptr", {std::ssize(starts)}, starts}};
    for (std::int64_t head = 0; head < t.heads; ++head)
      pointers.insert(pointers.end(), starts.begin() + head * t.q, starts.begin() + (head + 1) * t.q + 1);
    return {entries, {"indptr", {t.heads, t.q + 1}, pointers}};
  });
}

TEST(ListLayouts, OfBsrWithEntriesOfEachHead) {
  read_exactly([](Truth& t) -> std::vector<Named> {
    const Ints starts = t.starts();
    Ints pointers, entries;
    std::int64_t width = 1;
    for (std::int64_t head = 0; head < t.heads; ++head)
      width = std::max(width, starts[(head + 1) * t.q] - starts[head * t.q]);
    for (std::int64_t head = 0; head < t.heads; ++head) {
      const std::int64_t first = starts[head * t.q], last = starts[(head + 1) * t.q];
      for (std::int64_t row = 0; row <= t.q; ++row) pointers.push_back(starts[head * t.q + row] - first);
      for (std::int64_t i = 0; i < width; ++i) entries.push_back(first + i < last ? t.entries()[first + i] : -1);
    }
    return {{"col_indices", {t.heads, width}, entries}, {"crow_indices", {t.heads, t.q + 1}, pointers}};
  });
}

// Tiles of many sizes: the cuts come from the file.
TEST(ListLayouts, OfVideoSparseAttention) {
  const TemporaryFolder folder;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Truth t(seed);
    Ints sizes;
    std::vector<std::int32_t> starts = {0};
    for (std::int64_t b = 0; b < t.k; ++b) {
      sizes.push_back(1 + static_cast<int>(t.rng.below(64)));
      starts.push_back(starts.back() + static_cast<std::int32_t>(sizes.back()));
    }
    t.tokens = starts.back();
    const std::string path = folder.write("m.safetensors", file_of({t.table("q2k_block_sparse_index", t.widest()),
                                                                    t.lengths("q2k_block_sparse_num"),
                                                                    {"variable_block_sizes", {t.k}, sizes}}));
    const MaskFile file(path);
    ASSERT_EQ(file.block_starts(), starts);
    ASSERT_TRUE(t.equals(file.mask(0, 0, starts))) << seed;
  }
}

Error refusal(const std::vector<Named>& arrays, MaskReading reading = {}) {
  const TemporaryFolder folder;
  if (reading.block == 0) reading.block = 2;
  auto read = capture([&] { return MaskFile(folder.write("m.safetensors", file_of(arrays)), reading).heads(); });
  return read ? Error(ErrorCode::kInternal, "no error") : read.error();
}

// Small tables without a known name are where both readings are possible: never a wrong mask.
TEST(ListLayouts, NeverGiveAnotherMaskUnasked) {
  int refused = 0, read = 0;
  const TemporaryFolder folder;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Truth t(seed), distances = t.distances();
    for (Truth* lists : {&t, &distances}) {
      const std::string path =
          folder.write("m.safetensors", file_of({lists->table("lut", t.k), t.lengths("valid_block_num")}));
      auto file = capture([&] { return MaskFile(path, {.tokens = t.tokens, .block = static_cast<int>(t.block)}); });
      ++(file ? read : refused);
      if (!file) {
        EXPECT_EQ(file.error().code(), ErrorCode::kMaskValue);
        continue;
      }
      const auto cuts = BlockMask::uniform_starts(static_cast<int>(t.tokens), static_cast<int>(t.block));
      ASSERT_TRUE(t.equals(file->mask(0, 0, cuts)));
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(read, 0);
}

TEST(ListLayouts, RefuseWhatIsNone) {
  const Named counts{"kv_num_blocks", {1, 2}, {2, 1}}, lists{"kv_indices", {1, 2, 2}, {0, 1, 1, 9}};
  const MaskReading four{.tokens = 4};
  EXPECT_EQ(refusal({lists, counts}, four).code(), ErrorCode::kInternal);
  // A key block twice, one that is not there, a list longer than its slots, lengths of another shape, none at all.
  EXPECT_THAT(refusal({{"kv_indices", {1, 2, 2}, {1, 1, 1, 9}}, counts}, four).what(), HasSubstr("key block 1 twice"));
  EXPECT_THAT(refusal({{"kv_indices", {1, 2, 2}, {0, 2, 1, 9}}, counts}, four).what(), HasSubstr("there are 2"));
  EXPECT_EQ(refusal({lists, {"kv_num_blocks", {1, 2}, {3, 1}}}, four).code(), ErrorCode::kMaskValue);
  EXPECT_EQ(refusal({lists, {"kv_num_blocks", {1, 2}, {-1, 1}}}, four).code(), ErrorCode::kMaskValue);
  EXPECT_EQ(refusal({lists, {"kv_num_blocks", {2}, {2, 1}}}, four).code(), ErrorCode::kMaskShape);
  EXPECT_EQ(refusal({lists}, {.lists = true}).code(), ErrorCode::kMaskFile);
  // Query blocks longer than those of the mask: key blocks may be either.
  EXPECT_THAT(refusal({lists, counts}, {.tokens = 8}).hint(), HasSubstr("mask.key_block"));
  EXPECT_EQ(refusal({lists, counts}, {.tokens = 8, .key_block = 4}).code(), ErrorCode::kInternal);
  // Full blocks without their lengths; of other rows; listed as partial ones too.
  EXPECT_EQ(refusal({lists, counts, {"full_kv_indices", {1, 2, 1}, {0, 0}}}, four).code(), ErrorCode::kMaskFile);
  const Named full{"full_kv_indices", {1, 2, 1}, {1, 0}};
  EXPECT_EQ(refusal({lists, counts, full, {"full_kv_num_blocks", {1, 2}, {0, 1}}}, four).code(), ErrorCode::kInternal);
  EXPECT_THAT(refusal({lists, counts, full, {"full_kv_num_blocks", {1, 2}, {1, 1}}}, four).what(), HasSubstr("twice"));
  EXPECT_EQ(
      refusal({lists, counts, {"full_kv_indices", {2, 1}, {1, 0}}, {"full_kv_num_blocks", {2}, {0, 1}}}, four).code(),
      ErrorCode::kMaskShape);
  // A table of distances has a slot for each key block.
  const Named lut{"lut", {1, 2, 2}, {0, 1, 1, 9}}, lengths{"valid_block_num", {1, 2}, {2, 1}};
  EXPECT_THAT(refusal({lut, lengths}, {.delta = true, .tokens = 8, .user = MaskUser::kFlags}).hint(),
              HasSubstr("--key-block"));
  EXPECT_EQ(refusal({lut, lengths}, {.delta = true, .tokens = 8, .key_block = 4}).code(), ErrorCode::kInternal);
  // Prefix sums that say otherwise than the lengths, or end before the entries do.
  const Named flat{"indices", {3}, {0, 1, 1}};
  EXPECT_EQ(refusal({flat, {"indptr", {3}, {0, 2, 3}}}, four).code(), ErrorCode::kInternal);
  // The rows of 4 heads of 16 blocks are not those of 2 heads of 32 half as long.
  Ints keys, begins = {0};
  for (std::int64_t row = 0; row < 64; ++row) keys.push_back(row % 16), begins.push_back(row + 1);
  const std::vector<Named> rows = {{"indices", {64}, keys}, {"indptr", {65}, begins}};
  EXPECT_THAT(refusal(rows, {.tokens = 128, .block = 4}).what(), HasSubstr("2 heads of 32 blocks of 4 tokens"));
  EXPECT_EQ(refusal(rows, {.tokens = 128, .block = 8}).code(), ErrorCode::kInternal);
  // Without tokens nothing says how many key blocks there are, unless a table has a slot for each query block.
  EXPECT_THAT(refusal({flat, {"indptr", {3}, {0, 2, 3}}}, {.user = MaskUser::kFlags}).hint(), HasSubstr("--tokens"));
  EXPECT_EQ(refusal({{"kv_indices", {1, 2, 1}, {0, 1}}, {"kv_num_blocks", {1, 2}, {1, 1}}}).code(),
            ErrorCode::kMaskShape);
  EXPECT_EQ(refusal({lists, counts}).code(), ErrorCode::kInternal);
  for (const Ints& pointers : {Ints{0, 2, 2}, Ints{1, 2, 3}, Ints{0, 4, 3}, Ints{0, -1, 3}})
    EXPECT_EQ(refusal({flat, {"indptr", {3}, pointers}}, four).code(), ErrorCode::kMaskValue);
  EXPECT_EQ(
      refusal(
          {{"mask_block_idx", {3}, {0, 1, 1}}, {"mask_block_cnt", {2}, {1, 2}}, {"mask_block_offset", {3}, {0, 2, 3}}},
          four)
          .code(),
      ErrorCode::kMaskValue);
}

}  // namespace
}  // namespace spscope
