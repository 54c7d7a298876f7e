// StripPicture: many rows of strips (a byte a bucket, lod_strip_byte) as one texture, folded to the pixels of an axis
// of time. A file of a hundred million events has no more bytes on the screen than one of a thousand.
//
// A byte knows how busy its bucket is and which category leads, so a pixel that parts of several buckets fall into
// counts all the busy time of a bucket as the part of its leading category.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gui/platform/renderer.h"
#include "gui/ui/ui.h"
#include "gui/views/timeline/axis.h"
#include "gui/views/timeline/time_part.h"

namespace spscope::gui {

// Buckets of one shift of all rows, as far as they lie in a range of time.
struct StripPiece {
  int shift = 0;
  std::int64_t first_bucket = 0;                         // of which the first byte of each row is
  std::int64_t begin_ns = 0, end_ns = 0;                 // of the clock of the buckets: what is drawn of them
  std::vector<std::span<const std::uint8_t>> rows = {};  // by row; buckets behind its end are empty
  std::shared_ptr<const void> held = {};                 // what the rows lie in, where nobody else holds it
};

// A row of the picture: which of the pieces' it is, none at -1.
struct StripRow {
  int strip = -1;
  RowOf of = RowOf::kLanes;
  friend bool operator==(const StripRow&, const StripRow&) = default;
};

struct StripScene {
  std::span<const StripPiece> pieces;  // their ranges do not overlap
  std::span<const StripRow> rows;      // in order from the top; the same twice: a row twice as high
  std::int64_t zero_ns = 0;            // of the clock of the buckets: where the axis has its 0
};

// The category of a byte of a strip as a part of time.
TimePart part_of_strip(std::uint8_t byte, RowOf row);

// Pixels of rows, row by row; and of each column the share of it that any piece covers.
struct StripPixels {
  std::vector<PixelCell> cells;
  std::vector<float> covered;
};
// Into `pixels`, whose memory is used again. REQUIRES: columns > 0 and begin_ns < end_ns, on the axis.
void fold_strips(const StripScene& scene, double begin_ns, double end_ns, int columns, StripPixels& pixels);

class StripPicture {
 public:
  // Rows of equal height from the top of the rectangle to its foot; from its left to its right what the axis shows.
  // What no piece covers is left as it is.
  void draw(Ui& ui, const Rect& rect, const StripScene& scene, const TimeAxis& axis);
  // The same of rows that are pixels already: those of pixels(). REQUIRES: `rows` rows of them.
  void draw(Ui& ui, const Rect& rect, int rows);
  // What was drawn last, to be set anew: a picture of many ranks is megabytes, whose memory is used again.
  StripPixels& pixels() { return pixels_; }

 private:
  void paint(Ui& ui, const Rect& rect, int rows, std::span<const StripRow> same);

  Texture texture_;
  StripPixels pixels_;
  std::vector<std::uint32_t> texels_;
};

}  // namespace spscope::gui
