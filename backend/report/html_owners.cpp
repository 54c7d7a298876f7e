// Who computes what of the masks on a page. Each distinct map of ranks is there once, as an area of one colour for each
// rank, and heads refer to it; their own picture cuts it, so that a cell is as strong as it is dense. Choosing a
// strategy needs no script: the style sheet asks which one is checked.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "backend/report/html.h"
#include "backend/report/rank_colors.h"

namespace spscope {
namespace {

constexpr int kSide = HeadGrid::kSide;
// From the colours of densities to how much of an area shows: 0.4 for the darkest, none where the picture is clear.
constexpr std::string_view kFloor = ".6 0 0 .4 0 0 .6 0 .4 0 0 0 .6 .4 0 0 0 0 1 0";
constexpr std::size_t kMostStrategies = 12;  // that the style sheet has rules for

std::size_t shown(const HeadGrid& grid) { return std::min(grid.owned_by.size(), kMostStrategies); }

// The map of a head under a strategy; nullptr: not known.
const std::vector<std::int32_t>* map_of(const HeadGrid& grid, const HeadGrid::Head& head, std::size_t strategy) {
  const std::int32_t index = strategy < head.owners.size() ? head.owners[strategy] : -1;
  return index < 0 || index >= std::ssize(grid.owners) ? nullptr : &grid.owners[static_cast<std::size_t>(index)];
}

// Rectangles of equal cells as a path by rank: runs along rows, joined with the same run of the rows below.
std::map<std::int32_t, std::string> areas(const std::vector<std::int32_t>& map) {
  std::map<std::int32_t, std::string> paths;
  std::vector<bool> done(map.size(), false);
  const auto at = [](int row, int column) { return static_cast<std::size_t>(row * kSide + column); };
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column) {
      const std::int32_t rank = map[at(row, column)];
      if (done[at(row, column)] || (rank < 0 && rank != HeadGrid::kSeveral)) continue;
      int width = 1, height = 1;
      while (column + width < kSide && map[at(row, column + width)] == rank && !done[at(row, column + width)]) ++width;
      const auto same = [&](int below) {
        for (int c = column; c < column + width; ++c)
          if (map[at(below, c)] != rank || done[at(below, c)]) return false;
        return true;
      };
      while (row + height < kSide && same(row + height)) ++height;
      for (int r = row; r < row + height; ++r)
        for (int c = column; c < column + width; ++c) done[at(r, c)] = true;
      paths[rank] += fmt::format("M{} {}h{}v{}h-{}z", column, row, width, height, width);
    }
  return paths;
}

// "rank 3", "ranks 0–7", "ranks 1, 4", "9 ranks"
std::string ranks_text(const std::vector<std::int32_t>& map) {
  const std::set<std::int32_t> all(map.begin(), map.end());
  std::vector<std::int32_t> ranks;
  for (const std::int32_t rank : all)
    if (rank >= 0) ranks.push_back(rank);
  if (all.contains(HeadGrid::kSeveral) && ranks.size() < 2) return "several ranks";
  if (ranks.empty()) return "no rank";
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  if (ranks.size() == 2) return fmt::format("ranks {}, {}", ranks[0], ranks[1]);
  if (ranks.back() - ranks.front() + 1 == std::ssize(ranks))
    return fmt::format("ranks {}–{}", ranks.front(), ranks.back());
  return fmt::format("{} ranks", ranks.size());
}

// The colours of all ranks that some map has.
std::string legend(const HeadGrid& grid, const std::string& id) {
  std::set<std::int32_t> ranks;
  for (const std::vector<std::int32_t>& map : grid.owners) ranks.insert(map.begin(), map.end());
  std::string text;
  for (const std::int32_t rank : ranks)
    if (rank >= 0) text += fmt::format("<li><i class=\"rank{}\"></i>{}</li>", rank_color_index(rank), rank);
  if (ranks.contains(HeadGrid::kSeveral))
    text += fmt::format(
        "<li><svg class=\"swatch\" aria-hidden=\"true\"><rect width=\"100%\" height=\"100%\" "
        "fill=\"url(#{}-several)\"/></svg>several ranks, none more than half</li>",
        id);
  return "<ul class=\"legend\"><li>rank</li>" + text + "</ul>";
}

}  // namespace

std::string html_owner_defs(const HeadGrid& grid, const std::string& id) {
  if (shown(grid) == 0) return "";
  std::string text = fmt::format(
      "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs><pattern id=\"{}-several\" width=\"3\" "
      "height=\"3\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect class=\"several\" "
      "width=\"1.5\" height=\"3\"/></pattern><filter id=\"{}-floor\" "
      "color-interpolation-filters=\"sRGB\"><feColorMatrix "
      "values=\"{}\"/></filter>",
      id, id, kFloor);
  for (std::size_t i = 0; i < grid.owners.size(); ++i) {
    text += fmt::format("<g id=\"{}-map{}\">", id, i);
    for (const auto& [rank, path] : areas(grid.owners[i]))
      text += rank == HeadGrid::kSeveral
                  ? fmt::format("<path fill=\"url(#{}-several)\" d=\"{}\"/>", id, path)
                  : fmt::format("<path class=\"rank{}\" d=\"{}\"/>", rank_color_index(rank), path);
    text += "</g>";
  }
  return text + "</defs></svg>\n";
}

std::string html_owner_choice(const HeadGrid& grid, const std::string& id) {
  if (shown(grid) == 0) return "";
  std::string text = fmt::format(
      "<fieldset class=\"pick\"><legend>Colour by</legend><label><input type=\"radio\" name=\"{}-of\" value=\"\" "
      "checked>density</label>",
      id);
  for (std::size_t s = 0; s < shown(grid); ++s)
    text += fmt::format("<label><input type=\"radio\" name=\"{}-of\" value=\"{}\">rank of {}</label>", id, s,
                        html_escaped(grid.owned_by[s]));
  text += "</fieldset><div class=\"whose\"><p>Each cell has the colour of the rank that computes most of it under ";
  for (std::size_t s = 0; s < shown(grid); ++s)
    text += fmt::format("<b class=\"own own{}\">{}</b>", s, html_escaped(grid.owned_by[s]));
  return text + "; stronger is denser.</p>" + legend(grid, id) + "</div>";
}

std::string html_owner_areas(const HeadGrid& grid, const HeadGrid::Head& head, const std::string& figure,
                             const std::string& id) {
  if (shown(grid) == 0) return "";
  std::string text = fmt::format("<g mask=\"url(#{}-cut)\">", id);
  for (std::size_t s = 0; s < shown(grid); ++s)
    if (map_of(grid, head, s) != nullptr)
      text += fmt::format("<use class=\"own own{}\" href=\"#{}-map{}\"/>", s, figure, head.owners[s]);
  return text + "</g>";
}

std::string html_owner_ranks(const HeadGrid& grid, const HeadGrid::Head& head) {
  std::string text;
  for (std::size_t s = 0; s < shown(grid); ++s) {
    const std::vector<std::int32_t>* map = map_of(grid, head, s);
    text += fmt::format("<small class=\"own own{}\">{}</small>", s, map != nullptr ? ranks_text(*map) : "not stored");
  }
  return text;
}

std::string html_owner_style() {
  std::string text = R"css(
.masks .own, .masks .pick, .masks .whose { display: none; }
.several { fill: var(--ink); }
.pick { flex-wrap: wrap; gap: .3rem 1.1rem; margin: 0 0 .9rem; padding: 0; border: 0; font-size: .88rem; }
.pick legend { float: left; margin: 0 1.1rem 0 0; padding: 0; color: var(--muted); }
.pick label { display: flex; align-items: center; gap: .4rem; min-height: 24px; overflow-wrap: anywhere; cursor: pointer; }
.pick input { margin: 0; accent-color: var(--accent); }
.whose { margin: 0 0 .9rem; font-size: .88rem; }
.whose p { margin: 0; }
.whose ul.legend { margin: .3rem 0 0; gap: .2rem .9rem; }
.whose i { width: 14px; height: 14px; }
ol.heads li > span { display: block; white-space: nowrap; }
@media print { .masks .pick { display: none !important; } }
@supports selector(:has(input)) {
  .masks .pick { display: flex; }
  .masks:has(.pick input:not([value=""]):checked) :is(.plain, .scale) { display: none; }
  .masks:has(.pick input:not([value=""]):checked) .whose { display: block; }
)css";
  for (std::size_t s = 0; s < kMostStrategies; ++s)
    text += fmt::format("  .masks:has(.pick input[value=\"{}\"]:checked) .own{} {{ display: inline; }}\n", s, s);
  text += "}\n";
  for (std::size_t i = 0; i < kRankColors.size(); ++i)
    text += fmt::format(".rank{} {{ fill: #{:06x}; background: #{:06x}; }}\n", i, kRankColors[i], kRankColors[i]);
  return text;
}

}  // namespace spscope
