// Renderer: Dear ImGui's draw data on the current OpenGL context; and textures.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

struct ImDrawList;

namespace spscope::gui {

class Renderer {
 public:
  explicit Renderer(bool core_profile);
  ~Renderer();
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  // Before ImGui::NewFrame(). `fonts_changed`: the atlas was baked anew.
  void new_frame(bool fonts_changed);
  // After ImGui::Render(). `page`: the colour behind everything, as draw lists take it.
  void draw(int width, int height, unsigned page);
};

// In software, blending takes a multiple of the time of all else, and so does a shader for one colour.
//
// A rectangle of one opaque colour, inside the clip of the list.
void fill_opaque(ImDrawList& list, float left, float top, float right, float bottom, unsigned color);
// What is drawn between the two replaces what is there: pictures without see-through pixels.
void begin_opaque(ImDrawList& list);
void end_opaque(ImDrawList& list);

// A picture of RGBA pixels on the device; without OpenGL it only knows its size. Not copied.
class Texture {
 public:
  Texture() = default;
  ~Texture();
  Texture(Texture&& other) noexcept;
  Texture& operator=(Texture&& other) noexcept;

  // `smooth`: interpolated when it is drawn larger.
  void set(int width, int height, std::span<const std::uint32_t> rgba, bool smooth = false);
  unsigned name() const { return name_; }  // 0: nothing to draw
  int width() const { return width_; }
  int height() const { return height_; }

  // Once a frame, when it began: textures are drawn as set() says.
  static void keep_filters();
  // Whether there is an OpenGL context; set by those who make one.
  static void enable(bool there);

 private:
  unsigned name_ = 0;
  int width_ = 0, height_ = 0;
};

}  // namespace spscope::gui
