// What differs between versions of Dear ImGui, from 1.86 (Debian 12) on. No other file asks for a version.
#pragma once

#include <imgui.h>
#include <imgui_freetype.h>
#include <imgui_impl_opengl3.h>
#include <imgui_internal.h>

#include <cstdint>

#include "gui/platform/keys.h"

namespace spscope::gui {

#if IMGUI_VERSION_NUM >= 18700
// Since 1.87 events are queued by Dear ImGui; before, the state of keys is set.
#if IMGUI_VERSION_NUM >= 18900
inline constexpr ImGuiKey kModCtrl = ImGuiMod_Ctrl, kModShift = ImGuiMod_Shift, kModAlt = ImGuiMod_Alt,
                          kModSuper = ImGuiMod_Super;
#else
inline constexpr ImGuiKey kModCtrl = ImGuiKey_ModCtrl, kModShift = ImGuiKey_ModShift, kModAlt = ImGuiKey_ModAlt,
                          kModSuper = ImGuiKey_ModSuper;
#endif
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
  io.AddKeyEvent(kModCtrl, m.ctrl);
  io.AddKeyEvent(kModShift, m.shift);
  io.AddKeyEvent(kModAlt, m.alt);
  io.AddKeyEvent(kModSuper, m.super);
}
inline void feed_mouse(ImGuiIO& io, float x, float y) { io.AddMousePosEvent(x, y); }
inline void feed_button(ImGuiIO& io, int button, bool down) { io.AddMouseButtonEvent(button, down); }
inline void feed_wheel(ImGuiIO& io, float x, float y) { io.AddMouseWheelEvent(x, y); }
// The input queue spreads events over frames.
inline void set_up_keys(ImGuiIO& io) { io.ConfigInputTrickleEventQueue = false; }
// Whether a key went down in this frame, or repeats.
inline bool key_pressed(Key key) { return ImGui::IsKeyPressed(imgui_key(key)); }
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
inline void set_up_keys(ImGuiIO& io) {
#define KEY(id, name, glfw, imgui) \
  if (ImGuiKey_##imgui >= 0) io.KeyMap[ImGuiKey_##imgui] = static_cast<int>(Key::k##id);
#include "gui/platform/keys.def"
#undef KEY
}
inline bool key_pressed(Key key) { return ImGui::IsKeyPressed(static_cast<int>(key)); }
#endif
inline void feed_focus(ImGuiIO& io, bool focused) { io.AddFocusEvent(focused); }

// Copying and pasting: const char* Get(void* owner), void Set(void* owner, const char* text).
template <auto Get, auto Set>
void set_clipboard(void* owner) {
#if IMGUI_VERSION_NUM >= 19110
  ImGuiPlatformIO& io = ImGui::GetPlatformIO();
  io.Platform_ClipboardUserData = owner;
  io.Platform_GetClipboardTextFn = [](ImGuiContext*) { return Get(ImGui::GetPlatformIO().Platform_ClipboardUserData); };
  io.Platform_SetClipboardTextFn = [](ImGuiContext*, const char* text) {
    Set(ImGui::GetPlatformIO().Platform_ClipboardUserData, text);
  };
#else
  ImGuiIO& io = ImGui::GetIO();
  io.ClipboardUserData = owner;
  io.GetClipboardTextFn = Get;
  io.SetClipboardTextFn = Set;
#endif
}

// A texture by its name in OpenGL.
inline ImTextureID texture_id(unsigned name) {
#if IMGUI_VERSION_NUM >= 19140
  return static_cast<ImTextureID>(name);
#else
  return reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(name));
#endif
}

// Back to where the layout was. Since 1.89 a set cursor has to be followed by an item.
inline void restore_cursor(const ImVec2& at) {
  ImGui::SetCursorScreenPos(at);
#if IMGUI_VERSION_NUM >= 18900
  ImGui::GetCurrentWindow()->DC.IsSetPos = false;
#endif
}
// At the end of a pane, which reaches to where the cursor was set.
inline void end_content() {
#if IMGUI_VERSION_NUM >= 18900
  if (ImGui::GetCurrentWindow()->DC.IsSetPos) ImGui::Dummy({0, 0});
#endif
}

// Once a frame, before anything is drawn: `unbind` lets textures have their own filters. Since 1.92.8 the renderer's
// come first.
template <void (*unbind)()>
void keep_texture_filters() {
#if IMGUI_VERSION_NUM >= 19280
  ImGui::GetBackgroundDrawList()->AddCallback([](const ImDrawList*, const ImDrawCmd*) { unbind(); }, nullptr);
#endif
}

// Of ImGui::InvisibleButton: the keyboard reaches it, for which it has to be asked since 1.91.4.
#if IMGUI_VERSION_NUM >= 19140
inline constexpr ImGuiButtonFlags kReachedByKeys = ImGuiButtonFlags_EnableNav;
#else
inline constexpr ImGuiButtonFlags kReachedByKeys = ImGuiButtonFlags_None;
#endif

// Around an item that later ones may lie upon, and then have the pointer.
inline void begin_overlapped() {
#if IMGUI_VERSION_NUM >= 18970
  ImGui::SetNextItemAllowOverlap();
#endif
}
inline void end_overlapped() {
#if IMGUI_VERSION_NUM < 18970
  ImGui::SetItemAllowOverlap();
#endif
}

// ImGui::BeginChild; `padded`: with the style's WindowPadding also where there is no border.
inline bool begin_child(const char* id, const ImVec2& size, bool border, bool padded, ImGuiWindowFlags flags) {
#if IMGUI_VERSION_NUM >= 19000
  // The flag of a border, which was renamed in 1.91.1, is 1.
  ImGuiChildFlags child = (border ? 1 : 0) | (padded ? ImGuiChildFlags_AlwaysUseWindowPadding : 0);
#if IMGUI_VERSION_NUM >= 19090
  child |= ImGuiChildFlags_NavFlattened;  // the keyboard goes from pane to pane
#else
  flags |= ImGuiWindowFlags_NavFlattened;
#endif
  return ImGui::BeginChild(id, size, child, flags);
#else
  flags |= ImGuiWindowFlags_NavFlattened;
  return ImGui::BeginChild(id, size, border, flags | (padded ? ImGuiWindowFlags_AlwaysUseWindowPadding : 0));
#endif
}

#if IMGUI_VERSION_NUM >= 19200
// Since 1.92 glyphs are drawn when they are first needed, if the renderer can change its textures.
inline void use_freetype(ImFontAtlas& atlas) {
#if IMGUI_VERSION_NUM >= 19210  // 1.92.0 has only what it was compiled with
  atlas.SetFontLoader(ImGuiFreeType::GetFontLoader());
#endif
  atlas.FontLoaderFlags = ImGuiFreeTypeLoaderFlags_LightHinting;
}
inline void build_fonts(ImFontAtlas& atlas) {
  if ((ImGui::GetIO().BackendFlags & ImGuiBackendFlags_RendererHasTextures) == 0) atlas.Build();
}
inline void new_renderer_frame(bool) { ImGui_ImplOpenGL3_NewFrame(); }
// Where a line of at most `width` ends; `size` in pixels.
inline const char* line_end(ImFont& font, float size, const char* begin, const char* end, float width) {
  return font.CalcWordWrapPosition(size, begin, end, width);
}
inline void push_font(ImFont* font) { ImGui::PushFont(font, font->LegacySize); }
#else
inline void use_freetype(ImFontAtlas& atlas) {
  atlas.FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
  atlas.FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
}
inline void build_fonts(ImFontAtlas& atlas) { atlas.Build(); }
inline void new_renderer_frame(bool fonts_changed) {
  if (fonts_changed) ImGui_ImplOpenGL3_DestroyFontsTexture();
  ImGui_ImplOpenGL3_NewFrame();
  if (fonts_changed && ImGui::GetIO().Fonts->TexID == ImTextureID{}) ImGui_ImplOpenGL3_CreateFontsTexture();
}
// Where a line of at most `width` ends; `size` in pixels.
inline const char* line_end(ImFont& font, float size, const char* begin, const char* end, float width) {
  return font.CalcWordWrapPositionA(size / font.FontSize, begin, end, width);
}
inline void push_font(ImFont* font) { ImGui::PushFont(font); }
#endif

}  // namespace spscope::gui
