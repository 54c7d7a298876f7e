#include "gui/launch/live_watch.h"

#include <fmt/format.h>

#include "backend/base/clock.h"

namespace spscope::gui {
namespace {

constexpr std::int64_t kFoldersEveryNs = 500'000'000;

}  // namespace

void LiveWatch::follow(Workers& workers, const std::string& out) {
  if (out != out_) {
    slot_.forget();
    out_ = out;
    eye_ = std::make_shared<Eye>();
    looked_ns_ = 0;
  }
  const std::int64_t now = now_ns();
  if (slot_.loading() || (looked_ns_ != 0 && now - looked_ns_ < kFoldersEveryNs)) return;
  looked_ns_ = now;
  slot_.ask(workers, fmt::format("{} {}", out, now),
            [out, eye = eye_](Readers&, const Cancelled&, QueryProgress&) -> WatchedRun {
              if (!eye->watch) {
                const std::optional<CollectingNote> note = find_collection(out);
                if (!note) return {};  // it has not begun yet, or it is over
                eye->watch = std::make_unique<RunWatch>(*note);
              }
              return eye->watch->look();
            });
}

const WatchedRun* LiveWatch::seen() {
  const WatchedRun* run = slot_.value();
  return run != nullptr && !run->state.empty() ? run : nullptr;
}

}  // namespace spscope::gui
