// The processes of ranks that mpirun started on this host, and what Open MPI leaves here when a run ends in a way that
// it cannot clean up after: when mpirun is killed, say.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace spscope {

// The job of the ranks that `mpirun` started on this host, as they are told it.
struct MpiJob {
  std::string number;   // decimal; "": no rank has started yet
  std::string session;  // folder of the files of this mpirun; "" when it is not known
};
MpiJob mpi_job_of(int mpirun);
// Whether a process of the job still runs, as a child of mpirun or of this process, or of children of these. One that
// has ended does not, whether its parent knows or not.
bool runs_here(const MpiJob& job);

// Processes by pid and by when they started.
using Processes = std::set<std::pair<int, std::uint64_t>>;
// From now on ranks whose mpirun is gone become children of this process. What is below it already is returned: a shell
// that runs a program in its own place leaves it its children.
Processes adopt_orphans();
// Ends every child that this process still has, but `spared`. They get `seconds` to end by themselves.
void end_orphans(double seconds, const Processes& spared);

// Removes the segments of ended ranks of this user (base/segment_folder.h), and the job's session. REQUIRES: its ranks
// and mpirun ended.
void remove_leftovers(const MpiJob& job);

}  // namespace spscope
