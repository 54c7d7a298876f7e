// The matrix of a strategy: its ranks down, its layer passes across, each as a colour; a click goes there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "gui/platform/renderer.h"
#include "gui/session/session.h"
#include "gui/ui/ui.h"

namespace spscope::gui {

// The times of a rank in one layer pass.
struct RankPass {
  std::int64_t compute_ns = 0, wait_ns = 0;
  double excess = 0;  // of compute over the mean of its ranks: 0.31
};
struct PassMatrix {
  std::vector<LayerPass> passes;
  std::vector<std::vector<RankPass>> ranks;  // by pass, by rank
};
// Of passes that have a timeline, by denoise step and layer. Throws Error: there is no such strategy, or kCancelled.
PassMatrix load_matrix(const StoreReader& reader, const std::string& strategy_id, const Cancelled& cancelled,
                       QueryProgress& progress);

// The passes that share a column, where there are more of them than columns.
struct PassColumns {
  std::size_t passes = 0, columns = 0;  // REQUIRES: 0 < columns <= passes
  std::size_t first(std::size_t column) const { return (column * passes + columns - 1) / columns; }
  std::size_t column(std::size_t pass) const { return pass * columns / passes; }
};

class MatrixPicture {
 public:
  void draw(Ui& ui, Session& session, const Chosen& chosen);

 private:
  double value(const RankPass& pass) const;
  // The one of a column that is seen: with the largest value.
  std::size_t shown_pass(const PassMatrix& matrix, const PassColumns& columns, std::size_t column,
                         std::size_t rank) const;
  void draw_scale(Ui& ui) const;
  void paint(const std::shared_ptr<const PassMatrix>& matrix, const PassColumns& columns);

  QuerySlot<PassMatrix> slot_;
  int part_ = 0;     // compute, late peer, excess
  double most_ = 0;  // of it, that the last colour means
  // One texture, a texel a rank and column, and what it was painted from.
  Texture texture_;
  std::tuple<std::shared_ptr<const PassMatrix>, int, std::size_t> painted_;
};

}  // namespace spscope::gui
