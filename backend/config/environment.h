// What the environment of the process says, where a config says nothing.
#pragma once

#include <string>

namespace spscope {

// Where temporary files go: the first of $SLURM_TMPDIR (local disk of a Slurm job) and $TMPDIR that is set, else /tmp.
std::string default_scratch_folder();

// Whether mpirun or srun started this process, and MPI can tell it its rank. srun sets its own variables for every
// program; those of a process manager (PMIx, PMI) are there only for a program that MPI is to start.
bool started_by_mpi();
// The same, with others: a program in an interactive step, or alone under mpirun, is no part of anything. Where nothing
// says how many there are, there are others.
bool started_beside_others();

// Of the processes that were started together: the first, as far as anything says so.
bool first_of_others();

// Whether a program of this name is on the $PATH.
bool has_program(const std::string& name);

// $SPSCOPE_RANKS_PER_NODE: how many ranks of a host count as a node of their own (tests); 0: a host is a node.
int pretended_ranks_per_node();

// $SPSCOPE_PATIENCE_S (tests), else 60: seconds without any progress until a run counts as stuck and is stopped.
double patience_seconds();

}  // namespace spscope
