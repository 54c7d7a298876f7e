// What says, while a program runs that nobody planned, which rank one of its processes is.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace spscope {

// In the order in which they are believed. Numbers of SharedTrace and of shards: append only.
enum class RankSource : std::uint32_t {
  kRank = 0,  // torchrun, and whoever starts workers by itself
  kOpenMpi = 1,
  kPmi = 2,    // MPICH, Intel MPI
  kPmix = 3,   // launchers with PMIx
  kSlurm = 4,  // srun; whatever a batch script starts has it, too
  kNccl = 5,   // a communicator
  kLocalRank = 6,
};
inline constexpr int kNumRankSources = 7;
inline constexpr RankSource kRankSourcesOfLaunchers[] = {RankSource::kRank, RankSource::kOpenMpi, RankSource::kPmi,
                                                         RankSource::kPmix, RankSource::kSlurm};

// Variables of the environment, by their sources; "": of none.
inline constexpr std::array<const char*, kNumRankSources> kRankVariables = {
    "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "", "LOCAL_RANK"};
inline std::string_view rank_source_name(RankSource source) {
  return source == RankSource::kNccl ? "NCCL" : kRankVariables[static_cast<std::size_t>(source)];
}

struct RankClaim {
  RankSource source = RankSource::kRank;
  std::int32_t rank = 0;
  // Of NCCL alone: ranks of the communicator, 0 when not known, and its hash, which all of them share.
  std::int32_t num_ranks = 0;
  std::uint64_t communicator = 0;
  friend bool operator==(const RankClaim&, const RankClaim&) = default;
};
inline constexpr int kRankLimit = 1 << 24;  // a number beyond is no rank
inline bool is_possible(const RankClaim& claim) {
  const bool is_of_nccl = claim.source == RankSource::kNccl;
  return static_cast<std::uint32_t>(claim.source) < std::uint32_t{kNumRankSources} && claim.rank >= 0 &&
         claim.rank < kRankLimit && claim.num_ranks >= 0 && claim.num_ranks <= (is_of_nccl ? kRankLimit : 0) &&
         is_of_nccl == (claim.communicator != 0);
}

}  // namespace spscope
