#include "gui/ui/fonts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "gui/imgui_compat.h"

namespace spscope::gui {
namespace {

namespace fs = std::filesystem;

// Always there: Latin, Greek, general punctuation, super- and subscripts, arrows, mathematical signs, geometric shapes.
constexpr std::array<std::pair<unsigned short, unsigned short>, 9> kRanges = {{{0x20, 0x17f},
                                                                               {0x370, 0x3ff},
                                                                               {0x2010, 0x2044},
                                                                               {0x2070, 0x209f},
                                                                               {0x2190, 0x21ff},
                                                                               {0x2200, 0x22ff},
                                                                               {0x2300, 0x2335},
                                                                               {0x25a0, 0x25ff},
                                                                               {0xfffd, 0xfffd}}};

bool always_there(char32_t c) {
  return std::ranges::any_of(kRanges, [&](const auto& range) { return c >= range.first && c <= range.second; });
}

// Code points of valid UTF-8; what is not is skipped.
template <typename Visit>
void for_each_character(std::string_view text, Visit&& visit) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    char32_t c = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (std::size_t k = 1; k < length && i + k < text.size(); ++k)
      c = c << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3fu);
    visit(c);
    i += length;
  }
}

constexpr std::array<float, kNumFaces> kDesignSizes = {15, 15, 12.5F, 20, 13.5F};

}  // namespace

Fonts::Fonts(std::vector<std::string> folders) {
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    std::error_code ignored;
    for (auto at = fs::recursive_directory_iterator(folder, ignored); at != fs::recursive_directory_iterator();
         at.increment(ignored)) {
      if (ignored) break;
      if (at->is_regular_file(ignored)) found.push_back(at->path().string());
    }
  }
  std::ranges::sort(found);
  const auto first = [&](std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
      for (const std::string& path : found)
        if (path.ends_with(name)) return path;
    return std::string();
  };
  body_ = first({"/Inter-Regular.otf", "/Inter-Regular.ttf", "/DejaVuSans.ttf"});
  bold_ = first({"/Inter-SemiBold.otf", "/Inter-SemiBold.ttf", "/DejaVuSans-Bold.ttf"});
  mono_ = first({"/JetBrainsMono-Regular.ttf", "/JetBrainsMono-Regular.otf", "/DejaVuSansMono.ttf"});
  for (const std::string_view name : {"/DejaVuSans.ttf", "/NotoSansCJK-Regular.ttc", "/NotoSans-Regular.ttf"})
    if (const std::string path = first({name}); !path.empty() && path != body_) fallback_.push_back(path);
}

bool Fonts::need(std::string_view utf8) {
  for_each_character(utf8, [&](char32_t c) {
    if (c < 0x20 || c > 0xffff || always_there(c)) return;
    if (extra_.insert(c).second) stale_ = true;
  });
  return stale_;
}

void Fonts::bake(float scale) {
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  atlas.Clear();
  ranges_.clear();
  for (const auto& [first, last] : kRanges) ranges_.insert(ranges_.end(), {first, last});
  for (const char32_t c : extra_)
    ranges_.insert(ranges_.end(), {static_cast<unsigned short>(c), static_cast<unsigned short>(c)});
  ranges_.push_back(0);
  const std::array<const std::string*, kNumFaces> files = {&body_, &bold_, &body_, &bold_, &mono_};
  use_freetype(atlas);
  for (std::size_t face = 0; face < kNumFaces; ++face) {
    sizes_[face] = std::round(kDesignSizes[face] * scale);
    ImFontConfig config;
    config.OversampleH = config.OversampleV = 1;
    config.PixelSnapH = true;
    const auto add = [&](const std::string& file) {
      return atlas.AddFontFromFileTTF(file.c_str(), sizes_[face], &config, ranges_.data());
    };
    ImFont* font = files[face]->empty() ? nullptr : add(*files[face]);
    if (font == nullptr) {
      config.SizePixels = sizes_[face];
      font = atlas.AddFontDefault(&config);
    }
    config.MergeMode = true;
    for (const std::string& file : fallback_) add(file);
    fonts_[face] = font;
  }
  build_fonts(atlas);
  stale_ = false;
}

}  // namespace spscope::gui
