// HeadlessSurface: OpenGL without a display, by EGL, drawing into a framebuffer object: for pictures of views.
#pragma once

#include <cstdint>
#include <vector>

namespace spscope::gui {

class HeadlessSurface {
 public:
  // Throws Error (kUsage): no EGL with OpenGL 3, with what to install.
  HeadlessSurface(int width, int height);
  ~HeadlessSurface();
  HeadlessSurface(const HeadlessSurface&) = delete;
  HeadlessSurface& operator=(const HeadlessSurface&) = delete;

  bool core_profile() const { return core_; }
  // RGBA, 4 bytes a pixel, from the top row down.
  std::vector<std::uint8_t> pixels() const;

 private:
  int width_, height_;
  bool core_ = true;
  void *display_ = nullptr, *context_ = nullptr;
  unsigned framebuffer_ = 0, color_ = 0;
};

}  // namespace spscope::gui
