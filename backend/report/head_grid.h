// A block of a document (document.h): the heads of a layer as pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spscope {

// Density of masks, a small picture a head, for one or more denoise steps; and which rank computes what of them.
struct HeadGrid {
  static constexpr int kSide = 64;
  static constexpr std::int32_t kSeveral = -2;  // ranks, none of which computes more than half; below 0 otherwise: none
  struct Head {
    std::vector<std::uint8_t> cells;  // kSide x kSide, row by row: queries down, keys across; 0 empty, 255 full
    double density = 0;
    std::vector<std::int32_t> owners = {};  // by owned_by: an index into owners; -1 or missing: not known
  };
  struct Step {
    std::string label;
    bool chosen = false;  // the one to begin with
    std::vector<Head> heads;
  };
  std::string caption;
  std::vector<Step> steps;
  std::vector<std::string> owned_by = {};              // labels of strategies
  std::vector<std::vector<std::int32_t>> owners = {};  // maps of ranks by cell
};

}  // namespace spscope
