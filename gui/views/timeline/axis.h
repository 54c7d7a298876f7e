// TimeAxis: which time is on the screen, and where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/session/link.h"

namespace spscope::gui {

class TimeAxis {
 public:
  // All that there is, with first_ns <= 0. The first time, and when all was shown, all is shown.
  void set_extent(std::int64_t first_ns, std::int64_t end_ns);
  void set_extent(std::int64_t end_ns) { set_extent(0, end_ns); }
  void place(float left, float width) {
    left_ = left;
    width_ = width;
  }
  double begin_ns() const { return begin_; }
  double end_ns() const { return end_; }
  std::int64_t first_ns() const { return first_; }
  std::int64_t extent_ns() const { return extent_; }
  // Of all that can be shown: a margin is behind the end.
  double whole_ns() const;
  float left() const { return left_; }
  float width() const { return width_; }
  float x(double ns) const { return left_ + static_cast<float>((ns - begin_) / (end_ - begin_)) * width_; }
  double ns(float x) const { return begin_ + static_cast<double>((x - left_) / width_) * (end_ - begin_); }
  double ns_per_pixel() const { return (end_ - begin_) / static_cast<double>(width_ > 0 ? width_ : 1); }

  void show(double begin_ns, double end_ns);
  void show_all();
  bool shows_all() const { return begin_ <= static_cast<double>(first_) && end_ >= static_cast<double>(extent_); }
  // Factor below 1: closer. The time at `x` stays where it is.
  void zoom(double factor, float x);
  void zoom(double factor) { zoom(factor, left_ + width_ / 2); }
  void pan(double share) { show(begin_ + share * (end_ - begin_), end_ + share * (end_ - begin_)); }

  // Round times at least `least_px` apart.
  struct Tick {
    double ns = 0;
    std::string label;
  };
  std::vector<Tick> ticks(float least_px) const;

 private:
  double begin_ = 0, end_ = 1;
  std::int64_t first_ = 0, extent_ = 0;
  float left_ = 0, width_ = 1;
};

}  // namespace spscope::gui
