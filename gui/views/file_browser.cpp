#include "gui/views/file_browser.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "backend/base/number_text.h"
#include "gui/imgui_compat.h"

namespace spscope::gui {
namespace {

namespace fs = std::filesystem;

// More in one folder are not listed: the path can be typed.
constexpr std::size_t kMostEntries = 5000;

}  // namespace

void FileBrowser::enter(const std::string& folder) {
  folder_ = fs::path(folder).lexically_normal().string();
  typed_ = folder_.ends_with('/') ? folder_ : folder_ + "/";
  listed_ = false;
}

void FileBrowser::list() {
  listed_ = true;
  entries_.clear();
  problem_.clear();
  std::error_code fault;
  for (auto at = fs::directory_iterator(folder_, fs::directory_options::skip_permission_denied, fault);
       !fault && at != fs::directory_iterator() && entries_.size() < kMostEntries; at.increment(fault)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    const bool folder = at->is_directory(ignored);
    if (name.starts_with('.') || (!folder && !name.ends_with(ending_))) continue;
    entries_.push_back({name, folder, folder ? 0 : static_cast<std::int64_t>(at->file_size(ignored))});
  }
  if (fault) problem_ = folder_ + ": " + fault.message();
  std::ranges::sort(entries_,
                    [](const Entry& a, const Entry& b) { return a.folder != b.folder ? a.folder : a.name < b.name; });
}

std::string FileBrowser::completed(const std::string& typed) {
  const fs::path path(typed);
  if (path.parent_path() != fs::path(folder_)) {
    folder_ = path.parent_path().string();
    list();
  }
  const std::string begun = path.filename().string();
  std::optional<std::string> common;
  for (const Entry& entry : entries_) {
    if (!entry.name.starts_with(begun)) continue;
    if (!common) common = entry.name + (entry.folder ? "/" : "");
    const auto [a, b] = std::ranges::mismatch(*common, entry.name);
    if (a != common->end() && !(entry.folder && b == entry.name.end())) common->erase(a, common->end());
  }
  return common && common->size() > begun.size() ? (path.parent_path() / *common).string() : typed;
}

std::optional<std::string> FileBrowser::draw(Ui& ui) {
  const Ui::Scope inside = ui.scope("browser");
  if (folder_.empty()) {
    std::error_code ignored;
    enter(fs::current_path(ignored).string());
  }
  if (!listed_) list();
  std::optional<std::string> chosen;
  if (ui.button("up", "↑", {.tooltip = "The folder above"})) enter(fs::path(folder_).parent_path().string());
  ui.same_line();
  ui.field("path", typed_,
           {.width = std::min(ui.px(620), ui.width_left() - ui.px(90)),
            .hint = "Path; Tab completes it",
            .mono = true,
            .focus = std::exchange(focus_, false),
            .complete = [this](const std::string& text) { return completed(text); }});
  const bool by_key = ImGui::IsItemDeactivated() && key_pressed(Key::kEnter);
  ui.same_line();
  std::error_code ignored;
  const bool entered = ui.button("open", "Open", {.primary = true}) || by_key;
  if (entered) {
    if (fs::is_directory(typed_, ignored)) {
      enter(typed_);
    } else if (fs::exists(typed_, ignored)) {
      chosen = typed_;
    } else {
      problem_ = "There is no file " + typed_ + ".";
    }
  }
  if (!problem_.empty()) ui.text(problem_, {.ink = Token::kWarn, .wrap = true});
  ui.pane("files", {.height = ui.px(240), .back = Token::kRaised, .border = true}, [&] {
    if (entries_.empty()) ui.note("No folders and no " + ending_ + " files are here.");
    for (const Entry& entry : entries_) {
      const std::string label = entry.folder ? entry.name + "/" : entry.name;
      if (ui.link(entry.name, label, {.ink = entry.folder ? Token::kInk : Token::kAccent, .max_width = ui.px(420)})) {
        const std::string path = (fs::path(folder_) / entry.name).string();
        if (entry.folder) {
          enter(path);
          return;
        }
        chosen = path;
      }
      if (entry.folder) continue;
      ui.same_line();
      ui.text(bytes_text(static_cast<double>(entry.bytes)), {.face = Face::kSmall, .ink = Token::kMuted});
    }
  });
  return chosen;
}

}  // namespace spscope::gui
