// Which rank each process of a program gets. A process is a line of words: "gpu=2" it worked on, "RANK=0" and so on as
// it had them one after the other, "nccl=7/4/3" rank 3 of 4 of communicator 7, "by=1,2" processes of this table that
// started it, counted from 1, "life=10-20", without which all live together.
#include "backend/record/process_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "backend/record/rank_records.h"

namespace spscope {
namespace {

std::vector<std::int64_t> numbers(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '/' || c == ',' || c == '-'; }, ' ');
  std::istringstream in(text);
  std::vector<std::int64_t> found;
  for (std::int64_t number = 0; in >> number;) found.push_back(number);
  return found;
}

ProcessLife process_of(int pid, const std::string& line) {
  ProcessLife process = {.pid = pid};
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const std::string key = word.substr(0, word.find('=')), text = word.substr(word.find('=') + 1);
    const std::vector<std::int64_t> value = numbers(text);
    if (key == "gpu") process.device = "GPU 0 at 0000:0" + text + ":00.0";
    if (key == "by") process.ancestors.assign(value.begin(), value.end());
    if (key == "life") process.begin_ns = value.at(0), process.end_ns = value.at(1);
    if (key == "nccl")
      process.claims.push_back({.source = RankSource::kNccl,
                                .rank = static_cast<int>(value.at(2)),
                                .num_ranks = static_cast<int>(value.at(1)),
                                .communicator = static_cast<std::uint64_t>(value.at(0))});
    for (int source = 0; source < kNumRankSources; ++source)
      if (key == kRankVariables[static_cast<std::size_t>(source)])
        process.claims.push_back({.source = static_cast<RankSource>(source), .rank = static_cast<int>(value.at(0))});
  }
  return process;
}

struct Case {
  const char* what;
  std::vector<const char*> processes;
  std::vector<int> ranks;
  const char* text;
};

const Case kCases[] = {
    {"torchrun below Slurm",
     {"gpu=1 RANK=5 LOCAL_RANK=1 SLURM_PROCID=0", "gpu=0 RANK=4 LOCAL_RANK=0 SLURM_PROCID=0"},
     {5, 4},
     "RANK gives the ranks of 2 processes"},
    {"mpirun, and a helper of rank 0 on another GPU",
     {"gpu=0 OMPI_COMM_WORLD_RANK=1", "gpu=1 OMPI_COMM_WORLD_RANK=0", "gpu=2 OMPI_COMM_WORLD_RANK=0 by=2"},
     {1, 0, kNoRank},
     "OMPI_COMM_WORLD_RANK gives the ranks of 2 processes; 1 process has no rank"},
    {"workers that set RANK late, in a pod that has one",
     {"RANK=0", "gpu=0 RANK=0 by=1", "gpu=1 RANK=0 RANK=1 by=1"},
     {kNoRank, 0, 1},
     "RANK gives the ranks of 2 processes; 1 process has no rank"},
    {"workers below sbatch with NCCL",
     {"gpu=0 SLURM_PROCID=0 nccl=7/2/1", "gpu=1 SLURM_PROCID=0 nccl=7/2/0"},
     {1, 0},
     "NCCL gives the ranks of 2 processes; SLURM_PROCID is no rank, as several processes have the value 0 at the same "
     "time"},
    {"workers below sbatch without NCCL",
     {"gpu=5 SLURM_PROCID=0", "gpu=2 SLURM_PROCID=0"},
     {1, 0},
     "2 processes are numbered by GPU, as nothing gives their ranks; SLURM_PROCID is no rank, as several processes "
     "have the value 0 at the same time"},
    {"a server that uses a GPU itself, and its workers",
     {"gpu=0 SLURM_PROCID=0", "gpu=0 SLURM_PROCID=0 nccl=7/2/0 by=1", "gpu=1 SLURM_PROCID=0 nccl=7/2/1 by=1"},
     {kNoRank, 0, 1},
     "NCCL gives the ranks of 2 processes; SLURM_PROCID is no rank, as several processes have the value 0 at the same "
     "time; 1 process has no rank"},
    {"LOCAL_RANK alone",
     {"gpu=0 LOCAL_RANK=1", "gpu=1 LOCAL_RANK=0"},
     {1, 0},
     "LOCAL_RANK gives the ranks of 2 processes"},
    {"nothing",
     {"gpu=3", "gpu=1", "gpu=1"},
     {2, 0, 1},
     "3 processes are numbered by GPU, as nothing gives their ranks"},
    {"one process", {"gpu=3"}, {kNoRank}, ""},
    {"one after the other", {"gpu=0 life=0-10", "gpu=0 life=10-20"}, {kNoRank, kNoRank}, ""},
    {"nobody used a GPU", {"RANK=1", "RANK=0"}, {1, 0}, "RANK gives the ranks of 2 processes"},
    {"nobody used a GPU, and nothing gives ranks",
     {"SLURM_PROCID=0 life=5-20", "SLURM_PROCID=0 life=4-20"},
     {1, 0},
     "2 processes are numbered in the order of their start, as nothing gives their ranks; SLURM_PROCID is no rank, as "
     "several processes have the value 0 at the same time"},
    {"one that died before it used its GPU",
     {"gpu=0 RANK=0", "RANK=1 life=0-10", "gpu=1 RANK=2"},
     {0, 1, 2},
     "RANK gives the ranks of 3 processes"},
    {"one beside the ranks",
     {"gpu=0 RANK=0", "gpu=1 RANK=1", "gpu=2"},
     {0, 1, kNoRank},
     "RANK gives the ranks of 2 processes; 1 process has no rank"},
    {"started again",
     {"gpu=0 RANK=0 life=0-10", "gpu=1 RANK=1 life=0-12", "gpu=1 RANK=0 life=12-20", "gpu=0 RANK=1 life=13-20"},
     {0, 1, 0, 1},
     "RANK gives the ranks of 4 processes"},
    {"started again, and nothing gives ranks",
     {"gpu=0 life=0-10", "gpu=1 life=0-10", "gpu=0 life=10-20", "gpu=1 life=11-20"},
     {0, 1, 0, 1},
     "4 processes are numbered by GPU, as nothing gives their ranks"},
    {"loaders of data that ranks started, one before its rank used CUDA",
     {"gpu=1 RANK=1 by=3 life=0-9", "gpu=0 RANK=0", "gpu=1 RANK=1 life=1-9", "RANK=0 by=9,2"},
     {1, 0, 1, 0},
     "RANK gives the ranks of 4 processes"},
    {"a worker on another GPU than who started it",
     {"gpu=0 RANK=0", "gpu=1 RANK=0 by=1"},
     {0, 1},
     "2 processes are numbered by GPU, as nothing gives their ranks; RANK is no rank, as several processes have the "
     "value 0 at the same time"},
    {"two models: the first GPUs first",
     {"gpu=2 nccl=7/2/0", "gpu=3 nccl=7/2/1", "gpu=1 nccl=8/2/0", "gpu=0 nccl=8/2/1"},
     {2, 3, 0, 1},
     "NCCL gives the ranks of 2 processes; the ranks of 2 processes count on from those, as their communicator gives "
     "ranks that others have"},
    {"torchrun twice, the second with more ranks",
     {"gpu=0 RANK=0 nccl=7/2/0", "gpu=1 RANK=1 nccl=7/2/1", "gpu=4 RANK=0 nccl=8/3/0", "gpu=3 RANK=1 nccl=8/3/1",
      "gpu=2 RANK=2 nccl=8/3/2"},
     {3, 4, 0, 1, 2},
     "NCCL gives the ranks of 3 processes; the ranks of 2 processes count on from those, as their communicator gives "
     "ranks that others have; RANK is no rank, as several processes have the value 0 at the same time"},
    {"the largest communicator",
     {"gpu=0 nccl=5/2/0 nccl=9/4/3", "gpu=1 nccl=5/2/1 nccl=9/4/2", "gpu=2 nccl=9/4/1 nccl=6/2/0",
      "gpu=3 nccl=6/2/1 nccl=9/4/0"},
     {3, 2, 1, 0},
     "NCCL gives the ranks of 4 processes"},
    {"ranks of other hosts, by NCCL of 2.26, which does not say how many there are",
     {"gpu=0 nccl=7/0/5", "gpu=1 nccl=7/0/4"},
     {5, 4},
     "NCCL gives the ranks of 2 processes"},
    {"processes with several GPUs",
     {"gpu=2 nccl=7/4/2 nccl=7/4/3", "gpu=0 nccl=7/4/0 nccl=7/4/1"},
     {1, 0},
     "2 processes are numbered by GPU, as nothing gives their ranks"},
    {"a communicator whose processes do not agree",
     {"gpu=1 nccl=7/2/0 LOCAL_RANK=1", "gpu=0 nccl=7/3/1 LOCAL_RANK=0"},
     {1, 0},
     "LOCAL_RANK gives the ranks of 2 processes"},
    {"a communicator with a rank twice",
     {"gpu=1 nccl=7/2/0", "gpu=0 nccl=7/2/0"},
     {1, 0},
     "2 processes are numbered by GPU, as nothing gives their ranks"},
    {"processes that started each other, which cannot be", {"gpu=0 by=2", "gpu=0 by=1"}, {kNoRank, kNoRank}, ""},
};

TEST(ProcessRanks, AreDecidedOverAllProcesses) {
  for (const Case& one : kCases) {
    std::vector<ProcessLife> processes;
    for (const char* const line : one.processes)
      processes.push_back(process_of(static_cast<int>(processes.size()) + 1, line));
    const ProcessRanks decided = decide_ranks(processes);
    std::vector<int> ranks;
    for (const std::optional<int>& rank : decided.ranks) ranks.push_back(rank.value_or(kNoRank));
    EXPECT_EQ(ranks, one.ranks) << one.what;
    EXPECT_EQ(decided.text, one.text) << one.what;
  }
}

}  // namespace
}  // namespace spscope
