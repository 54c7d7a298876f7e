#include "kernels/cuda/emulation/bank_conflicts.h"

#include <algorithm>
#include <array>

namespace spscope::kernels::cuda {

int extra_passes(std::span<const SharedAccess> together) {
  std::array<std::uint32_t, 32 * 4> words;  // that the lanes need, each once
  std::size_t num_words = 0;
  for (const SharedAccess& access : together)
    for (std::uint32_t byte = 0; byte < access.num_bytes; byte += 4) words[num_words++] = (access.address + byte) / 4;
  std::sort(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(num_words));
  const auto end = std::unique(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(num_words));
  std::array<int, 32> of_bank{};
  for (auto word = words.begin(); word != end; ++word) ++of_bank[*word % 32];
  return std::max(1, *std::max_element(of_bank.begin(), of_bank.end())) - 1;
}

long take_conflicts(std::span<std::vector<SharedAccess>> lanes) {
  const std::size_t count = lanes.front().size();
  const bool same =
      std::all_of(lanes.begin(), lanes.end(), [&](const std::vector<SharedAccess>& l) { return l.size() == count; });
  long conflicts = 0;
  for (std::size_t i = 0; same && i < count; ++i) {
    const std::size_t group = std::clamp<std::size_t>(128 / std::max<std::size_t>(lanes[0][i].num_bytes, 4), 1, 32);
    for (std::size_t first = 0; first < lanes.size(); first += group) {
      std::array<SharedAccess, 32> together;
      for (std::size_t lane = 0; lane < group && first + lane < lanes.size(); ++lane)
        together[lane] = lanes[first + lane][i];
      conflicts += extra_passes(std::span(together).first(std::min(group, lanes.size() - first)));
    }
  }
  for (std::vector<SharedAccess>& lane : lanes) lane.clear();
  return conflicts;
}

}  // namespace spscope::kernels::cuda
