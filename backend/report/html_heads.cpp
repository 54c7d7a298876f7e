// Pictures of masks as PNG data inside the page. A picture has 16 grades of density, of which the lowest is for cells
// without any active block; pixels are not compressed, since two of them share a byte and no library is needed
// (PNG specification, third edition: colour type 3, bit depth 4; deflate in stored blocks, RFC 1951 3.2.4).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "backend/report/cividis.h"
#include "backend/report/format.h"
#include "backend/report/html.h"

namespace spscope {
namespace {

// Of a cell: 0 where it is empty, through which the page shows; else 1 + its place in kCividis.
std::uint8_t grade(std::uint8_t cell) { return cell == 0 ? 0 : static_cast<std::uint8_t>(1 + (cell - 1) * 15 / 255); }

void add_be32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

std::uint32_t adler32(std::string_view bytes) {
  std::uint32_t a = 1, b = 0;
  for (const char c : bytes) a = (a + static_cast<std::uint8_t>(c)) % 65521, b = (b + a) % 65521;
  return b << 16 | a;
}

std::string chunk(std::string_view type, std::string_view data) {
  std::string out;
  add_be32(out, static_cast<std::uint32_t>(data.size()));
  const std::string body = std::string(type) + std::string(data);
  out += body;
  add_be32(out, crc32(body));
  return out;
}

std::string png(std::span<const std::uint8_t> cells) {
  constexpr int kSide = HeadGrid::kSide;
  std::string header, palette, rows;
  add_be32(header, kSide), add_be32(header, kSide);
  header += std::string("\x04\x03\x00\x00\x00", 5);  // 4 bits, palette, deflate, filter 0, not interlaced
  palette += std::string(3, '\0');
  for (const std::uint32_t color : kCividis)
    for (int shift = 16; shift >= 0; shift -= 8) palette += static_cast<char>(color >> shift & 0xff);
  for (std::size_t row = 0; row < kSide; ++row) {
    rows += '\0';  // no filter
    for (std::size_t c = 0; c < kSide; c += 2)
      rows += static_cast<char>(grade(cells[row * kSide + c]) << 4 | grade(cells[row * kSide + c + 1]));
  }
  const auto length = static_cast<std::uint16_t>(rows.size());
  std::string data = std::string("\x78\x01\x01", 3);  // zlib, one stored block, the last one
  for (const std::uint16_t part : {length, static_cast<std::uint16_t>(~length)})
    data += static_cast<char>(part & 0xff), data += static_cast<char>(part >> 8);
  data += rows;
  add_be32(data, adler32(rows));
  const std::string_view empty_is_transparent("\0", 1);
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + chunk("PLTE", palette) + chunk("tRNS", empty_is_transparent) +
         chunk("IDAT", data) + chunk("IEND", "");
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
      number, density, id, floor, id, base64(png(head.cells)), id, html_owner_areas(grid, head, figure, id), number,
      density, html_owner_ranks(grid, head));
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
