#include "gui/app/desktop.h"

#include <imgui.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "backend/base/whole_file.h"
#include "backend/config/environment.h"
#include "gui/app/app.h"
#include "gui/app/frame_times.h"
#include "gui/launch/desktop_theme.h"
#include "gui/platform/renderer.h"
#include "gui/platform/window.h"

namespace spscope::gui {
namespace {

// Frames that are drawn after the last input, answer or change on disk: hovering and layouts settle.
constexpr int kFramesAfterInput = 3;
// How often a frame tells how far it is what takes long.
constexpr double kProgressEvery = 0.1;  // old rows are dimmed after 0.1 s, words come after 0.3 s
// How often the open files are looked at on disk.
constexpr double kLookEvery = 1.0;

struct Context {
  Context() {
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    ImGui::GetIO().ConfigFlags |= ImGuiConfigFlags_NavEnableKeyboard;
  }
  ~Context() { ImGui::DestroyContext(); }
};

class Desktop {
 public:
  Desktop(const Options& options, Settings settings)
      : options_(options),
        window_("spscope", options.size_given ? options.width : settings.width,
                options.size_given ? options.height : settings.height, !options.size_given),
        renderer_(window_.core_profile()),
        app_(std::move(settings), [] { Window::wake(); }) {
    if (options.frame_times) frame_times_.emplace(*options.frame_times);
    saved_folders_ = app_.settings().run_folders;
    app_.session().go(options.link);
  }

  // `path`: of the settings.
  void run(const std::string& path) {
    double looked = 0;
    while (!app_.wants_to_quit()) {
      const double now = static_cast<double>(now_ns()) * 1e-9;
      if (now - looked >= kLookEvery) {
        looked = now;
        if (app_.session().look_at_disk()) due_ = std::max(due_, kFramesAfterInput);
      }
      const int answered = app_.session().workers().answered();
      window_.wait(wait_time(due_));
      if (!window_.input().empty() || app_.session().workers().answered() != seen_answers_ ||
          window_.width() != width_ || window_.height() != height_)
        due_ = std::max(due_, kFramesAfterInput);
      seen_answers_ = answered;
      if (const auto next = next_frame_s(); next && now_ns() >= last_frame_ns_ + static_cast<std::int64_t>(*next * 1e9))
        due_ = std::max(due_, 1);
      if (due_ == 0 || window_.minimized()) continue;
      --due_;
      if (frame()) due_ = std::max(due_, 1);
      // Where runs were written must be known at the next start also when this process is killed.
      if (app_.settings().run_folders != saved_folders_) save(path);
    }
  }

  void save(const std::string& path) {
    app_.settings().width = window_.logical_width();
    app_.settings().height = window_.logical_height();
    saved_folders_ = app_.settings().run_folders;
    if (path.empty()) return;
    if (const std::string fault = save_settings(app_.settings(), path); !fault.empty())
      std::cerr << "spscope-gui: the settings were not kept: " << fault << "\n";
  }

 private:
  // After the newest one; nothing: only when something happens.
  std::optional<double> next_frame_s() {
    std::optional<double> next = app_.next_frame_s();
    if (app_.session().any_loading() || app_.session().workers().busy() > 0)
      next = std::min(next.value_or(kProgressEvery), kProgressEvery);
    return next;
  }

  double wait_time(int due) {
    if (due > 0 || !window_.input().empty()) return 0;
    return std::min(next_frame_s().value_or(kLookEvery), kLookEvery);
  }

  // Whether the next frame is due at once.
  bool frame() {
    ImGuiIO& io = ImGui::GetIO();
    FrameTime time{.begin_ns = now_ns()};
    width_ = window_.width();
    height_ = window_.height();
    const FrameInput input = window_.input().frame(io);
    actions_ += input.actions;
    if (input.close) app_.ask_to_quit();
    if (!input.dropped.empty()) app_.drop(input.dropped);
    const float monitor = options_.scale_given ? static_cast<float>(options_.scale) : window_.scale();
    const Theme theme = app_.theme(monitor);
    const bool bake = app_.fonts().stale() || theme.scale != baked_scale_;
    if (bake) app_.fonts().bake(theme.scale);
    baked_scale_ = theme.scale;
    const std::int64_t now = now_ns();
    // Input of one breath is quick, as a double click, however long its frames take.
    io.DeltaTime = std::clamp(static_cast<float>(now - last_frame_ns_) * 1e-9F, 1e-4F, behind_ ? 0.016F : 1.F);
    behind_ = input.more;
    last_frame_ns_ = now;
    io.DisplaySize = {static_cast<float>(width_), static_cast<float>(height_)};
    renderer_.new_frame(bake);
    ImGui::NewFrame();
    // An answer that comes while the frame is drawn is only in the next one.
    const int answered = app_.session().workers().answered();
    bool asked = app_.session().workers().busy() > 0 || app_.session().any_loading();
    time.build_begin_ns = now_ns();
    const bool again =
        app_.frame(theme, io.DisplaySize.x, io.DisplaySize.y, input.presses, options_.ui_dump ? &dump_ : nullptr);
    ImGui::Render();
    asked |= app_.session().workers().answered() != answered;
    time.built_ns = now_ns();
    renderer_.draw(width_, height_, Ui::color(theme.color(Token::kPage)));
    window_.show_cursor();
    if (std::string title = app_.title(); title != title_) {
      title_ = std::move(title);
      window_.set_title(title_);
    }
    window_.swap();
    ++frames_;
    if (frame_times_) add_time(time, asked);
    if (options_.ui_dump) write_dump(again || input.more || asked);
    return again || input.more;
  }

  void add_time(FrameTime time, bool asked) {
    time.end_ns = now_ns();
    time.actions = actions_;
    time.answered = app_.session().workers().answered();
    time.busy = asked || app_.session().workers().busy() > 0;
    for (const auto& file : app_.session().files()) {
      time.early += file->early() != nullptr;
      time.ready += file->content() != nullptr;
    }
    frame_times_->add(time);
  }

  // What tests read: the controls of the newest frame, how many frames were drawn, whether more are under way, and the
  // numbers of the view.
  void write_dump(bool more) {
    Json json = Json::object();
    json["frame"] = frames_;
    json["actions"] = actions_;
    json["busy"] = more || due_ > 0 || app_.session().workers().busy() > 0 || app_.session().any_loading();
    json["link"] = link_text(app_.session().here());
    json["answered"] = app_.session().workers().answered();
    json["theme"] = app_.theme(1).appearance == Appearance::kDark ? "dark" : "light";
    json["scale"] = baked_scale_;
    json["view"] = app_.view_dump(app_.session().view());
    json["items"] = dump_.json();
    WholeFile file(*options_.ui_dump);
    file.write(json.dump() + "\n");
    file.publish();
  }

  const Options& options_;
  Window window_;
  Renderer renderer_;
  App app_;
  UiDump dump_;
  std::optional<FrameTimes> frame_times_;
  int width_ = 0, height_ = 0, seen_answers_ = 0;
  int due_ = kFramesAfterInput;             // frames that are drawn although nothing happens
  std::vector<std::string> saved_folders_;  // those of the settings when they were written last
  std::int64_t frames_ = 0, actions_ = 0, last_frame_ns_ = 0;
  float baked_scale_ = 0;
  std::string title_;    // of the window
  bool behind_ = false;  // the frame before left input
};

}  // namespace

int run_desktop(const Options& options) {
  const Context context;
  const std::string path = options.settings.value_or(settings_path());
  Settings settings = load_settings(path);
  if (options.dark) settings.dark = options.dark;
  // Without settings a window is the same on every desktop.
  if (!path.empty() && !settings.dark) settings.desktop_dark = desktop_is_dark(settings_folder()).value_or(true);
  Desktop desktop(options, std::move(settings));
  desktop.run(path);
  desktop.save(path);
  return 0;
}

}  // namespace spscope::gui
