// FileBrowser: folders and stored runs, with a field for a path that completes itself. The window brings its own, since
// a native one is missing where it is used most: over ssh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gui/ui/ui.h"

namespace spscope::gui {

class FileBrowser {
 public:
  // `ending`: of files that are listed, ".db"; folders always are.
  explicit FileBrowser(std::string ending = ".db") : ending_(std::move(ending)) {}
  // The file that was chosen.
  std::optional<std::string> draw(Ui& ui);
  const std::string& folder() const { return folder_; }
  // The keyboard goes to the field of the path.
  void focus() { focus_ = true; }

 private:
  struct Entry {
    std::string name;
    bool folder = false;
    std::int64_t bytes = 0;
  };
  void list();
  void enter(const std::string& folder);
  // The path up to where the names of entries that begin with its last part differ.
  std::string completed(const std::string& typed);

  std::string ending_, folder_, typed_, problem_;
  std::vector<Entry> entries_;
  bool listed_ = false, focus_ = false;
};

}  // namespace spscope::gui
