#include "gui/platform/headless.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>

#include <algorithm>
#include <string>

#include "backend/base/error.h"

namespace spscope::gui {
namespace {

EGLDisplay open_display() {
  const auto get = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(eglGetProcAddress("eglGetPlatformDisplayEXT"));
  EGLDisplay display = EGL_NO_DISPLAY;
  if (get != nullptr) display = get(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
  if (display != EGL_NO_DISPLAY && eglInitialize(display, nullptr, nullptr) == EGL_TRUE) return display;
  // The driver of NVIDIA has devices instead.
  const auto query = reinterpret_cast<PFNEGLQUERYDEVICESEXTPROC>(eglGetProcAddress("eglQueryDevicesEXT"));
  EGLDeviceEXT devices[16];
  EGLint count = 0;
  if (get != nullptr && query != nullptr && query(16, devices, &count) == EGL_TRUE)
    for (EGLint i = 0; i < count; ++i) {
      display = get(EGL_PLATFORM_DEVICE_EXT, devices[i], nullptr);
      if (display != EGL_NO_DISPLAY && eglInitialize(display, nullptr, nullptr) == EGL_TRUE) return display;
    }
  display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  return display != EGL_NO_DISPLAY && eglInitialize(display, nullptr, nullptr) == EGL_TRUE ? display : EGL_NO_DISPLAY;
}

EGLContext make_context(EGLDisplay display, bool core) {
  const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, EGL_DONT_CARE, EGL_NONE};
  EGLConfig config = nullptr;
  EGLint count = 0;
  if (eglBindAPI(EGL_OPENGL_API) != EGL_TRUE) return EGL_NO_CONTEXT;
  eglChooseConfig(display, wanted, &config, 1, &count);
  const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION,
                            3,
                            EGL_CONTEXT_MINOR_VERSION,
                            core ? 3 : 0,
                            core ? EGL_CONTEXT_OPENGL_PROFILE_MASK : EGL_NONE,
                            EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                            EGL_NONE};
  return eglCreateContext(display, count > 0 ? config : nullptr, EGL_NO_CONTEXT, version);
}

[[noreturn]] void fail(const std::string& why) {
  throw Error(ErrorCode::kUsage, "pictures need OpenGL 3 through EGL: " + why,
              "install a driver, as libegl1 and libgl1-mesa-dri; --view-dump and --ui-dump need none");
}

}  // namespace

HeadlessSurface::HeadlessSurface(int width, int height) : width_(width), height_(height) {
  display_ = open_display();
  if (display_ == EGL_NO_DISPLAY) fail("there is no EGL display");
  context_ = make_context(display_, true);
  if (context_ == EGL_NO_CONTEXT) {
    core_ = false;
    context_ = make_context(display_, false);
  }
  if (context_ == EGL_NO_CONTEXT || eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, context_) != EGL_TRUE)
    fail("it makes no context without a window");
  glGenTextures(1, &color_);
  glBindTexture(GL_TEXTURE_2D, color_);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glGenFramebuffers(1, &framebuffer_);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, color_, 0);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) fail("the picture is too large");
  glViewport(0, 0, width, height);
}

HeadlessSurface::~HeadlessSurface() {
  eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglDestroyContext(display_, context_);
  eglTerminate(display_);
}

std::vector<std::uint8_t> HeadlessSurface::pixels() const {
  const std::size_t row = static_cast<std::size_t>(width_) * 4;
  std::vector<std::uint8_t> from_below(row * static_cast<std::size_t>(height_)), out(from_below.size());
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, width_, height_, GL_RGBA, GL_UNSIGNED_BYTE, from_below.data());
  for (std::size_t y = 0; y < static_cast<std::size_t>(height_); ++y)
    std::copy_n(from_below.data() + (static_cast<std::size_t>(height_) - 1 - y) * row, row, out.data() + y * row);
  return out;
}

}  // namespace spscope::gui
