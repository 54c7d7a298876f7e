#include "backend/store/check_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <vector>

#include "backend/base/check.h"
#include "backend/base/result.h"
#include "backend/store/mask_codec.h"
#include "backend/store/pyramid/lod_codec.h"
#include "backend/store/sqlite/table_rows.h"
#include "backend/store/stored_mask.h"
#include "backend/store/stored_plan.h"

namespace spscope {

namespace {

[[noreturn]] void corrupt(const std::string& why) { throw Error(ErrorCode::kStoreCorrupt, why); }

// The pictures of one mask after the other. What is rounded may differ by one where another compiler made the file.
class Thumbnails {
 public:
  explicit Thumbnails(Database& db) : db_(db) {}

  void check(const Statement& row) {
    const StoredMaskId mask{row.integer(0)};
    const std::span<const std::uint8_t> cells = row.blob(3);
    if (mask != mask_) begin(mask);
    if (row.integer(2) != DensityThumbnail::kSide || cells.size() != kCells) corrupt("it has another size");
    if (!wanted_) return;
    const int head = row.count(1);
    if (head >= std::ssize(*wanted_)) corrupt("its mask has no such head");
    const std::vector<std::uint8_t>& wanted = (*wanted_)[static_cast<std::size_t>(head)].cells;
    if (!std::ranges::equal(cells, wanted, [](int a, int b) { return std::abs(a - b) <= 1; }))
      corrupt("it does not show the bits of its mask");
  }

 private:
  static constexpr std::size_t kCells = DensityThumbnail::kSide * DensityThumbnail::kSide;

  void begin(StoredMaskId mask) {
    mask_ = mask;
    wanted_.reset();
    const auto bits = capture([&] { return load_mask(db_, mask); });
    if (bits && *bits) wanted_ = make_thumbnails(**bits);
    check_together(mask);
  }

  // What is to be said of all pictures of a mask. Where it has no bits their sum is compared with its density: each
  // cell is off by at most half a step of 255.
  void check_together(StoredMaskId mask) {
    Statement rows(db_, "SELECT cells, heads, density FROM mask_thumbnail JOIN mask USING (mask_id) WHERE mask_id = ?");
    std::int64_t pictures = 0, heads = 0;
    double sum = 0, density = 0;
    for (rows.bind_all(mask); rows.step(); ++pictures) {
      for (const std::uint8_t cell : rows.blob(0)) sum += cell;
      heads = rows.integer(1);
      density = rows.real(2);
    }
    if (pictures != heads) corrupt(fmt::format("its mask has {} of {} pictures", pictures, heads));
    const double shown =
        sum / (255.0 * static_cast<double>(kCells) * static_cast<double>(std::max<std::int64_t>(heads, 1)));
    if (!wanted_ && std::abs(shown - density) > 0.51 / 255)
      corrupt(fmt::format("the pictures of its mask show a density of {:.4f}, not {:.4f}", shown, density));
  }

  Database& db_;
  StoredMaskId mask_{-1};
  std::optional<std::vector<DensityThumbnail>> wanted_;  // absent: the bits are not in the file, or damaged
};

// `check` gets `columns`, behind which those of the key follow.
struct Checker {
  std::vector<std::string_view> keys;
  std::string columns;
  std::function<void(const Statement&)> check;
};

Checker checker_of(Database& db, std::string_view table) {
  if (table == "plan")
    return {{"plan_id"}, "plan_id", [&db](const Statement& row) { load_plan(db, PlanId{row.integer(0)}); }};
  if (table == "mask")
    return {{"mask_id"}, "mask_id", [&db](const Statement& row) { load_mask(db, StoredMaskId{row.integer(0)}); }};
  if (table == "mask_thumbnail")
    return {{"mask_id", "head"},
            "mask_id, head, side, cells",
            [pictures = Thumbnails(db)](const Statement& row) mutable { pictures.check(row); }};
  const auto shift_of = [](const Statement& row) { return static_cast<int>(row.integer(1, 0, kMaxLodShift)); };
  if (table == "lod_level")
    return {{"pyramid_id", "shift", "first_bucket"},
            "pyramid_id, shift, first_bucket, num_buckets, data",
            [shift_of](const Statement& row) {
              decode_level_block(shift_of(row), row.integer(2), row.integer(3), row.blob(4));
            }};
  SPSCOPE_CHECK(table == "lod_strip");
  return {{"pyramid_id", "shift", "first_bucket"},
          "pyramid_id, shift, first_bucket, num_buckets, data",
          [](const Statement& row) { decode_strip_block(row.integer(3), row.blob(4)); }};
}

}  // namespace

std::span<const std::string_view> checked_tables() {
  static constexpr std::string_view kTables[] = {"plan", "mask", "mask_thumbnail", "lod_level", "lod_strip"};
  return kTables;
}

std::int64_t check_rows(Database& db, std::string_view table, const OnBadRow& on_bad) {
  const Checker checker = checker_of(db, table);
  Statement rows(db, fmt::format("SELECT {}, {} FROM main.{}", checker.columns, fmt::join(checker.keys, ", "), table));
  const int key_at = rows.num_columns() - static_cast<int>(checker.keys.size());
  std::int64_t count = 0;
  for (; rows.step(); ++count) {
    const auto sound = capture([&] { return checker.check(rows), true; });
    if (sound) continue;
    require_damage(sound.error());
    std::string name(table);
    for (std::size_t i = 0; i < checker.keys.size(); ++i)
      name += fmt::format(" {} {}", checker.keys[i], rows.integer(key_at + static_cast<int>(i)));
    on_bad({std::move(name), rows.integer(key_at), sound.error()});
  }
  return count;
}

void require_sound_rows(Database& db, std::span<const std::string_view> tables) {
  std::optional<BadRow> first;
  std::int64_t bad = 0;
  for (const std::string_view table : tables)
    check_rows(db, table, [&](const BadRow& row) {
      if (bad++ == 0) first = row;
    });
  if (first)
    throw Error(ErrorCode::kStoreCorrupt,
                fmt::format("cannot read \"{}\": {} damaged row{}, the first of them {}: {}", db.path(), bad,
                            bad == 1 ? "" : "s", first->name, first->error.what()),
                fmt::format("spscope recover \"{}\" -o FILE.db keeps what can be read", db.path()));
}

}  // namespace spscope
