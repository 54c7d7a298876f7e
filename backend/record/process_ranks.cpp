#include "backend/record/process_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace spscope {
namespace {

using Places = std::vector<std::size_t>;  // of processes

// What gave a process its rank: a source, or one of these.
constexpr int kCountedOn = kNumRankSources, kByDevice = kCountedOn + 1;

std::int64_t end_of(const ProcessLife& process) {
  return process.end_ns.value_or(std::numeric_limits<std::int64_t>::max());
}

// "GPU 3 at 0000:3B:00.0": its place on the bus, since each process numbers GPUs in its own way.
using DevicePlace = std::pair<std::size_t, std::string>;
DevicePlace place_of_device(const ProcessLife& process) {
  const std::size_t at = process.device.find(" at ");
  const std::string place = at == std::string::npos ? process.device : process.device.substr(at);
  return {place.size(), place};
}

std::optional<int> last_value(const ProcessLife& process, RankSource source) {
  std::optional<int> last;
  for (const RankClaim& claim : process.claims)
    if (claim.source == source) last = claim.rank;
  return last;
}

bool uses_nccl(const ProcessLife& process) { return last_value(process, RankSource::kNccl).has_value(); }
bool is_at_work(const ProcessLife& process) { return !process.device.empty() || uses_nccl(process); }

// As all processes that are in it say.
struct Communicator {
  int num_ranks = 0;                   // 0: not known
  std::map<int, Places> by_rank = {};  // each process once
  bool agrees = true;
  int size() const { return std::max(num_ranks, by_rank.rbegin()->first + 1); }
};

std::string counted(std::int64_t number, const char* verb = "") {
  return fmt::format("{} process{}{}", number, number == 1 ? "" : "es", verb);
}

class RankDecision {
 public:
  explicit RankDecision(std::span<const ProcessLife> all) : all_(all), ranks_(all.size()), givers_(all.size(), -1) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      by_pid_.emplace(all[i].pid, i);
      devices_.push_back(place_of_device(all[i]));
    }
    for (std::size_t i = 0; i < all.size(); ++i) leader_.push_back(leader_of(i));
    for (std::size_t i = 0; i < all.size(); ++i)
      if (leader_[i] == i) (is_at_work(all[i]) ? leaders_ : idle_).push_back(i);
    if (leaders_.empty()) std::swap(leaders_, idle_);
  }

  ProcessRanks run() {
    for (const RankSource source : kRankSourcesOfLaunchers) take_variable(source);
    take_communicators();
    take_variable(RankSource::kLocalRank);
    if (taken_.empty()) number_by_device();
    for (const std::size_t i : idle_) take_idle(i);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const std::size_t of = first_leader(i);
      ranks_[i] = ranks_[of];
      givers_[i] = givers_[of];
    }
    return {ranks_, text()};
  }

 private:
  bool live_together(std::size_t a, std::size_t b) const {
    return all_[a].begin_ns < end_of(all_[b]) && all_[b].begin_ns < end_of(all_[a]);
  }
  bool any_live_together(Places places) const {
    std::ranges::sort(places, {}, [&](std::size_t i) { return all_[i].begin_ns; });
    for (std::size_t i = 1, longest = 0; i < places.size(); ++i) {
      if (live_together(places[longest], places[i])) return true;
      if (end_of(all_[places[i]]) > end_of(all_[places[longest]])) longest = i;
    }
    return false;
  }

  // Whether nothing says that `i` is another rank than `other`, which started it.
  bool is_of_rank_of(std::size_t i, std::size_t other) const {
    const ProcessLife& process = all_[i];
    if (uses_nccl(process) || !live_together(i, other)) return false;
    if (!process.device.empty() && devices_[i] != devices_[other]) return false;
    return std::ranges::all_of(process.claims, [&](const RankClaim& claim) {
      return std::ranges::find(all_[other].claims, claim) != all_[other].claims.end();
    });
  }
  // The process whose rank it has, since that started it, or started who did; itself: none.
  std::size_t leader_of(std::size_t i) const {
    for (const int pid : all_[i].ancestors)
      for (auto [it, end] = by_pid_.equal_range(pid); it != end; ++it)
        if (it->second != i && is_of_rank_of(i, it->second)) return it->second;
    return i;
  }
  // Processes that lead each other are damage.
  std::size_t first_leader(std::size_t i) const {
    for (std::size_t steps = 0; leader_[i] != i && steps < all_.size(); ++steps) i = leader_[i];
    return i;
  }

  bool is_free(std::int64_t rank, std::size_t i) const {
    const auto taken = taken_.find(rank);
    return taken == taken_.end() ||
           std::ranges::none_of(taken->second, [&](std::size_t other) { return live_together(i, other); });
  }
  void give(std::size_t i, std::int64_t rank, int giver) {
    ranks_[i] = static_cast<int>(rank);
    givers_[i] = giver;
    taken_[rank].push_back(i);
  }

  std::map<int, Places> by_value(RankSource source, const Places& of) const {
    std::map<int, Places> found;
    for (const std::size_t i : of)
      if (const std::optional<int> value = last_value(all_[i], source)) found[*value].push_back(i);
    return found;
  }
  bool has_ancestor(std::size_t i, std::size_t other) const {
    return i != other && std::ranges::find(all_[i].ancestors, all_[other].pid) != all_[i].ancestors.end() &&
           live_together(i, other);
  }
  void take_variable(RankSource source) {
    std::map<int, Places> found = by_value(source, leaders_);
    if (found.size() > 1)
      for (auto& [value, places] : found) {
        const Places all = places;
        std::erase_if(places, [&](std::size_t i) {
          return std::ranges::any_of(all, [&](std::size_t other) { return has_ancestor(i, other); });
        });
      }
    const auto inherited = std::ranges::find_if(found, [&](const auto& one) { return any_live_together(one.second); });
    if (inherited != found.end()) inherited_.emplace(source, inherited->first);
    for (const auto& [value, places] : found)
      for (const std::size_t i : places) {
        if (ranks_[i]) continue;
        if (inherited != found.end())
          missed_.insert(source);
        else if (is_free(value, i))
          give(i, value, static_cast<int>(source));
      }
  }

  std::map<std::uint64_t, Communicator> communicators() const {
    std::map<std::uint64_t, Communicator> found;
    for (std::size_t i = 0; i < all_.size(); ++i)
      for (const RankClaim& claim : all_[i].claims) {
        if (claim.source != RankSource::kNccl) continue;
        Communicator& communicator = found[claim.communicator];
        if (claim.num_ranks != 0) {
          communicator.agrees &= communicator.num_ranks == 0 || communicator.num_ranks == claim.num_ranks;
          communicator.num_ranks = claim.num_ranks;
        }
        Places& places = communicator.by_rank[claim.rank];
        if (places.empty() || places.back() != i) places.push_back(i);
      }
    for (auto& [hash, communicator] : found) {
      std::set<std::size_t> members;
      for (const auto& [rank, places] : communicator.by_rank) {
        communicator.agrees &= !any_live_together(places);
        for (const std::size_t i : places) communicator.agrees &= members.insert(i).second;  // once, with one GPU
      }
      communicator.agrees &= communicator.num_ranks == 0 || communicator.size() == communicator.num_ranks;
    }
    return found;
  }

  // The largest come first, then those of the first GPUs.
  void take_communicators() {
    const std::map<std::uint64_t, Communicator> all = communicators();
    std::map<std::uint64_t, Places> members;
    for (const std::size_t i : leaders_) {
      if (ranks_[i]) continue;
      const RankClaim* largest = nullptr;
      for (const RankClaim& claim : all_[i].claims)
        if (claim.source == RankSource::kNccl && all.at(claim.communicator).agrees &&
            (largest == nullptr || all.at(claim.communicator).size() > all.at(largest->communicator).size()))
          largest = &claim;
      if (largest != nullptr) members[largest->communicator].push_back(i);
    }
    std::vector<std::uint64_t> order;
    for (const auto& [hash, places] : members) order.push_back(hash);
    std::ranges::sort(order, {}, [&](std::uint64_t hash) {
      const Places& places = members.at(hash);
      auto first = std::pair(devices_[places.front()], all_[places.front()].begin_ns);
      for (const std::size_t i : places) first = std::min(first, std::pair(devices_[i], all_[i].begin_ns));
      return std::tuple(-all.at(hash).size(), first);
    });
    for (const std::uint64_t hash : order) take_communicator(hash, members.at(hash));
  }
  void take_communicator(std::uint64_t hash, const Places& members) {
    const auto rank_of = [&](std::size_t i) -> std::int64_t {
      return std::ranges::find(all_[i].claims, hash, &RankClaim::communicator)->rank;
    };
    std::int64_t first = 0;
    while (!std::ranges::all_of(members, [&](std::size_t i) { return is_free(first + rank_of(i), i); })) ++first;
    for (const std::size_t i : members)
      give(i, first + rank_of(i), first == 0 ? static_cast<int>(RankSource::kNccl) : kCountedOn);
  }

  // One that came when another on its GPU had ended has the number of that one.
  void number_by_device() {
    Places order = leaders_;
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::tuple(devices_[i], all_[i].begin_ns, i); });
    std::vector<std::size_t> last;  // of each number
    std::vector<std::size_t> numbers;
    for (const std::size_t i : order) {
      const auto place = std::ranges::find_if(
          last, [&](std::size_t before) { return devices_[before] == devices_[i] && !live_together(before, i); });
      numbers.push_back(static_cast<std::size_t>(place - last.begin()));
      if (place == last.end())
        last.push_back(i);
      else
        *place = i;
    }
    if (last.size() < 2) return;
    for (std::size_t k = 0; k < order.size(); ++k) give(order[k], static_cast<std::int64_t>(numbers[k]), kByDevice);
  }

  // The claim of a process that did no work counts when no other process makes the same claim.
  void take_idle(std::size_t i) {
    for (int number = 0; number < kNumRankSources; ++number) {
      const auto source = static_cast<RankSource>(number);
      const std::optional<int> value = last_value(all_[i], source);
      if (!value || ranks_[i] || inherited_.contains(source)) continue;
      const auto says_it_too = [&](std::size_t other) {
        return other != i && last_value(all_[other], source) == value && live_together(i, other);
      };
      if (is_free(*value, i) && std::ranges::none_of(leaders_, says_it_too) && std::ranges::none_of(idle_, says_it_too))
        give(i, *value, number);
    }
  }

  std::string text() const {
    std::map<int, std::int64_t> by_giver;
    for (const int giver : givers_) ++by_giver[giver];
    std::vector<std::string> parts;
    for (const auto& [giver, number] : by_giver) {
      const std::string processes = counted(number);
      if (giver < 0) continue;
      if (giver == kCountedOn)
        parts.push_back(fmt::format(
            "the ranks of {} count on from those, as their communicator gives ranks that others have", processes));
      else if (giver == kByDevice)
        parts.push_back(fmt::format("{} numbered {}, as nothing gives their ranks", counted(number, " are"),
                                    has_devices() ? "by GPU" : "in the order of their start"));
      else
        parts.push_back(fmt::format("{} gives the rank{} of {}", rank_source_name(static_cast<RankSource>(giver)),
                                    number == 1 ? "" : "s", processes));
    }
    for (const RankSource source : missed_)
      parts.push_back(fmt::format("{} is no rank, as several processes have the value {} at the same time",
                                  rank_source_name(source), inherited_.at(source)));
    if (by_giver.contains(-1) && by_giver.size() > 1)
      parts.push_back(counted(by_giver.at(-1), by_giver.at(-1) == 1 ? " has no rank" : " have no rank"));
    return fmt::format("{}", fmt::join(parts, "; "));
  }
  bool has_devices() const {
    return std::ranges::any_of(leaders_, [&](std::size_t i) { return !all_[i].device.empty(); });
  }

  const std::span<const ProcessLife> all_;
  std::multimap<int, std::size_t> by_pid_;
  std::vector<DevicePlace> devices_;
  Places leader_;                        // of each process, whose rank it has; most lead themselves
  Places leaders_, idle_;                // that lead: those that did work, or all when none did; the others
  std::map<RankSource, int> inherited_;  // variables that two of these had alike at the same time, with their value
  std::set<RankSource> missed_;          // of these: that would have given a rank
  std::vector<std::optional<int>> ranks_;
  std::vector<int> givers_;               // -1: none
  std::map<std::int64_t, Places> taken_;  // by rank
};

}  // namespace

ProcessRanks decide_ranks(std::span<const ProcessLife> processes) { return RankDecision(processes).run(); }

}  // namespace spscope
