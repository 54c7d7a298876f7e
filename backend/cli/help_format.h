// How --help looks: descriptions break below themselves, paragraphs fit the width, examples stay as they are.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace spscope {

inline constexpr int kMostColumns = 120;  // no text is set wider, whatever the terminal

// Columns of the terminal that standard output is, within 60 and 120; 120 where it is none.
int text_width();

// "name      text" with the text from the column `from` on, broken so that it fits.
std::string hanging_text(std::string_view name, std::string_view text, int from, int width);

class HelpFormat : public CLI::Formatter {
 public:
  explicit HelpFormat(int width) : width_(width) { column_width(static_cast<std::size_t>(kDescriptions)); }
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;

 private:
  static constexpr int kDescriptions = 30;  // the column where they begin
  int width_;
};

}  // namespace spscope
