// The cluster files of clusters/, built into the program (embed_clusters.cmake writes the source).
#pragma once

#include <span>
#include <string_view>

namespace spscope {

struct EmbeddedText {
  std::string_view name, content;
};
// In alphabetical order of their file names.
std::span<const EmbeddedText> embedded_clusters();

}  // namespace spscope
