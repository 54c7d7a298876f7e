#include "backend/store/stored_mask.h"

#include <fmt/format.h>

#include <span>

#include "backend/base/check.h"
#include "backend/store/mask_codec.h"
#include "backend/store/sqlite/value_text.h"
#include "backend/store/sqlite/zstd_blob.h"

namespace spscope {

StoredMaskId store_mask(Database& db, const BlockMask& mask, std::string_view recipe) {
  SPSCOPE_CHECK(!mask.refined());
  const std::vector<std::uint8_t> bits = recipe.empty() ? compress(encode_mask(mask)) : std::vector<std::uint8_t>();
  Statement(db,
            "INSERT INTO mask (hash, recipe, heads, tokens, blocks, density, codec, data) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .run(hash_text(mask.hash()), recipe, mask.heads(), mask.tokens(), mask.blocks(), mask.density(),
           recipe.empty() ? kMaskCodecZstd : kMaskCodecNone, std::span<const std::uint8_t>(bits));
  const StoredMaskId id{db.last_insert_id()};
  store_thumbnails(db, id, mask);
  return id;
}

void store_thumbnails(Database& db, StoredMaskId id, const BlockMask& mask) {
  Statement insert(db, "INSERT INTO mask_thumbnail (mask_id, head, side, cells) VALUES (?, ?, ?, ?)");
  int head = 0;
  for (const DensityThumbnail& picture : make_thumbnails(mask))
    insert.run(id, head++, DensityThumbnail::kSide, std::span<const std::uint8_t>(picture.cells));
}

std::optional<BlockMask> load_mask(Database& db, StoredMaskId id) {
  Statement row(db, "SELECT codec, data, hash FROM mask WHERE mask_id = ?");
  if (!row.bind_all(id).step()) db.throw_damaged("it has no such mask");
  const std::int64_t codec = row.integer(0, kMaskCodecNone, kMaskCodecZstd);
  if (codec == kMaskCodecNone) return std::nullopt;
  std::vector<std::uint8_t> bytes;
  if (codec == kMaskCodecZstd) decompress(row.blob(1), kMaxMaskBytes, "a mask", bytes);
  BlockMask mask = decode_mask(codec == kMaskCodecZstd ? std::span<const std::uint8_t>(bytes) : row.blob(1));
  if (row.text(2) != hash_text(mask.hash())) db.throw_damaged("a mask does not have the hash it was stored under");
  return mask;
}

std::vector<DensityThumbnail> load_thumbnails(Database& db, StoredMaskId id) {
  Statement rows(db,
                 "SELECT head, side, cells, heads FROM mask_thumbnail JOIN mask USING (mask_id) WHERE mask_id = ? "
                 "ORDER BY head");
  constexpr std::size_t kCells = DensityThumbnail::kSide * DensityThumbnail::kSide;
  std::int64_t heads = 0;
  std::vector<DensityThumbnail> pictures;
  for (rows.bind_all(id); rows.step();) {
    heads = rows.integer(3);
    const std::span<const std::uint8_t> cells = rows.blob(2);
    if (rows.integer(0) != std::ssize(pictures) || rows.integer(1) != DensityThumbnail::kSide || cells.size() != kCells)
      db.throw_damaged("a thumbnail has another size");
    pictures.push_back({{cells.begin(), cells.end()}});
  }
  if (!pictures.empty() && std::ssize(pictures) != heads)
    db.throw_damaged(fmt::format("a mask has {} of {} thumbnails", pictures.size(), heads));
  return pictures;
}

}  // namespace spscope
