// Heads: which blocks of keys each block of queries attends to, of all heads of a layer pass at once and of one head
// large, with the rank that computes each tile under every chosen strategy.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gui/platform/renderer.h"
#include "gui/views/heads/heads_data.h"
#include "gui/views/view.h"

namespace spscope::gui {

class HeadsView final : public View {
 public:
  void draw(Ui& ui, Session& session) override;
  void draw_details(Ui& ui, Session& session) override;
  bool run(Command command, Ui& ui, Session& session) override;
  Json dump(Session& session) override;
  std::optional<double> next_frame_s() override { return playing_ ? std::optional(0.5) : std::nullopt; }

 private:
  enum class Order { kHead, kDensity, kTiles, kOwner };
  struct Panel {  // a large picture
    Chosen chosen;
    std::shared_ptr<const LargeHead> large;  // while another is being made the one before; absent without a mask
    const OwnedHead* owned() const { return large && large->owned ? &*large->owned : nullptr; }
  };
  struct Textures {
    std::shared_ptr<const LargeHead> of;
    Texture tiles, row_bars, column_bars;
  };
  void ask(Session& session);
  void ask_masks(Session& session, const Chosen& of, LayerPass pass, AttendedAxis axis);
  Panel ask_panel(Session& session, const Chosen& chosen, LayerPass pass, AttendedAxis axis);
  static std::string data_key(const Session& session, const Chosen& of, LayerPass pass);
  // Of those that the selected rank attends, the densest.
  void choose_first_head(const Session& session);
  void toolbar(Ui& ui, Session& session);
  // To the heads of the selected rank where they fit the pane, else to the one that is shown large.
  void scroll_to_shown(const Session& session, const std::vector<int>& heads, int columns, float row_height);
  void draw_scale(Ui& ui, float width) const;
  void draw_grid(Ui& ui, Session& session, float width);
  void draw_panels(Ui& ui, Session& session);
  void draw_panel(Ui& ui, Session& session, const Panel& panel, float side);
  static void draw_tiles(Ui& ui, const Rect& picture, const Textures& textures);
  const Textures& textures_of(const Panel& panel);
  void make_atlas(const HeadPictures& pictures, Appearance appearance);
  // To the next layer pass along the way that is played: denoise steps of a layer, or layers of a step; behind the last
  // is the first.
  void move(Session& session, int by);
  // Plays or stops; with less motion, goes one on.
  void play(Session& session);
  // From the selected strategy, which waits for the selected rank, on to its comparison with the fastest.
  static void draw_next_step(Ui& ui, Session& session);
  static void draw_late_rank(Ui& ui, Session& session);
  int head(const Session& session) const { return session.selection().head.value_or(first_head_); }
  // By head; empty until the mask of the layer pass is there.
  const std::vector<double>& exact_density();
  std::vector<int> ordered();
  // Whether a tile of the shown mask is active.
  bool attended(int head, std::pair<int, int> tile);

  QuerySlot<std::optional<HeadPictures>> pictures_, other_pictures_;
  QuerySlot<StepMask> mask_, other_mask_;
  QuerySlot<HeadRanks> ranks_;  // under the selected strategy
  std::map<StrategyKey, std::unique_ptr<QuerySlot<LargeHead>>> large_;
  std::vector<Panel> panels_;
  Texture atlas_;
  std::string atlas_key_;
  std::string scrolled_to_;  // the choice that the grid was scrolled to
  std::map<StrategyKey, Textures> textures_;
  Appearance appearance_ = Appearance::kDark;
  int first_head_ = 0;  // that is shown when none is selected
  Order order_ = Order::kHead;
  bool owner_overlay_ = true, spatial_ = true, difference_ = false, playing_ = false;
  bool by_ring_step_ = false;  // the colours of owned tiles, else by rank
  bool along_layers_ = false;  // what is played
  bool make_lost_ = false;     // the user wants thumbnails that the file has lost
  int other_step_ = 0;
  double last_step_s_ = 0;
  std::optional<std::pair<int, int>> cursor_, next_cursor_;  // tile under the pointer
};

}  // namespace spscope::gui
