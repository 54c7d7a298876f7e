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
    QuerySlot<OwnedHead>* slot = nullptr;
    const OwnedHead* owned = nullptr;
  };
  void ask(Session& session);
  void toolbar(Ui& ui, Session& session);
  void draw_grid(Ui& ui, Session& session, float width);
  void draw_panels(Ui& ui, Session& session);
  void draw_panel(Ui& ui, Session& session, const Panel& panel, float side);
  static void draw_loads(Ui& ui, const Rect& picture, const BlockMask& mask, int head);
  void make_atlas(const HeadPictures& pictures, Appearance appearance);
  void make_picture(Ui& ui, const Panel& panel, int head, const std::string& key);
  // To the next layer pass along the way that is played: denoise steps of a layer, or layers of a step; behind the last
  // is the first.
  void move(Session& session, int by);
  // Plays or stops; with less motion, goes one on.
  void play(Session& session);
  // From the selected strategy, which waits for the selected rank, on to its comparison with the fastest.
  static void draw_next_step(Ui& ui, Session& session);
  static void draw_late_rank(Ui& ui, Session& session);
  int head(Session& session) const;
  // The rank that computes most of a head under the selected strategy: from the heads of each rank in the results.
  std::vector<int> owners_of_heads(const Session& session) const;
  std::vector<int> ordered(const Session& session) const;

  QuerySlot<std::optional<HeadPictures>> pictures_, other_pictures_;
  QuerySlot<BlockMask> mask_, other_mask_;
  QuerySlot<std::vector<std::int64_t>> tiles_;  // active ones by head
  std::map<std::string, std::unique_ptr<QuerySlot<OwnedHead>>> owners_;
  std::vector<Panel> panels_;
  Texture atlas_;
  std::string atlas_key_;
  std::map<std::string, std::pair<std::string, Texture>> large_;  // by strategy: what it shows
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
