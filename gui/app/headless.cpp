#include "gui/app/headless.h"

#include <imgui.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include "backend/base/whole_file.h"
#include "backend/report/png.h"
#include "gui/app/app.h"
#include "gui/platform/headless.h"
#include "gui/platform/renderer.h"

namespace spscope::gui {
namespace {

// Frames after the last change, for layouts that follow from the one before.
constexpr int kSettling = 4;
// After which a question that is not answered shows words, and a little more.
constexpr std::chrono::milliseconds kWordsCome{800};

struct HeadlessContext {
  HeadlessContext() {
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
  }
  ~HeadlessContext() { ImGui::DestroyContext(); }
};

void write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text;
  } else {
    write_whole_file(path, text);
  }
}

}  // namespace

int run_headless(const Options& options) {
  const HeadlessContext context;
  ImGuiIO& io = ImGui::GetIO();
  std::unique_ptr<HeadlessSurface> surface;
  std::unique_ptr<Renderer> renderer;
  if (options.screenshot) {
    surface = std::make_unique<HeadlessSurface>(options.width, options.height);
    renderer = std::make_unique<Renderer>(surface->core_profile());
  }
  Settings settings = options.settings && !options.settings->empty() ? load_settings(*options.settings) : Settings{};
  if (options.dark) settings.dark = options.dark;
  App app(
      std::move(settings), [] {}, options.answers);
  app.session().go(options.link);
  const Theme theme = app.theme(static_cast<float>(options.scale));
  UiDump dump;
  io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;  // also where nothing is rendered: lists may be long
  io.DisplaySize = {static_cast<float>(options.width), static_cast<float>(options.height)};
  for (int quiet = 0; quiet < kSettling;) {
    const bool bake = app.fonts().stale();
    if (bake) app.fonts().bake(theme.scale);
    io.DeltaTime = 1.0F / 60;
    if (renderer) renderer->new_frame(bake);
    ImGui::NewFrame();
    const int answered = app.session().workers().answered();
    const bool again = app.frame(theme, io.DisplaySize.x, io.DisplaySize.y, {}, &dump);
    ImGui::Render();
    if (app.session().workers().is_exhausted() && app.session().workers().busy() > 0) {
      // Words come over what takes long.
      std::this_thread::sleep_for(kWordsCome / kSettling);
      ++quiet;
    } else if (app.session().workers().busy() > 0 || app.session().workers().answered() != answered) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      quiet = 0;
    } else {
      quiet = again ? 0 : quiet + 1;
    }
  }
  if (options.screenshot) {
    renderer->draw(options.width, options.height, Ui::color(theme.color(Token::kPage)));
    write_whole_file(options.output, png_of(options.width, options.height, surface->pixels()));
  }
  if (options.view_dump) std::cout << app.view_dump(*options.view_dump).dump(2) << "\n";
  if (options.ui_dump) write_text(*options.ui_dump, dump.json().dump() + "\n");
  return 0;
}

}  // namespace spscope::gui
