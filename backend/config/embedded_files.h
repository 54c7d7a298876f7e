// Files that are built into the program, each parsed when it is first asked for: all of them together take longer to
// parse than most commands run.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/base/check.h"
#include "backend/base/result.h"
#include "backend/config/embedded_texts.h"

namespace spscope {

// `Parsed` has the member `name`, which is that of its file without ".toml". Several threads may ask at a time.
template <typename Parsed>
class EmbeddedFiles {
 public:
  using Parse = Result<Parsed> (*)(std::string_view text, std::string_view file);

  EmbeddedFiles(std::span<const EmbeddedText> texts, Parse parse) : parse_(parse) {
    for (const EmbeddedText& text : texts) files_.emplace_back().text = text;
  }

  std::vector<std::string_view> names() {
    std::vector<std::string_view> names;
    for (const File& file : files_) names.push_back(name_of(file));
    return names;
  }
  const Parsed* find(std::string_view name) {
    for (File& file : files_)
      if (name_of(file) == name) return &parsed(file);
    return nullptr;
  }

 private:
  struct File {
    EmbeddedText text;
    std::once_flag once;
    std::optional<Parsed> parsed;
  };

  static std::string_view name_of(const File& file) {
    return file.text.name.substr(0, file.text.name.size() - std::string_view(".toml").size());
  }
  const Parsed& parsed(File& file) {
    std::call_once(file.once, [&] {
      auto parsed = parse_(file.text.content, file.text.name);
      SPSCOPE_CHECK(parsed.has_value() && parsed->name == name_of(file));  // else the program has a defect
      file.parsed = *std::move(parsed);
    });
    return *file.parsed;
  }

  Parse parse_;
  std::deque<File> files_;
};

}  // namespace spscope
