#include "gui/platform/renderer.h"

#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>

#include <cmath>
#include <cstdint>
#include <utility>

#include "gui/imgui_compat.h"

namespace spscope::gui {
namespace {

bool& device_is_there() {
  static bool there = false;
  return there;
}

void unbind_sampler() {
  GLint major = 0, minor = 0;
  glGetIntegerv(GL_MAJOR_VERSION, &major);
  glGetIntegerv(GL_MINOR_VERSION, &minor);
  if (major * 10 + minor >= 33) glBindSampler(0, 0);  // samplers are there since OpenGL 3.3
}

void clear_clip(const ImDrawList*, const ImDrawCmd* command) {
  const ImVec2 origin = ImGui::GetDrawData()->DisplayPos;
  const float height = ImGui::GetDrawData()->DisplaySize.y;
  // The pixels whose middle lies inside, as those of a rectangle; rows count from the foot.
  const auto pixel = [](float at) { return static_cast<GLint>(std::ceil(at - 0.5F)); };
  const GLint left = pixel(command->ClipRect.x - origin.x), right = pixel(command->ClipRect.z - origin.x);
  const GLint top = pixel(command->ClipRect.y - origin.y), bottom = pixel(command->ClipRect.w - origin.y);
  if (left >= right || top >= bottom) return;
  const ImVec4 color =
      ImGui::ColorConvertU32ToFloat4(static_cast<ImU32>(reinterpret_cast<std::uintptr_t>(command->UserCallbackData)));
  glScissor(left, static_cast<GLint>(height) - bottom, right - left, bottom - top);
  glClearColor(color.x, color.y, color.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
}

}  // namespace

Renderer::Renderer(bool core_profile) {
  ImGui_ImplOpenGL3_Init(core_profile ? "#version 150" : "#version 130");
  Texture::enable(true);
}
Renderer::~Renderer() {
  Texture::enable(false);
  ImGui_ImplOpenGL3_Shutdown();
}

void Renderer::new_frame(bool fonts_changed) { new_renderer_frame(fonts_changed); }

void Renderer::draw(int width, int height, unsigned page) {
  const ImVec4 color = ImGui::ColorConvertU32ToFloat4(page);
  glViewport(0, 0, width, height);
  glClearColor(color.x, color.y, color.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

void fill_opaque(ImDrawList& list, float left, float top, float right, float bottom, unsigned color) {
  // A callback is told the clip of its place.
  list.PushClipRect({left, top}, {right, bottom}, true);
  list.AddCallback(clear_clip, reinterpret_cast<void*>(static_cast<std::uintptr_t>(color)));
  list.PopClipRect();
}
void begin_opaque(ImDrawList& list) {
  list.AddCallback([](const ImDrawList*, const ImDrawCmd*) { glDisable(GL_BLEND); }, nullptr);
}
void end_opaque(ImDrawList& list) {
  list.AddCallback([](const ImDrawList*, const ImDrawCmd*) { glEnable(GL_BLEND); }, nullptr);
}

void Texture::keep_filters() { keep_texture_filters<unbind_sampler>(); }
void Texture::enable(bool there) { device_is_there() = there; }

Texture::~Texture() {
  if (name_ != 0 && device_is_there()) glDeleteTextures(1, &name_);
}
Texture::Texture(Texture&& other) noexcept
    : name_(std::exchange(other.name_, 0)), width_(other.width_), height_(other.height_) {}
Texture& Texture::operator=(Texture&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(width_, other.width_);
  std::swap(height_, other.height_);
  return *this;
}

void Texture::set(int width, int height, std::span<const std::uint32_t> rgba, bool smooth) {
  const bool as_large = name_ != 0 && width == width_ && height == height_;
  width_ = width;
  height_ = height;
  if (!device_is_there()) return;
  if (name_ == 0) glGenTextures(1, &name_);
  glBindTexture(GL_TEXTURE_2D, name_);
  const GLint filter = smooth ? GL_LINEAR : GL_NEAREST;
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, filter);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, filter);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  if (as_large) {  // its memory is used again
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, rgba.data());
  } else {
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, rgba.data());
  }
}

}  // namespace spscope::gui
