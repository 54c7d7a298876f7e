// What differs between versions of Dear ImGui, from 1.86 (Debian 12) on. No other file asks for a version.
#pragma once

#include <imgui.h>

#include <cstdint>

#include "gui/platform/keys.h"

namespace spscope::gui {

#if IMGUI_VERSION_NUM >= 18700
// Since 1.87 events are queued by Dear ImGui; before, the state of keys is set.
inline ImGuiKey imgui_key(Key key) {
  static constexpr ImGuiKey kKeys[] = {
#define KEY(id, name, glfw, imgui) ImGuiKey_##imgui,
#define ImGuiKey_KeyPadEnter ImGuiKey_KeypadEnter
#include "gui/platform/keys.def"
#undef ImGuiKey_KeyPadEnter
#undef KEY
  };
  return kKeys[static_cast<int>(key)];
}
inline void feed_key(ImGuiIO& io, Key key, bool down) {
  if (const ImGuiKey known = imgui_key(key); known != ImGuiKey_None) io.AddKeyEvent(known, down);
}
inline void feed_modifiers(ImGuiIO& io, const Modifiers& m) {
  io.AddKeyEvent(ImGuiMod_Ctrl, m.ctrl);
  io.AddKeyEvent(ImGuiMod_Shift, m.shift);
  io.AddKeyEvent(ImGuiMod_Alt, m.alt);
  io.AddKeyEvent(ImGuiMod_Super, m.super);
}
inline void feed_mouse(ImGuiIO& io, float x, float y) { io.AddMousePosEvent(x, y); }
inline void feed_button(ImGuiIO& io, int button, bool down) { io.AddMouseButtonEvent(button, down); }
inline void feed_wheel(ImGuiIO& io, float x, float y) { io.AddMouseWheelEvent(x, y); }
inline void feed_focus(ImGuiIO& io, bool focused) { io.AddFocusEvent(focused); }
inline void set_up_keys(ImGuiIO&) {}
#else
constexpr int ImGuiKey_None = -1;
inline void feed_key(ImGuiIO& io, Key key, bool down) { io.KeysDown[static_cast<int>(key)] = down; }
inline void feed_modifiers(ImGuiIO& io, const Modifiers& m) {
  io.KeyCtrl = m.ctrl;
  io.KeyShift = m.shift;
  io.KeyAlt = m.alt;
  io.KeySuper = m.super;
}
inline void feed_mouse(ImGuiIO& io, float x, float y) { io.MousePos = {x, y}; }
inline void feed_button(ImGuiIO& io, int button, bool down) { io.MouseDown[button] = down; }
inline void feed_wheel(ImGuiIO& io, float x, float y) {
  io.MouseWheelH += x;
  io.MouseWheel += y;
}
inline void feed_focus(ImGuiIO& io, bool focused) { io.AddFocusEvent(focused); }
inline void set_up_keys(ImGuiIO& io) {
#define KEY(id, name, glfw, imgui) \
  if (ImGuiKey_##imgui >= 0) io.KeyMap[ImGuiKey_##imgui] = static_cast<int>(Key::k##id);
#include "gui/platform/keys.def"
#undef KEY
}
#endif

// A texture by its name in OpenGL.
inline ImTextureID texture_id(unsigned name) {
#if IMGUI_VERSION_NUM >= 19140
  return static_cast<ImTextureID>(name);
#else
  return reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(name));
#endif
}

// Whether a key went down in this frame, or repeats.
inline bool key_pressed(Key key) {
#if IMGUI_VERSION_NUM >= 18700
  return ImGui::IsKeyPressed(imgui_key(key));
#else
  return ImGui::IsKeyPressed(static_cast<int>(key));
#endif
}

}  // namespace spscope::gui
