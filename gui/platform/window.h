// Window: a window of GLFW with OpenGL 3.3 core, else 3.0. Its callbacks only fill the input queue.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "gui/platform/input_queue.h"

struct GLFWwindow;
struct GLFWcursor;

namespace spscope::gui {

class Window {
 public:
  static constexpr std::size_t kNumCursors = 4;

  // `fits`: the window is no larger than the work area of its monitor has room for.
  // Throws Error (kUsage): no display, or none with OpenGL 3; with what to do then.
  Window(const std::string& title, int width, int height, bool fits);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  InputQueue& input() { return input_; }
  int width() const;  // of the framebuffer, in pixels
  int height() const;
  int logical_width() const;
  int logical_height() const;
  float scale() const;  // of the monitor: 1, 1.5, 2
  bool core_profile() const { return core_; }
  bool minimized() const;
  void set_title(const std::string& title);
  // Sets the pointer as Dear ImGui wants it.
  void show_cursor();
  void swap();
  // Waits for input, wake() or the end of the time; without a time only for input. Then the queue has what came.
  void wait(std::optional<double> seconds);
  // From any thread: a wait ends.
  static void wake();

 private:
  GLFWwindow* window_ = nullptr;
  bool core_ = true;
  int cursor_ = 0;
  std::array<GLFWcursor*, kNumCursors> cursors_ = {};  // made when they are first shown
  InputQueue input_;
};

}  // namespace spscope::gui
