#include "backend/plan/box.h"

#include "backend/base/check.h"

namespace spscope {

std::int64_t volume(const SetTable& sets, const Box& box) {
  return sets.size(box.columns) * sets.size(box.outer) * sets.size(box.inner);
}

std::int64_t volume(const SetTable& sets, std::span<const Box> boxes) {
  std::int64_t sum = 0;
  for (const Box& box : boxes) sum += volume(sets, box);
  return sum;
}

std::optional<Box> meet(SetTable& sets, const Box& a, const Box& b) {
  if (a == b) return a.empty() ? std::nullopt : std::optional(a);
  const Box m{sets.both(a.columns, b.columns), sets.both(a.outer, b.outer), sets.both(a.inner, b.inner)};
  return m.empty() ? std::nullopt : std::optional(m);
}

void subtract(SetTable& sets, const Box& a, const Box& b, BoxList& out) {
  const std::optional<Box> m = meet(sets, a, b);
  if (!m) {
    if (!a.empty()) out.push_back(a);
    return;
  }
  const Box parts[] = {{sets.minus(a.columns, m->columns), a.outer, a.inner},
                       {m->columns, sets.minus(a.outer, m->outer), a.inner},
                       {m->columns, m->outer, sets.minus(a.inner, m->inner)}};
  for (const Box& part : parts)
    if (!part.empty()) out.push_back(part);
}

BoxList uncovered(SetTable& sets, const Box& box, std::span<const Box> boxes) {
  BoxList rest, next;
  if (!box.empty()) rest.push_back(box);
  for (const Box& held : boxes) {
    if (rest.empty()) break;
    next.clear();
    for (const Box& part : rest) subtract(sets, part, held, next);
    rest.swap(next);
  }
  return rest;
}

bool covered(SetTable& sets, const Box& box, std::span<const Box> boxes) {
  for (const Box& held : boxes)
    if (held == box) return true;
  return uncovered(sets, box, boxes).empty();
}

Placement Placement::rotate(std::span<const std::vector<int>> groups, int by) const {
  std::vector<int> from(static_cast<std::size_t>(ranks()));
  for (int r = 0; r < ranks(); ++r) from[static_cast<std::size_t>(r)] = r;
  for (const std::vector<int>& group : groups) {
    const int n = static_cast<int>(group.size());
    for (int j = 0; j < n; ++j)
      from[static_cast<std::size_t>(group[static_cast<std::size_t>(((j + by) % n + n) % n)])] =
          group[static_cast<std::size_t>(j)];
  }
  Placement out;
  out.first_.reserve(first_.size());
  out.boxes_.reserve(boxes_.size());
  out.first_.push_back(0);
  for (int r = 0; r < ranks(); ++r) {
    for (const Box& box : at(from[static_cast<std::size_t>(r)])) out.boxes_.push_back(box);
    out.close_rank();
  }
  return out;
}

}  // namespace spscope
