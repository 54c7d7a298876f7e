// The page beside a shard. What is read of it must be what the header of now_page.h promises of any file.
#include "backend/base/check.h"
#include "backend/record/now_page.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/unit/store/sample_store.h"

namespace spscope::fuzz {

std::vector<std::string> seeds() {
  const TemporaryFolder folder;
  NowPageWriter writer(folder / "page", this_process(2, 2, 3, {1, 2, 3}));
  writer.line(2, 0).publish({.state = LaneState::kComputing, .op = 7, .begin_ns = 1'000, .sent = 12, .dropped = 3});
  writer.line(3, 2).publish({.state = LaneState::kWaitingForPeer, .op = 9, .sequence = 4, .peer = 2, .bytes = 4096});
  return {testing::read_file(folder / "page")};
}

void read(std::string_view input) {
  const NowPage page = read_now_page(as_file(input, "page"));
  SPSCOPE_CHECK(page.lines.size() ==
                static_cast<std::size_t>(page.owner.ranks) * static_cast<std::size_t>(page.owner.lanes));
  for (const NowPage::Line& line : page.lines) {
    SPSCOPE_CHECK(static_cast<int>(line.now.state) < kNumLaneStates && line.now.op >= kNone &&
                  line.now.peer >= kNoPeer);
    SPSCOPE_CHECK(0 <= line.now.dropped && line.now.dropped <= line.now.sent && line.rank >= page.owner.first_rank);
  }
}

}  // namespace spscope::fuzz
