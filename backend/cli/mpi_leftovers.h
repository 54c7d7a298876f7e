// What Open MPI leaves on this host when a run ends in a way that it cannot clean up after: when mpirun is killed, say.
#pragma once

#include <string>

namespace spscope {

// The number of the MPI job of the ranks that `mpirun` started, as they are told it; "" when no rank has started yet.
std::string mpi_job_of(int mpirun);

// Ends every child that this process still has: ranks whose mpirun is gone become children of a process that asked for
// it with adopt_orphans(). They get `seconds` to end by themselves.
void adopt_orphans();
void end_orphans(double seconds);

// Removes the job's segments in /dev/shm that belong to this user. Nothing when `job` is "". REQUIRES: its ranks ended.
void remove_mpi_segments(const std::string& job);

}  // namespace spscope
