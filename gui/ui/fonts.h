// Fonts: Inter for text and JetBrains Mono for numbers, from where systems install them, through FreeType; DejaVu where
// they are missing, and Dear ImGui's own font where there is none at all.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

struct ImFont;

namespace spscope::gui {

enum class Face { kBody, kBold, kSmall, kTitle, kMono };
inline constexpr int kNumFaces = 5;

class Fonts {
 public:
  // Files are looked for below these folders, by default where Linux systems have fonts.
  explicit Fonts(std::vector<std::string> folders = {"/usr/share/fonts", "/usr/local/share/fonts"});

  // Bakes all faces for a scale into Dear ImGui's atlas, with the characters that texts so far asked for. REQUIRES: a
  // context, and not between NewFrame and Render.
  void bake(float scale);
  // Takes note of characters that the atlas lacks. Whether a new bake would show more of this text.
  bool need(std::string_view utf8);
  bool stale() const { return stale_; }
  ImFont* font(Face face) const { return fonts_[static_cast<int>(face)]; }
  float size(Face face) const { return sizes_[static_cast<int>(face)]; }

 private:
  std::string body_, bold_, mono_;     // paths; "": none
  std::vector<std::string> fallback_;  // for characters that these lack
  std::set<char32_t> extra_;           // beyond the ranges that are always there
  std::vector<unsigned short> ranges_;
  ImFont* fonts_[kNumFaces] = {};
  float sizes_[kNumFaces] = {};
  bool stale_ = true;
};

}  // namespace spscope::gui
