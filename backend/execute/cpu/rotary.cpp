#include "backend/execute/cpu/rotary.h"

#include <algorithm>
#include <cmath>

#include "backend/base/check.h"

namespace spscope {
namespace {

constexpr double kTheta = 10000;

}  // namespace

RotaryTable::RotaryTable(const Request& request, RotaryForm form)
    : form_(form),
      video_begin_(request.text_first ? request.text_tokens : 0),
      video_end_(video_begin_ + request.inner_tokens - request.text_tokens),
      rows_(request.grid[1]),
      columns_(request.grid[2]) {
  const std::int64_t video = std::int64_t{request.outer_tokens} * (video_end_ - video_begin_);
  SPSCOPE_CHECK(std::int64_t{request.grid[0]} * rows_ * columns_ == video);
  const int pairs = request.head_dim / 2, sixth = request.head_dim / 6, quarter = request.head_dim / 4;
  switch (form) {
    case RotaryForm::kVideo:
      add_part(pairs - 2 * sixth, request.grid[0]);
      add_part(sixth, rows_);
      add_part(sixth, columns_);
      break;
    case RotaryForm::kFrame:
      add_part(pairs - quarter, rows_);
      add_part(quarter, columns_);
      break;
    case RotaryForm::kFrames:
      add_part(pairs, request.outer_tokens);
      break;
  }
}

void RotaryTable::add_part(int pairs, std::int32_t positions) {
  Part& part = parts_.emplace_back();
  part.pairs = pairs;
  for (std::int32_t position = 0; position < positions; ++position)
    for (int i = 0; i < pairs; ++i) {
      const double angle = position * std::pow(kTheta, -static_cast<double>(i) / pairs);
      part.cosine.push_back(static_cast<float>(std::cos(angle)));
      part.sine.push_back(static_cast<float>(std::sin(angle)));
    }
}

RotaryTable::Position RotaryTable::position(std::int32_t outer, std::int32_t inner) const {
  if (form_ == RotaryForm::kFrames) return {outer, 0, 0};
  if (inner < video_begin_ || inner >= video_end_) return {kNone, kNone, kNone};
  const std::int32_t token = inner - video_begin_;
  if (form_ == RotaryForm::kFrame) return {token / columns_, token % columns_, 0};
  return {token / (rows_ * columns_), token / columns_ % rows_, token % columns_};
}

void RotaryTable::angles(std::span<const Position> positions, std::span<float> cosine, std::span<float> sine) const {
  auto c = cosine.begin(), s = sine.begin();
  for (const Position& position : positions)
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      if (position[i] == kNone) {
        c = std::fill_n(c, part.pairs, 1.0f);
        s = std::fill_n(s, part.pairs, 0.0f);
        continue;
      }
      const auto first = static_cast<std::ptrdiff_t>(position[i]) * part.pairs;
      c = std::copy_n(part.cosine.begin() + first, part.pairs, c);
      s = std::copy_n(part.sine.begin() + first, part.pairs, s);
    }
}

}  // namespace spscope
