#include "gui/app/options.h"

#include <fmt/format.h>

#include <charconv>

#include "gui/views/view.h"

namespace spscope::gui {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::kUsage, why, "see `spscope-gui --help`"); }

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

void set_size(Options& options, const std::string& text) {
  const std::size_t x = text.find('x');
  const auto width = number_of<int>(std::string_view(text).substr(0, x));
  const auto height = x == std::string::npos ? std::nullopt : number_of<int>(std::string_view(text).substr(x + 1));
  if (!width || !height || *width < 320 || *height < 240 || *width > 16384 || *height > 16384)
    refuse("--size " + text + " is not a width and height in pixels, as 1920x1080 (320x240 to 16384x16384)");
  options.width = *width;
  options.height = *height;
  options.size_given = true;
}

void check_view(const std::string& view) {
  if (find_view(view) != nullptr) return;
  std::string names;
  for (const ViewRow& row : view_rows()) names += (names.empty() ? "" : ", ") + std::string(row.id);
  refuse("there is no view \"" + view + "\"; views are " + names);
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  bool placed = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const auto value = [&]() -> const std::string& {
      if (i + 1 >= arguments.size()) refuse(argument + " needs a value");
      return arguments[++i];
    };
    if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else if (argument == "--version") {
      options.version = true;
    } else if (argument == "--screenshot") {
      options.screenshot = value();
      check_view(*options.screenshot);
    } else if (argument == "--view-dump") {
      options.view_dump = value();
      check_view(*options.view_dump);
    } else if (argument == "--ui-dump") {
      options.ui_dump = value();
    } else if (argument == "--frame-times") {
      options.frame_times = value();
    } else if (argument == "--window") {
      options.window = true;
    } else if (argument == "--output" || argument == "-o") {
      options.output = value();
    } else if (argument == "--size") {
      set_size(options, value());
    } else if (argument == "--scale") {
      const auto scale = number_of<double>(value());
      if (!scale || !(*scale >= 0.5 && *scale <= 4))
        refuse("--scale " + arguments[i] + " is not a number from 0.5 to 4");
      options.scale = *scale;
      options.scale_given = true;
    } else if (argument == "--answers") {
      options.answers = number_of<int>(value());
      if (!options.answers || *options.answers < 0) refuse("--answers " + arguments[i] + " is not a whole number");
    } else if (argument == "--theme") {
      const std::string& theme = value();
      if (theme != "dark" && theme != "light") refuse("--theme " + theme + " is neither dark nor light");
      options.dark = theme == "dark";
    } else if (argument == "--settings") {
      options.settings = value();
    } else if (argument.starts_with("-") && argument.size() > 1) {
      refuse("there is no option " + argument);
    } else {
      Result<Link> link = parse_link(argument);
      if (!link) throw link.error();
      const std::vector<std::string> before = options.link.files;
      const bool is_place = argument.find('#') != std::string::npos;
      if (is_place && placed) refuse("two links say where to go: " + argument + " is the second");
      if (is_place) {
        placed = true;
        const std::vector<std::string> files = link->files;
        options.link = *link;
        options.link.files = before;
        options.link.files.insert(options.link.files.end(), files.begin(), files.end());
      } else {
        options.link.files.insert(options.link.files.end(), link->files.begin(), link->files.end());
      }
    }
  }
  if (!options.link.view.empty()) check_view(options.link.view);
  if (options.screenshot) options.link.view = *options.screenshot;
  if (options.view_dump) options.link.view = *options.view_dump;
  if (options.screenshot && options.output.empty()) refuse("--screenshot needs -o FILE.png");
  return options;
}

std::string options_help() {
  std::string views;
  for (const ViewRow& row : view_rows()) views += (views.empty() ? "" : ", ") + std::string(row.id);
  return fmt::format(R"(spscope-gui [FILE or LINK]...

Opens stored runs in a window: who wins, where the time goes, who waits for whom, and which heads make it so.
A link is a place in the window: RUN.db#timeline?s=dbsp&layer=3&step=1&t=1.2ms..1.9ms&rank=5&op=12 (Ctrl+L copies one).

  --screenshot VIEW -o FILE.png   draw a view without a display, and end
  --view-dump VIEW                print the numbers of a view as JSON, and end
  --ui-dump FILE                  write each text and control of the view as JSON ("-": standard output), and end;
                                  with --window instead: of the window, anew with each frame
  --frame-times FILE              write when each frame of the window began and how long it took, as CSV
  --size WxH                      pixels; 1440x900 unless given, of a window at most what the screen has room for
  --scale N                       size of texts and controls, 0.5 to 4
  --theme dark|light
  --answers N                     without a display: what is shown after N answered questions, while others are asked
  --settings FILE                 settings from there; "" for none
  --version, --help

Views: {}.
)",
                     views);
}

}  // namespace spscope::gui
