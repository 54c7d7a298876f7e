#include "gui/views/timeline/strip_picture.h"

#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "backend/record/events.h"
#include "backend/store/pyramid/lod_pyramid.h"
#include "gui/imgui_compat.h"
#include "gui/views/document_view.h"

namespace spscope::gui {
namespace {

// Rows this high, in the design's pixels, have a hair of space between them.
constexpr float kRowWithGap = 7;
// A column is known when pieces cover this share of it: less is a rounding of its borders.
constexpr float kKnown = 0.01F;

// By the number in a byte, which may be that of a later program.
using CategoryParts = std::array<TimePart, 16>;
CategoryParts parts_of(RowOf row) {
  CategoryParts parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = part_of(static_cast<EventCategory>(i), row);
  return parts;
}
const CategoryParts& parts_in(RowOf row) {
  static const CategoryParts kLanes = parts_of(RowOf::kLanes), kTrack = parts_of(RowOf::kTrack);
  return row == RowOf::kLanes ? kLanes : kTrack;
}

// What a bucket gives to a column: its busy time, as fifteenths, times the weight is a share of the column.
struct Share {
  std::size_t piece = 0;
  std::size_t bucket = 0;  // from the first of the piece
  float weight = 0;
};

// The shares of all columns are the same in each row.
struct StripColumns {
  std::vector<Share> shares;
  std::vector<std::size_t> first;  // by column, and one behind the last
  std::vector<float> covered;
};

StripColumns make_columns(const StripScene& scene, double begin_ns, double end_ns, int columns) {
  StripColumns made;
  const double width = (end_ns - begin_ns) / columns, zero = static_cast<double>(scene.zero_ns);
  for (int c = 0; c < columns; ++c) {
    made.first.push_back(made.shares.size());
    const double from = begin_ns + c * width + zero, to = from + width;
    double covered = 0;
    for (std::size_t p = 0; p < scene.pieces.size(); ++p) {
      const StripPiece& piece = scene.pieces[p];
      const double low = std::max(from, static_cast<double>(piece.begin_ns));
      const double high = std::min(to, static_cast<double>(piece.end_ns));
      if (low >= high) continue;
      covered += high - low;
      const auto last = lod_bucket(static_cast<std::int64_t>(std::ceil(high)) - 1, piece.shift);
      for (auto k = lod_bucket(static_cast<std::int64_t>(std::floor(low)), piece.shift); k <= last; ++k) {
        const double inside = std::min(high, static_cast<double>(lod_begin_ns(k + 1, piece.shift))) -
                              std::max(low, static_cast<double>(lod_begin_ns(k, piece.shift)));
        if (inside <= 0 || k < piece.first_bucket) continue;
        made.shares.push_back(
            {p, static_cast<std::size_t>(k - piece.first_bucket), static_cast<float>(inside / width / 15)});
      }
    }
    made.covered.push_back(static_cast<float>(covered / width));
  }
  made.first.push_back(made.shares.size());
  return made;
}

PixelCell fold_cell(std::span<const Share> shares, const std::vector<std::span<const std::uint8_t>>& rows,
                    const CategoryParts& parts) {
  const auto byte_of = [&](const Share& share) -> std::uint8_t {
    const std::span<const std::uint8_t> row = rows[share.piece];
    return share.bucket < row.size() ? row[share.bucket] : 0;
  };
  if (shares.empty()) return {};
  const std::uint8_t first = byte_of(shares.front());
  const TimePart part = parts[first >> 4];
  float busy = static_cast<float>(first & 15) * shares.front().weight;
  // Most pixels lie in one bucket, or in buckets of one part.
  std::size_t same = 1;
  for (; same < shares.size(); ++same) {
    const std::uint8_t byte = byte_of(shares[same]);
    if ((byte & 15) != 0 && parts[byte >> 4] != part) break;
    busy += static_cast<float>(byte & 15) * shares[same].weight;
  }
  if (same == shares.size()) return {part, std::min(busy, 1.F)};
  std::array<float, kNumTimeParts> sums{};
  sums[static_cast<std::size_t>(part)] = busy;
  for (; same < shares.size(); ++same) {
    const std::uint8_t byte = byte_of(shares[same]);
    const float time = static_cast<float>(byte & 15) * shares[same].weight;
    sums[static_cast<std::size_t>(parts[byte >> 4])] += time;
    busy += time;
  }
  if (busy <= 0) return {};
  const auto most = std::ranges::max_element(sums) - sums.begin();
  return {static_cast<TimePart>(most), std::min(busy, 1.F)};
}

// Colours by part and by busy time in 255ths. Waits are hollow: that for a late peer is dotted, of three columns one is
// full and two are light; of what is queued all are light.
using Colors = std::array<std::array<std::uint32_t, 256>, kNumTimeParts>;
struct Palette {
  Colors full, light;
};
Palette make_palette(const Theme& theme) {
  Palette palette;
  const Rgb under = theme.color(Token::kSurface);
  for (std::size_t part = 0; part < kNumTimeParts; ++part)
    for (int busy = 0; busy < 256; ++busy) {
      // A little work in a pixel must not look like none.
      const float share = busy == 0 ? 0 : 0.3F + 0.7F * static_cast<float>(busy) / 255;
      const Rgb color = theme.color(part_token(part));
      const auto b = static_cast<std::size_t>(busy);
      const std::uint32_t full = Ui::color(mixed(color, under, share)),
                          light = Ui::color(mixed(color, under, share * 0.4F));
      palette.full[part][b] = static_cast<TimePart>(part) == TimePart::kQueued ? light : full;
      palette.light[part][b] = is_wait(static_cast<TimePart>(part)) ? light : full;
    }
  return palette;
}

// From a column that is known to the end of those beside it, and so on: first and behind the last.
template <typename Known>
std::vector<std::pair<std::size_t, std::size_t>> runs_of(std::size_t columns, const Known& known) {
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for (std::size_t c = 0; c < columns; ++c) {
    if (!known(c)) continue;
    if (runs.empty() || runs.back().second != c) runs.emplace_back(c, c);
    ++runs.back().second;
  }
  return runs;
}

}  // namespace

TimePart part_of_strip(std::uint8_t byte, RowOf row) { return parts_in(row)[byte >> 4]; }

void fold_strips(const StripScene& scene, double begin_ns, double end_ns, int columns, StripPixels& pixels) {
  StripColumns made = make_columns(scene, begin_ns, end_ns, columns);
  const auto width = static_cast<std::size_t>(columns);
  pixels.cells.resize(scene.rows.size() * width);
  std::vector<std::span<const std::uint8_t>> rows(scene.pieces.size());
  const std::span<const Share> shares(made.shares);
  PixelCell* cell = pixels.cells.data();
  for (const StripRow& row : scene.rows) {
    const CategoryParts& parts = parts_in(row.of);
    for (std::size_t p = 0; p < rows.size(); ++p) {
      const auto& known = scene.pieces[p].rows;
      rows[p] = static_cast<std::size_t>(row.strip) < known.size() ? known[static_cast<std::size_t>(row.strip)]
                                                                   : std::span<const std::uint8_t>();
    }
    for (std::size_t c = 0; c < width; ++c)
      *cell++ = fold_cell(shares.subspan(made.first[c], made.first[c + 1] - made.first[c]), rows, parts);
  }
  pixels.covered = std::move(made.covered);
}

void StripPicture::draw(Ui& ui, const Rect& rect, const StripScene& scene, const TimeAxis& axis) {
  const int columns = std::max(1, static_cast<int>(std::lround(rect.width())));
  if (scene.rows.empty() || rect.height() <= 0) return;
  fold_strips(scene, axis.begin_ns(), axis.end_ns(), columns, pixels_);
  paint(ui, rect, static_cast<int>(scene.rows.size()), scene.rows);
}

void StripPicture::draw(Ui& ui, const Rect& rect, int rows) { paint(ui, rect, rows, {}); }

void StripPicture::paint(Ui& ui, const Rect& rect, int rows, std::span<const StripRow> same) {
  const StripPixels& pixels = pixels_;
  const std::size_t columns = pixels.covered.size();
  const Palette palette = make_palette(ui.theme());
  const auto dot = static_cast<std::size_t>(std::max(3L, std::lround(ui.px(3))));
  texels_.resize(pixels.cells.size());
  std::vector<const Colors*> colors_of(columns);  // what is not known is see-through
  for (std::size_t c = 0; c < columns; ++c)
    colors_of[c] = pixels.covered[c] < kKnown ? nullptr : c % dot == 0 ? &palette.full : &palette.light;
  for (std::size_t i = 0, c = 0; i < texels_.size(); ++i, c = c + 1 == columns ? 0 : c + 1) {
    const PixelCell& cell = pixels.cells[i];
    const auto busy = static_cast<std::size_t>(cell.busy * 255 + 0.5F);
    texels_[i] = colors_of[c] != nullptr ? (*colors_of[c])[static_cast<std::size_t>(cell.part)][busy] : 0;
  }
  texture_.set(static_cast<int>(columns), rows, texels_);
  ImDrawList& list = ui.draw_list();
  begin_opaque(list);
  for (const auto& [from, to] : runs_of(columns, [&](std::size_t c) { return colors_of[c] != nullptr; })) {
    const float first = static_cast<float>(from) / static_cast<float>(columns);
    const float last = static_cast<float>(to) / static_cast<float>(columns);
    list.AddImage(texture_id(texture_.name()), {rect.left + first * rect.width(), rect.top},
                  {rect.left + last * rect.width(), rect.bottom}, {first, 0}, {last, 1});
  }
  end_opaque(list);
  const float height = rect.height() / static_cast<float>(rows);
  for (int row = 1; row <= rows && height >= ui.px(kRowWithGap); ++row) {
    const auto next = static_cast<std::size_t>(row);
    if (next < same.size() && same[next] == same[next - 1]) continue;
    const float foot = rect.top + static_cast<float>(row) * height;
    ui.fill({rect.left, foot - 1, rect.right, foot + 1}, ui.color(Token::kSurface));
  }
}

}  // namespace spscope::gui
