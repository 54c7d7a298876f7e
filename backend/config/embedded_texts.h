// The files of clusters/, gpus/ and implementations/, built into the program (embed_texts.cmake writes the source).
#pragma once

#include <span>
#include <string_view>

namespace spscope {

struct EmbeddedText {
  std::string_view name, content;
};
// Each in alphabetical order of the file names.
std::span<const EmbeddedText> embedded_clusters();
std::span<const EmbeddedText> embedded_gpus();
std::span<const EmbeddedText> embedded_implementations();

}  // namespace spscope
