// FrameTimes: a line of a CSV file for each frame of a window (--frame-times), by which bench/gui measures the app as
// it is used. Times are those of the monotonic clock, so that another process can say when it gave its input.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace spscope::gui {

struct FrameTime {
  std::int64_t begin_ns = 0;  // before input is taken
  std::int64_t built_ns = 0;  // all views have drawn; nothing is sent to the graphics card yet
  std::int64_t end_ns = 0;    // the picture is on the screen
  std::int64_t build_begin_ns = 0;
  std::int64_t actions = 0;  // of the input so far: keys, buttons, turns of the wheel
  int answered = 0;          // questions so far
  bool busy = false;         // questions were under way when it was drawn
  int early = 0, ready = 0;  // open files of which makespans are shown, and that were read whole
};

class FrameTimes {
 public:
  // Throws Error (kOutputPlace): the file cannot be written.
  explicit FrameTimes(const std::string& path);
  // Each line is in the file at once, since tests read it while the window is open.
  void add(const FrameTime& frame);

 private:
  std::ofstream file_;
};

}  // namespace spscope::gui
