// Who computes what on a page: the areas that it draws, filled cell by cell, are the maps that it was given.
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "backend/base/rng.h"
#include "backend/report/html.h"

namespace spscope {
namespace {

constexpr int kSide = HeadGrid::kSide;

// Maps of stripes, blocks and noise of a few ranks, none and several.
std::vector<std::int32_t> random_map(Rng& rng) {
  const std::int64_t wide = 1 + rng.below(64), high = 1 + rng.below(64), ranks = 1 + rng.below(8);
  const bool noise = rng.below(3) == 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> blocks;
  std::vector<std::int32_t> map;
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column) {
      const auto any = static_cast<std::int32_t>(rng.below(ranks + 2) - 2);
      const auto block = blocks.try_emplace({row / high, column / wide}, any).first->second;
      map.push_back(noise ? any : block);
    }
  return map;
}

// The cells that the paths of a map cover, each once; ranks from 0 to 7 have the colour of their number.
std::vector<std::int32_t> drawn(const std::string& group) {
  std::vector<std::int32_t> cells(kSide * kSide, -1);
  const std::regex path(R"re(<path (class="rank(\d)"|fill="url\(#f-several\)") d="([^"]*)"/>)re");
  for (std::sregex_iterator p(group.begin(), group.end(), path), none; p != none; ++p) {
    const std::int32_t rank = (*p)[2].matched ? std::stoi((*p)[2]) : HeadGrid::kSeveral;
    const std::string moves = (*p)[3];
    const std::regex rectangle(R"(M(\d+) (\d+)h(\d+)v(\d+)h-(\d+)z)");
    std::size_t length = 0;
    for (std::sregex_iterator r(moves.begin(), moves.end(), rectangle); r != none; ++r) {
      length += static_cast<std::size_t>(r->length());
      const auto number = [&](std::size_t i) { return std::stoi((*r)[i]); };
      EXPECT_EQ(number(3), number(5)) << "an area that does not close";
      for (int y = number(2); y < number(2) + number(4); ++y)
        for (int x = number(1); x < number(1) + number(3); ++x) {
          std::int32_t& cell = cells.at(static_cast<std::size_t>(y * kSide + x));
          EXPECT_EQ(cell, -1) << "a cell is drawn twice";
          cell = rank;
        }
    }
    EXPECT_EQ(length, moves.size()) << "something that is no rectangle";
  }
  return cells;
}

TEST(Owners, AreasAreTheMaps) {
  HeadGrid grid;
  grid.owned_by = {"ring r8"};
  Rng rng(3);
  for (int i = 0; i < 40; ++i) grid.owners.push_back(random_map(rng));
  const std::string defs = html_owner_defs(grid, "f");
  for (std::size_t i = 0; i < grid.owners.size(); ++i) {
    const std::size_t begin = defs.find("<g id=\"f-map" + std::to_string(i) + "\">");
    ASSERT_NE(begin, std::string::npos);
    EXPECT_EQ(drawn(defs.substr(begin, defs.find("</g>", begin) - begin)), grid.owners[i]) << i;
  }
}

TEST(Owners, HeadsSayTheirRanks) {
  const auto half = [](std::int32_t a, std::int32_t b) {
    std::vector<std::int32_t> map(kSide * kSide, a);
    std::fill(map.begin() + kSide * kSide / 2, map.end(), b);
    return map;
  };
  HeadGrid grid;
  grid.owned_by = {"a", "b", "c", "d", "e", "f", "<g>"};
  std::vector<std::int32_t> four = half(4, 5), gap = half(0, 9);
  four[0] = 3, four[1] = 6, gap[7] = 4;
  grid.owners = {half(3, 3), half(1, 5), four, gap, half(HeadGrid::kSeveral, HeadGrid::kSeveral), half(-1, -1)};
  const HeadGrid::Head head{{}, 0, {0, 1, 2, 3, 4, 5, -1}};
  EXPECT_EQ(html_owner_ranks(grid, head),
            "<small class=\"own own0\">rank 3</small><small class=\"own own1\">ranks 1, 5</small>"
            "<small class=\"own own2\">ranks 3–6</small><small class=\"own own3\">3 ranks</small>"
            "<small class=\"own own4\">several ranks</small><small class=\"own own5\">no rank</small>"
            "<small class=\"own own6\">not stored</small>");
  EXPECT_NE(html_owner_choice(grid, "f").find("rank of &lt;g&gt;"), std::string::npos);
}

TEST(Owners, AreAbsentWithoutThem) {
  const HeadGrid grid;
  EXPECT_EQ(html_owner_defs(grid, "f") + html_owner_choice(grid, "f") + html_owner_areas(grid, {}, "f", "f-0") +
                html_owner_ranks(grid, {}),
            "");
}

}  // namespace
}  // namespace spscope
