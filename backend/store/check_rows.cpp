#include "backend/store/check_rows.h"

#include <fmt/format.h>

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

[[noreturn]] void corrupt_rows(const std::string& why) { throw Error(ErrorCode::kStoreCorrupt, why); }

// A picture has no checksum of its own, and nothing but its size to go by.
void check_thumbnail(const Statement& row) {
  constexpr std::int64_t kCells = DensityThumbnail::kSide * DensityThumbnail::kSide;
  if (row.integer(0) != DensityThumbnail::kSide || std::ssize(row.blob(1)) != kCells)
    corrupt_rows("it has another size");
  if (row.integer(2) != row.integer(3))
    corrupt_rows(fmt::format("its mask has {} of {} pictures", row.integer(2), row.integer(3)));
}

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
            "side, cells, (SELECT count(*) FROM main.mask_thumbnail t WHERE t.mask_id = mask_thumbnail.mask_id), "
            "ifnull((SELECT heads FROM main.mask m WHERE m.mask_id = mask_thumbnail.mask_id), 0)",
            check_thumbnail};
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
    const std::optional<Error> fault = failure_of([&] { checker.check(rows); });
    if (!fault) continue;
    require_damage(*fault);
    std::string name(table);
    for (std::size_t i = 0; i < checker.keys.size(); ++i)
      name += fmt::format(" {} {}", checker.keys[i], rows.integer(key_at + static_cast<int>(i)));
    on_bad({std::move(name), rows.integer(key_at), *fault});
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
