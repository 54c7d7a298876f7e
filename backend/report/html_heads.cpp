// Pictures of masks as PNG data inside the page. A picture has 16 grades of density, of which the lowest is for cells
// without any active block.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/report/cividis.h"
#include "backend/report/format.h"
#include "backend/report/html.h"
#include "backend/report/png.h"

namespace spscope {
namespace {

// Of a cell: 0 where it is empty, through which the page shows; else 1 + its place in kCividis.
std::uint8_t grade(std::uint8_t cell) { return cell == 0 ? 0 : static_cast<std::uint8_t>(1 + (cell - 1) * 15 / 255); }

// The picture of a head's mask.
std::string mask_picture(std::span<const std::uint8_t> cells) {
  std::array<std::uint32_t, kCividis.size() + 1> palette{};  // the first is transparent
  for (std::size_t i = 0; i < kCividis.size(); ++i) palette[i + 1] = kCividis[i] << 8 | 0xff;
  std::vector<std::uint8_t> grades(cells.size());
  std::ranges::transform(cells, grades.begin(), grade);
  return png_of(HeadGrid::kSide, HeadGrid::kSide, grades, palette);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<std::uint8_t>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += i + k <= bytes.size() ? kLetters[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

// `figure` begins the ids of what all heads refer to, `id` those of this one.
std::string head_html(const HeadGrid& grid, const HeadGrid::Head& head, std::size_t number, const std::string& figure,
                      const std::string& id) {
  const std::string density = percent_text(head.density);
  const std::string floor = grid.owned_by.empty() ? "" : fmt::format(" filter=\"url(#{}-floor)\"", figure);
  // The picture is inside of the mask that cuts the areas of owners, so that the page has it once.
  return fmt::format(
      "<li><svg viewBox=\"0 0 64 64\" role=\"img\" aria-label=\"head {}, density {}\"><mask id=\"{}-cut\"><g{}>"
      "<image id=\"{}\" width=\"64\" height=\"64\" href=\"data:image/png;base64,{}\"/></g></mask><use "
      "class=\"plain\" href=\"#{}\"/>{}</svg><span>{} <small>{}</small></span>{}</li>",
      number, density, id, floor, id, base64(mask_picture(head.cells)), id, html_owner_areas(grid, head, figure, id),
      number, density, html_owner_ranks(grid, head));
}

std::string step_html(const HeadGrid& grid, std::size_t number, const std::string& figure) {
  const HeadGrid::Step& step = grid.steps[number];
  std::string text = fmt::format("<div class=\"step\"{} data-label=\"{}\"><p class=\"head\">{}</p><ol class=\"heads\">",
                                 step.chosen ? " data-chosen" : "", html_escaped(step.label), html_escaped(step.label));
  for (std::size_t h = 0; h < step.heads.size(); ++h)
    text += head_html(grid, step.heads[h], h, figure, fmt::format("{}-{}-{}", figure, number, h));
  return text + "</ol></div>\n";
}

}  // namespace

std::string html_heads(const HeadGrid& grid, const std::string& id) {
  std::string text = fmt::format("<figure class=\"masks\"><figcaption>{}</figcaption>", html_escaped(grid.caption));
  text += html_owner_defs(grid, id) + html_owner_choice(grid, id);
  for (std::size_t i = 0; i < grid.steps.size(); ++i) text += step_html(grid, i, id);
  text += "<p class=\"scale\"><span>empty</span><i class=\"empty\"></i><span>sparse</span>";
  for (const std::uint32_t color : kCividis) text += fmt::format("<i style=\"background:#{:06x}\"></i>", color);
  return text + "<span>full</span></p></figure>\n";
}

}  // namespace spscope
