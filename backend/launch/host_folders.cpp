#include "backend/launch/host_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "backend/base/result.h"
#include "backend/config/environment.h"
#include "backend/execute/agree.h"
#include "backend/job/run_output.h"

namespace spscope {
namespace {

// The text of every rank, at all of them.
std::vector<std::string> share_all(RankWorld& world, const std::string& mine) {
  std::string joined;
  for (const std::vector<std::byte>& text : world.gather(std::as_bytes(std::span(mine)))) {
    joined.append(reinterpret_cast<const char*>(text.data()), text.size());
    joined.push_back('\0');
  }
  joined = world.share(joined);
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < joined.size(); at = joined.find('\0', at) + 1)
    texts.push_back(joined.substr(at, joined.find('\0', at) - at));
  return texts;
}

// By rank, whether it says so.
std::vector<bool> share_all(RankWorld& world, bool mine) {
  std::vector<std::int64_t> said(static_cast<std::size_t>(world.size()));
  said[static_cast<std::size_t>(world.rank())] = mine ? 1 : 0;
  said = world.sum(std::move(said));
  return {said.begin(), said.end()};
}

// The lowest rank without a folder of each host.
std::vector<int> makers(const RankWorld& world, const std::vector<bool>& placed) {
  std::vector<int> lowest;
  for (int rank = 0; rank < world.size(); ++rank) {
    if (placed[static_cast<std::size_t>(rank)]) continue;
    bool is_first = true;
    for (const int other : lowest)
      is_first &=
          world.place(other).host != world.place(rank).host || world.place(other).boot_id != world.place(rank).boot_id;
    if (is_first) lowest.push_back(rank);
  }
  return lowest;
}

}  // namespace

HostFolders::HostFolders(RankWorld& world, const CollectingNote& home, const std::string& scratch)
    : is_first_(world.rank() == 0) {
  home_ = parse_collecting(world.share(world.rank() == 0 ? text_of(home) : ""), "what rank 0 says of its collection");
  note_ = home_;
  std::optional<Error> lost;
  if (world.rank() == 0 && !is_here(home_))
    lost.emplace(ErrorCode::kLaunch,
                 fmt::format("rank 0 is on host {}, and the run's folder \"{}\" is on host {}", world.place(0).host,
                             home_.folder, home_.host),
                 "start spscope on the host that rank 0 is placed on: the first one of mpirun's or srun's list");
  throw_agreed(world, lost);
  place_ranks(world, scratch);
  std::ranges::sort(elsewhere_, {}, [](const CollectingElsewhere& place) { return place.ranks.front(); });
}

void HostFolders::place_ranks(RankWorld& world, const std::string& scratch) {
  bool has_place = is_here(home_);
  for (std::vector<bool> placed = share_all(world, has_place);;) {
    const std::vector<int> makers_now = makers(world, placed);
    if (makers_now.empty()) break;
    const bool makes = std::ranges::find(makers_now, world.rank()) != makers_now.end();
    std::optional<Error> failed = failure_of([&] {
      if (makes) part_.emplace(home_, scratch.empty() ? default_scratch_folder() : scratch, RunOutput::kLeastBytes);
    });
    if (failed) failed = at_host(world, *failed);
    throw_agreed(world, failed);
    // Who sees which of the new folders: those ranks of its host that share its file system.
    const std::vector<std::string> notes = share_all(world, makes ? text_of(part_->note()) : "");
    int maker = -1;
    for (const int rank : makers_now) {
      const CollectingNote note = parse_collecting(notes[static_cast<std::size_t>(rank)], "a folder of another host");
      if (has_place || !is_here(note)) continue;
      has_place = true;
      maker = rank;
      note_ = note;
    }
    placed = share_all(world, has_place);
    for (const int rank : makers_now) {
      const CollectingNote note = parse_collecting(notes[static_cast<std::size_t>(rank)], "a folder of another host");
      CollectingElsewhere place{note.host, note.folder, {}};
      const std::vector<bool> members = share_all(world, maker == rank);
      for (int member = 0; member < world.size(); ++member)
        if (members[static_cast<std::size_t>(member)]) place.ranks.push_back(member);
      elsewhere_.push_back(std::move(place));
    }
  }
}

void HostFolders::keep() {
  if (part_) part_->keep();
  if (!is_first_ || elsewhere_.empty()) return;
  home_.elsewhere = elsewhere_;
  rewrite_collecting(home_);
}

void HostFolders::forget() {
  home_.elsewhere.clear();
  rewrite_collecting(home_);
}

void HostFolders::remove() {
  if (part_) part_->let_go();
  part_.reset();
}

}  // namespace spscope
