// Ui: what views draw with. Every text and everything that can be clicked goes through it, so that texts from files are
// literal, cut texts have a tooltip, the keyboard reaches each control, and the dump (ui_dump.h) knows all of it.
//
// Layout is that of Dear ImGui: controls stand below each other, or beside after same_line(). Lengths are in pixels;
// px() scales those of the design. Names are unique within their scope; texts of files may be names.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gui/ui/fonts.h"
#include "gui/ui/theme.h"
#include "gui/ui/ui_dump.h"

struct ImDrawList;

namespace spscope::gui {

// Text as it is drawn: one line of valid UTF-8 without control characters and marks of direction.
std::string shown(std::string_view text);

struct TextStyle {
  Face face = Face::kBody;
  Token ink = Token::kInk;
  float max_width = 0;  // 0: what is left of the pane
  bool wrap = false;    // breaks lines instead of cutting
  bool right = false;   // aligned to the right edge of max_width
  bool beside = false;  // in a line with controls: as high as they are, in the middle
  std::string_view tooltip = {};
};

struct ButtonStyle {
  bool primary = false, quiet = false, selected = false;
  std::string_view tooltip = {};
  std::string_view disabled_why = {};  // not empty: it cannot be pressed, and why
  float width = 0;                     // 0: as wide as its label
  bool left = false;                   // label at the left edge
};

struct FieldStyle {
  float width = 0;
  std::string_view hint = {};     // while it is empty
  std::string_view problem = {};  // not empty: what is wrong with the value, shown below
  bool mono = false, focus = false;
  int lines = 1;
  std::function<std::string(const std::string&)> complete = {};  // what Tab makes of the text
};

// What the pointer and the keyboard did to an area.
struct Hit {
  bool clicked = false, double_clicked = false, right_clicked = false, hovered = false, held = false, focused = false;
  bool dragged = false;          // moved while held
  float drag_x = 0, drag_y = 0;  // since the last frame
  explicit operator bool() const { return clicked; }
};

enum class BannerTone { kNote, kWarning, kError, kDone };

class Ui {
 public:
  Ui(const Theme& theme, Fonts& fonts, UiDump* dump) : theme_(theme), fonts_(fonts), dump_(dump) {}
  Ui(const Ui&) = delete;
  Ui& operator=(const Ui&) = delete;

  const Theme& theme() const { return theme_; }
  float px(float design) const { return theme_.px(design); }
  unsigned color(Token token, float opacity = 1) const { return color(theme_.color(token), opacity); }
  static unsigned color(Rgb rgb, float opacity = 1);  // as draw lists take it

  // Names of what follows begin with this one, until the scope ends.
  class Scope {
   public:
    Scope(Ui& ui, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Ui& ui_;
    std::size_t length_;
  };
  [[nodiscard]] Scope scope(std::string_view name) { return {*this, name}; }
  const std::string& path() const { return path_; }

  // A pane with a colour of its own, which scrolls where its content is larger. `content` draws it. A width or height
  // of 0 takes what is left, below 0 leaves so much.
  struct PaneStyle {
    float width = 0, height = 0;
    Token back = Token::kSurface;
    bool padded = true, scroll_x = false, border = false, fixed = false;  // fixed: it never scrolls
  };
  void pane(std::string_view name, const PaneStyle& style, const std::function<void()>& content);
  Token back() const { return back_; }
  float width_left() const;
  float height_left() const;
  void same_line(float gap = 8);  // gap in the design's pixels
  void space(float design);
  void rule();

  // -- text
  void text(std::string_view text, const TextStyle& style = {});
  void heading(std::string_view text);
  void note(std::string_view text) { this->text(text, {.ink = Token::kMuted, .wrap = true}); }
  // At a place of the window, cut at max_width, which must be given; returns where it stands. `on`: what is behind it.
  Rect text_at(float x, float y, std::string_view text, const TextStyle& style, std::optional<Rgb> on = {},
               std::optional<Rgb> ink = {});
  float text_width(std::string_view text, Face face = Face::kBody) const;
  float line_height(Face face = Face::kBody) const;

  // -- controls
  bool button(std::string_view name, std::string_view label, const ButtonStyle& style = {});
  bool link(std::string_view name, std::string_view label, const TextStyle& style = {.ink = Token::kAccent});
  bool checkbox(std::string_view name, std::string_view label, bool& on, std::string_view tooltip = {});
  // One of several, behind a button that shows it.
  bool choice(std::string_view name, std::span<const std::string> options, int& index, float width = 0,
              std::string_view tooltip = {});
  // One of a few, side by side.
  bool segments(std::string_view name, std::span<const std::string> options, int& index);
  bool field(std::string_view name, std::string& value, const FieldStyle& style = {});
  bool slider(std::string_view name, int& value, int least, int most, float width);
  // Between two panes; `size` is that of the one before it, or after it when `after`.
  bool splitter(std::string_view name, bool vertical, float& size, float least, float most, bool after = false);
  void badge(std::string_view text, Token ink, Token back, bool dashed = false, std::string_view tooltip = {});
  // Words of more than a line with a coloured edge; true when its button, if it has a label, is pressed.
  bool banner(std::string_view name, BannerTone tone, std::string_view text, std::string_view action = {});
  // The same of several paragraphs, each cut at the end of its line where they are not `wrapped`.
  bool banner(std::string_view name, BannerTone tone, std::span<const std::string> paragraphs, std::string_view action,
              bool wrapped);
  // A bar with words; without a fraction it only says that something goes on. True when Cancel is pressed.
  bool progress(std::string_view name, std::optional<double> fraction, std::string_view words, bool can_cancel);
  // Why there is nothing to see, and a button that mends it.
  bool empty_state(std::string_view name, std::string_view why, std::string_view action = {});

  // -- drawing of one's own
  // Takes an area for clicks, of the kind that the dump names. `selected` and `text` are for the dump.
  struct TargetStyle {
    std::string_view kind = "mark", text = {}, tooltip = {}, value = {};
    bool selected = false, disabled = false;
    bool small = false;  // one of many that stand closely: its size does not count as that of a target
    bool ring = true;    // an outline while it has the focus of the keyboard
  };
  Hit target(std::string_view name, const Rect& rect, const TargetStyle& style);
  // Only for the dump: a mark that is drawn and is part of a larger target.
  void mark(std::string_view name, const Rect& rect, std::string_view text = {}, bool selected = false,
            std::optional<Rgb> ink = {});
  // Whether marks are worth their names.
  bool is_dumped() const { return dump_ != nullptr; }
  void tooltip(const std::function<void()>& content);
  void tooltip(std::string_view text);
  // A menu at the control before it, or a dialog in the middle. `content` returns false to close it.
  void open_popup(std::string_view name);
  bool popup(std::string_view name, const std::function<bool()>& content, bool centered = false, float width = 0);

  ImDrawList& draw_list() const;
  void fill(const Rect& rect, unsigned color, float rounding = 0) const;
  void outline(const Rect& rect, unsigned color, float rounding = 0, float thickness = 1) const;
  // Slanted lines: times that come from a model.
  void hatch(const Rect& rect, unsigned color) const;
  // What is older than what was asked for, until that is there: it is covered in part by the colour behind it.
  void dim(const Rect& rect);
  Rect clip() const;

  // The keys of each command, by its number, for tooltips; must live as long as this.
  void name_keys(std::span<const std::string> keys) { keys_ = keys; }
  std::string_view keys(std::size_t command) const {
    return command < keys_.size() ? std::string_view(keys_[command]) : std::string_view();
  }

  // The user copies what is selected: the first that has a selection takes it.
  void ask_copy() { copy_asked_ = true; }
  bool take_copy() { return std::exchange(copy_asked_, false); }

  // Whether a frame changed something that the next one shows: it is drawn at once.
  void again() { again_ = true; }
  bool wants_another_frame() const { return again_; }

 private:
  friend class Scope;
  void record(std::string_view name, std::string_view kind, const Rect& rect, UiItem item);
  bool begin_popup(std::string_view name, bool centered, float width);

  const Theme& theme_;
  Fonts& fonts_;
  UiDump* dump_;
  std::span<const std::string> keys_;
  std::string path_;
  Token back_ = Token::kPage;
  int layer_ = 0;
  bool again_ = false, copy_asked_ = false;
  bool scrolls_x_ = false, scrolls_y_ = false;  // this pane or one around it
};

// As much of one line as fits, with an ellipsis where it was cut.
std::string elided(const Ui& ui, std::string_view text, float width, Face face);

}  // namespace spscope::gui
