// HostFolders: where the ranks of each host of a run write. The collection's folder is on the host of rank 0, its home.
// Ranks on other hosts, which cannot see that folder or must not write to it over a network, share one of their own
// there, made by the lowest of them.
//
// Two ranks are on one host when both have its name and its boot id and see the folder: containers of one machine, and
// machines of one name, are told apart.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/collect/collection.h"
#include "backend/execute/rank_world.h"

namespace spscope {

class HostFolders {
 public:
  // Every rank calls it. `home` counts at rank 0, which must be on that host; `scratch` is the folder for new ones on
  // each host, "": its default one. Throws an Error that all of them met: a host's scratch folder will not do.
  HostFolders(RankWorld& world, const CollectingNote& home, const std::string& scratch);

  // Where this process writes.
  const CollectingNote& note() const { return note_; }
  // The collection itself, as rank 0 has it.
  const CollectingNote& home() const { return home_; }
  bool is_home() const { return !note_.is_part(); }
  // Folders on other hosts, by their lowest ranks. Known at every rank.
  const std::vector<CollectingElsewhere>& elsewhere() const { return elsewhere_; }

  // From now on the folders hold what nobody else has: they stay, whatever happens, until remove(). At rank 0 the notes
  // of the collection say where they are. Throws Error when these cannot be written.
  void keep();
  // What they held is in the home folder now, and its notes say so. At rank 0. Throws Error as keep() does.
  void forget();
  // What the folders on other hosts hold is safe elsewhere, or is not wanted. Each is removed by the rank that made it.
  void remove();

 private:
  void place_ranks(RankWorld& world, const std::string& scratch);

  const bool is_first_;  // rank 0
  CollectingNote home_, note_;
  std::vector<CollectingElsewhere> elsewhere_;
  std::optional<Collection> part_;  // at the rank that made it
};

}  // namespace spscope
