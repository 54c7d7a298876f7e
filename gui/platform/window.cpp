#include "gui/platform/window.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "backend/base/error.h"
#include "gui/imgui_compat.h"

namespace spscope::gui {
namespace {

// Of the window, in its own units: less than this holds no view.
constexpr int kLeastWidth = 640, kLeastHeight = 400;

constexpr std::array<std::pair<ImGuiMouseCursor, int>, Window::kNumCursors> kShapes = {
    {{ImGuiMouseCursor_TextInput, GLFW_IBEAM_CURSOR},
     {ImGuiMouseCursor_ResizeNS, GLFW_VRESIZE_CURSOR},
     {ImGuiMouseCursor_ResizeEW, GLFW_HRESIZE_CURSOR},
     {ImGuiMouseCursor_Hand, GLFW_HAND_CURSOR}}};

const char* get_clipboard(void* window) { return glfwGetClipboardString(static_cast<GLFWwindow*>(window)); }
void put_on_clipboard(void* window, const char* text) {
  glfwSetClipboardString(static_cast<GLFWwindow*>(window), text);
}

Modifiers modifiers_of(int bits) {
  return {(bits & GLFW_MOD_CONTROL) != 0, (bits & GLFW_MOD_SHIFT) != 0, (bits & GLFW_MOD_ALT) != 0,
          (bits & GLFW_MOD_SUPER) != 0};
}
Modifiers modifiers_now(GLFWwindow* window) {
  const auto down = [&](int left, int right) {
    return glfwGetKey(window, left) == GLFW_PRESS || glfwGetKey(window, right) == GLFW_PRESS;
  };
  return {down(GLFW_KEY_LEFT_CONTROL, GLFW_KEY_RIGHT_CONTROL), down(GLFW_KEY_LEFT_SHIFT, GLFW_KEY_RIGHT_SHIFT),
          down(GLFW_KEY_LEFT_ALT, GLFW_KEY_RIGHT_ALT), down(GLFW_KEY_LEFT_SUPER, GLFW_KEY_RIGHT_SUPER)};
}

// Keys by what is printed on them on this keyboard, else, as for characters of other scripts, by their place. Digits go
// by their place: French keyboards need Shift for them.
std::optional<Key> key_of(int glfw_key, int scancode) {
  static constexpr std::string_view kLabels = "-=,./;'[]\\+";
  static constexpr std::array<Key, kLabels.size()> kLabelled = {
      Key::kMinus,      Key::kEqual,       Key::kComma,        Key::kPeriod,    Key::kSlash, Key::kSemicolon,
      Key::kApostrophe, Key::kLeftBracket, Key::kRightBracket, Key::kBackslash, Key::kPlus};
  const bool by_label =
      glfw_key > GLFW_KEY_SPACE && glfw_key <= GLFW_KEY_WORLD_2 && (glfw_key < GLFW_KEY_0 || glfw_key > GLFW_KEY_9);
  const char* name = by_label ? glfwGetKeyName(glfw_key, scancode) : nullptr;
  if (name != nullptr && std::strlen(name) == 1) {
    if (*name >= 'a' && *name <= 'z') return static_cast<Key>(static_cast<int>(Key::kA) + (*name - 'a'));
    if (const std::size_t at = kLabels.find(*name); at != std::string_view::npos) return kLabelled[at];
  }
  switch (glfw_key) {
#define KEY(id, name, glfw, imgui) \
  case glfw:                       \
    return Key::k##id;
#include "gui/platform/keys.def"
#undef KEY
    default:
      return std::nullopt;
  }
}

InputQueue& queue_of(GLFWwindow* window) { return *static_cast<InputQueue*>(glfwGetWindowUserPointer(window)); }

// Pixels of the framebuffer for each unit of the window's coordinates.
float density(GLFWwindow* window) {
  int width = 0, pixels = 0, ignored = 0;
  glfwGetWindowSize(window, &width, &ignored);
  glfwGetFramebufferSize(window, &pixels, &ignored);
  return width > 0 ? static_cast<float>(pixels) / static_cast<float>(width) : 1;
}

void set_callbacks(GLFWwindow* window) {
  glfwSetKeyCallback(window, [](GLFWwindow* w, int key, int scancode, int action, int bits) {
    if (key >= GLFW_KEY_LEFT_SHIFT && key <= GLFW_KEY_RIGHT_SUPER) {
      // On X11 the bits of a modifier's own press and release are those of before.
      queue_of(w).push(InputEvent::ModifierChange{modifiers_now(w)});
    } else if (const auto known = key_of(key, scancode)) {
      queue_of(w).push(
          InputEvent::KeyChange{*known, action != GLFW_RELEASE, action == GLFW_REPEAT, modifiers_of(bits)});
    }
  });
  glfwSetCharCallback(window, [](GLFWwindow* w, unsigned code) { queue_of(w).push(InputEvent::Character{code}); });
  glfwSetMouseButtonCallback(window, [](GLFWwindow* w, int button, int action, int bits) {
    if (button < 3) queue_of(w).push(InputEvent::Button{button, action == GLFW_PRESS, modifiers_of(bits)});
  });
  glfwSetCursorPosCallback(window, [](GLFWwindow* w, double x, double y) {
    const double pixels = density(w);
    queue_of(w).push(InputEvent::Move{static_cast<float>(x * pixels), static_cast<float>(y * pixels)});
  });
  glfwSetScrollCallback(window, [](GLFWwindow* w, double x, double y) {
    queue_of(w).push(InputEvent::Wheel{static_cast<float>(x), static_cast<float>(y), modifiers_now(w)});
  });
  glfwSetCursorEnterCallback(window, [](GLFWwindow* w, int entered) {
    if (entered == GLFW_FALSE) queue_of(w).push(InputEvent::Leave{});
  });
  glfwSetWindowFocusCallback(
      window, [](GLFWwindow* w, int focused) { queue_of(w).push(InputEvent::Focus{focused == GLFW_TRUE}); });
  glfwSetWindowCloseCallback(window, [](GLFWwindow* w) {
    glfwSetWindowShouldClose(w, GLFW_FALSE);
    queue_of(w).push(InputEvent::Close{});
  });
  glfwSetWindowRefreshCallback(window, [](GLFWwindow* w) { queue_of(w).push(InputEvent::Redraw{}); });
  glfwSetWindowContentScaleCallback(window,
                                    [](GLFWwindow* w, float, float) { queue_of(w).push(InputEvent::Redraw{}); });
  glfwSetDropCallback(window, [](GLFWwindow* w, int count, const char** paths) {
    queue_of(w).push(InputEvent::Drop{{paths, paths + count}});
  });
}

// GLFW's newest error as the end of a sentence.
std::string reason() {
  const char* why = nullptr;
  return glfwGetError(&why) == GLFW_NO_ERROR ? std::string() : " (" + std::string(why) + ")";
}

// With its frame, as far as that is known.
void fit_into_work_area(GLFWwindow* window) {
  GLFWmonitor* monitor = glfwGetPrimaryMonitor();
  if (monitor == nullptr) return;
  int x = 0, y = 0, area_width = 0, area_height = 0, left = 0, top = 0, right = 0, bottom = 0, width = 0, height = 0;
  glfwGetMonitorWorkarea(monitor, &x, &y, &area_width, &area_height);
  glfwGetWindowFrameSize(window, &left, &top, &right, &bottom);
  glfwGetWindowSize(window, &width, &height);
  const int most_width = area_width - left - right, most_height = area_height - top - bottom;
  if (most_width <= 0 || most_height <= 0 || (width <= most_width && height <= most_height)) return;
  glfwSetWindowSize(window, std::min(width, most_width), std::min(height, most_height));
  glfwSetWindowPos(window, x + left, y + top);
}

GLFWwindow* make_window(const std::string& title, int width, int height, bool core) {
  glfwDefaultWindowHints();
  glfwWindowHint(GLFW_DEPTH_BITS, 0);
  glfwWindowHint(GLFW_STENCIL_BITS, 0);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, core ? 3 : 0);
  if (core) {
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
  }
  return glfwCreateWindow(width, height, title.c_str(), nullptr, nullptr);
}

}  // namespace

Window::Window(const std::string& title, int width, int height, bool fits) {
  static const char* const kWayOn =
      "start it on a desktop, or use --screenshot or --view-dump, which need no display, or `spscope report RUN.db`";
  if (glfwInit() == GLFW_FALSE) throw Error(ErrorCode::kUsage, "there is no display" + reason(), kWayOn);
  window_ = make_window(title, width, height, true);
  if (window_ == nullptr) {
    core_ = false;
    window_ = make_window(title, width, height, false);
  }
  if (window_ == nullptr) {
    const std::string why = reason();
    glfwTerminate();
    throw Error(ErrorCode::kUsage, "this display has no OpenGL 3" + why,
                std::string("over `ssh -X` that is usual; ") + kWayOn);
  }
  if (fits) fit_into_work_area(window_);
  glfwMakeContextCurrent(window_);
  glfwSwapInterval(1);
  glfwSetWindowUserPointer(window_, &input_);
  set_callbacks(window_);
  glfwSetWindowSizeLimits(window_, kLeastWidth, kLeastHeight, GLFW_DONT_CARE, GLFW_DONT_CARE);
  set_up_keys(ImGui::GetIO());
  set_clipboard<get_clipboard, put_on_clipboard>(window_);
}

Window::~Window() {
  glfwDestroyWindow(window_);
  glfwTerminate();
}

int Window::width() const {
  int w = 0, h = 0;
  glfwGetFramebufferSize(window_, &w, &h);
  return w;
}
int Window::height() const {
  int w = 0, h = 0;
  glfwGetFramebufferSize(window_, &w, &h);
  return h;
}
int Window::logical_width() const {
  int w = 0, h = 0;
  glfwGetWindowSize(window_, &w, &h);
  return w;
}
int Window::logical_height() const {
  int w = 0, h = 0;
  glfwGetWindowSize(window_, &w, &h);
  return h;
}
float Window::scale() const {
  float x = 1, y = 1;
  glfwGetWindowContentScale(window_, &x, &y);
  return std::isfinite(x) && x > 0 ? x : 1;
}
bool Window::minimized() const { return glfwGetWindowAttrib(window_, GLFW_ICONIFIED) == GLFW_TRUE; }
void Window::set_title(const std::string& title) { glfwSetWindowTitle(window_, title.c_str()); }

void Window::show_cursor() {
  const ImGuiMouseCursor wanted = ImGui::GetMouseCursor();
  if (wanted == cursor_) return;
  cursor_ = wanted;
  GLFWcursor* shape = nullptr;
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    if (kShapes[i].first != wanted) continue;
    if (cursors_[i] == nullptr) cursors_[i] = glfwCreateStandardCursor(kShapes[i].second);
    shape = cursors_[i];
  }
  glfwSetCursor(window_, shape);
}

void Window::swap() { glfwSwapBuffers(window_); }

void Window::wait(std::optional<double> seconds) {
  if (!seconds) {
    glfwWaitEvents();
  } else if (*seconds <= 0) {
    glfwPollEvents();
  } else {
    glfwWaitEventsTimeout(*seconds);
  }
}

void Window::wake() { glfwPostEmptyEvent(); }

}  // namespace spscope::gui
