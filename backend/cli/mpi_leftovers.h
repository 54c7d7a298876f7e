// The processes of ranks that mpirun started on this host, and what Open MPI leaves here when a run ends in a way that
// it cannot clean up after: when mpirun is killed, say.
#pragma once

#include <string>

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

// Ends every child that this process still has: ranks whose mpirun is gone become children of a process that asked for
// it with adopt_orphans(). They get `seconds` to end by themselves.
void adopt_orphans();
void end_orphans(double seconds);

// Removes the job's segments in /dev/shm that belong to this user, and its session. REQUIRES: its ranks and mpirun
// ended.
void remove_leftovers(const MpiJob& job);

}  // namespace spscope
