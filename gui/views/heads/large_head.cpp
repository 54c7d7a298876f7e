// The texels of one head: off the thread that draws, since there are more than a million of them.
#include <algorithm>
#include <cmath>

#include "gui/views/heads/heads_data.h"

namespace spscope::gui {
namespace {

// Colours of owned tiles by op, made once and not once a tile.
std::vector<Rgb> colors_of_ops(const Plan& plan, const HeadColors& colors) {
  double last_step = 1;  // of a ring
  for (const Post& post : plan.posts) last_step = std::max(last_step, static_cast<double>(post.ring_step));
  std::vector<Rgb> list;
  list.reserve(plan.ops.size());
  for (const Op& op : plan.ops)
    list.push_back(colors.by_ring_step ? density_color(plan.post_of(op).ring_step / last_step) : rank_color(op.rank));
  return list;
}

// Where both are active, where one is, and where neither is.
void color_difference(const BlockMask& mask, const BlockMask& other, int head, Appearance appearance,
                      LargeHead& large) {
  const Rgb empty = token_color(Token::kEmpty, appearance);
  const std::uint32_t more = texel(token_color(Token::kWire, appearance)),
                      less = texel(token_color(Token::kLate, appearance)),
                      both = texel(blended(token_color(Token::kMuted, appearance), empty, 0.4));
  std::size_t i = 0;
  for (std::int32_t q = 0; q < large.blocks; ++q)
    for (std::int32_t k = 0; k < large.blocks; ++k, ++i) {
      const bool on = mask.active(head, q, k), was = other.active(head, q, k);
      if (on || was) large.tiles[i] = on && was ? both : on ? more : less;
    }
}

void color_tiles(const BlockMask& mask, int head, const HeadColors& colors, LargeHead& large) {
  const std::uint32_t active = texel(token_color(Token::kAccent, colors.appearance)),
                      redundant = texel(token_color(Token::kRedundant, colors.appearance));
  const Rgb surface = token_color(Token::kSurface, colors.appearance);
  const OwnedHead* owned = colors.owners && large.owned ? &*large.owned : nullptr;
  const std::vector<Rgb> of_ops = owned != nullptr ? colors_of_ops(*owned->plan, colors) : std::vector<Rgb>();
  std::size_t i = 0;
  for (std::int32_t q = 0; q < large.blocks; ++q)
    for (std::int32_t k = 0; k < large.blocks; ++k, ++i) {
      if (!mask.active(head, q, k)) continue;
      const OpId op = owned != nullptr ? owned->owners.op[i] : kNone;
      const int marks = owned != nullptr ? owned->owners.marks[i] : 0;
      large.tiles[i] = active;
      if (op != kNone) {
        const Rgb color = of_ops[static_cast<std::size_t>(op)];
        large.tiles[i] = texel((marks & HeadOwners::kMoved) != 0 ? blended(color, surface, 0.6) : color);
      }
      if ((marks & HeadOwners::kRedundant) != 0) large.tiles[i] = redundant;
    }
}

void draw_bars(Appearance appearance, LargeHead& large) {
  const std::uint32_t ink = texel(token_color(Token::kMuted, appearance));
  const auto blocks = static_cast<std::size_t>(large.blocks);
  large.row_bars.assign(blocks * LargeHead::kBar, 0);
  large.column_bars.assign(blocks * LargeHead::kBar, 0);
  // What has any tile shows.
  const auto length = [&](std::int32_t load) {
    return static_cast<std::size_t>((std::int64_t{load} * LargeHead::kBar + large.blocks - 1) / large.blocks);
  };
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t x = 0; x < length(large.loads.rows[b]); ++x) large.row_bars[b * LargeHead::kBar + x] = ink;
    for (std::size_t y = 0; y < length(large.loads.columns[b]); ++y) large.column_bars[y * blocks + b] = ink;
  }
}

}  // namespace

std::uint32_t texel(Rgb c) { return 0xff000000u | (c & 0xff) << 16 | (c & 0xff00) | (c >> 16 & 0xff); }

Rgb blended(Rgb over, Rgb under, double share) {
  Rgb out = 0;
  for (const int shift : {16, 8, 0}) {
    const double a = over >> shift & 0xff, b = under >> shift & 0xff;
    out |= static_cast<Rgb>(std::lround(b + (a - b) * share)) << shift;
  }
  return out;
}

LargeHead large_head(std::shared_ptr<const Plan> plan, AttendedAxis axis, const BlockMask& mask, const BlockMask* other,
                     int head, const HeadColors& colors) {
  LargeHead large;
  large.blocks = mask.coarse_blocks();
  if (plan) large.owned = own_head(std::move(plan), axis, mask, head);
  large.loads = head_loads(mask, head);
  large.tiles.assign(static_cast<std::size_t>(large.blocks) * static_cast<std::size_t>(large.blocks),
                     texel(token_color(Token::kEmpty, colors.appearance)));
  if (other != nullptr && other->coarse_blocks() == large.blocks && head < other->heads()) {
    color_difference(mask, *other, head, colors.appearance, large);
  } else {
    color_tiles(mask, head, colors, large);
  }
  draw_bars(colors.appearance, large);
  return large;
}

}  // namespace spscope::gui
