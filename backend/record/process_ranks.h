// Which ranks the processes of a program are that nobody planned: decided when all was seen, from what said so while
// they ran (rank_claims.h), and from which of them lived at the same time. In this order, where each step leaves alone
// what one before it decided:
//
//   1. A variable of a launcher, by the last value that the process had. One that two processes have alike at the same
//      time was inherited from whoever started them, and is no rank of any process. Where other processes have other
//      values, one that a rank started has no rank by the value that it inherited.
//   2. The rank in the largest communicator of NCCL that the process was in. Communicators that give two processes one
//      rank, as those of two models, count on from each other.
//   3. LOCAL_RANK, as in 1.
//   4. Where nothing gave a rank to anybody, and two processes lived at the same time, the order of their GPUs.
//
// A process that another one started has its rank when it uses no other GPU and nothing says that it is another one:
// no communicator, and no value of a variable that the other one has not. One that neither used a GPU nor NCCL is given
// no rank that another process could be. Processes that did not live at the same time may have one rank, as one that is
// started again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/record/rank_claims.h"

namespace spscope {

struct ProcessLife {
  std::string name = {};  // as its tracks name it: "python train.py (process 4711)"
  int pid = 0;
  std::vector<int> ancestors = {};          // pids of its parent, of that one's parent and so on
  std::int64_t begin_ns = 0;                // when it began to collect, on one clock for all
  std::optional<std::int64_t> end_ns = {};  // none: nobody saw it end
  std::string device = {};                  // on which it did most, as tracks name it; "": none
  std::vector<RankClaim> claims = {};       // in the order of time
};

struct ProcessRanks {
  std::vector<std::optional<int>> ranks = {};  // of each process
  // What gave them, for people: "RANK gives the ranks of 8 processes"; "": nothing gave one.
  std::string text = {};
};

ProcessRanks decide_ranks(std::span<const ProcessLife> processes);

}  // namespace spscope
