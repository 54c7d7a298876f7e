// What the head of a band says of its makespan beside those of the other bands, by the rules of backend/analysis
// (judgement.h): times that do not compare are not called longer than others.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "gui/session/session.h"

namespace spscope::gui {

struct BandTime {
  const Chosen* chosen = nullptr;
  std::int64_t makespan_ns = 0;
};
// "20.1 ms, 3.4 ms longer than dbsp u8". `all`: the bands on the screen, this one among them.
std::string band_words(const BandTime& band, std::span<const BandTime> all);

}  // namespace spscope::gui
