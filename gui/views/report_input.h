// ReportInput: what the document of all open files is made of, so that workers can make and write it.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/analysis/pass_picture.h"
#include "backend/report/document.h"
#include "gui/session/session.h"

namespace spscope::gui {

using PassPictures = std::vector<std::optional<PassPicture>>;  // of each comparison of a file

struct ReportInput {
  struct File {
    std::string path;
    std::shared_ptr<const FileContent> content;
    std::shared_ptr<const PassPictures> pictures;  // absent: none
  };
  std::vector<File> files;
  std::set<std::string> hidden;  // sections that are left out of documents
  bool reading = false;          // pictures are still being read

  std::vector<Comparison> comparisons() const;
  // As `spscope report` makes it: with pictures for pages, without for text.
  Report report(bool with_pictures) const;
};

}  // namespace spscope::gui
