// Settings from the environment of the process, for what no config key sets.
#pragma once

#include <string>

namespace spscope {

// Where temporary files go: the first of $SLURM_TMPDIR (local disk of a Slurm job) and $TMPDIR that is set, else /tmp.
std::string default_scratch_folder();

// Whether mpirun or srun started this process through a process manager (PMIx, PMI), from which MPI learns its rank.
// The SLURM_* variables alone do not count: srun sets them for every program.
bool started_by_mpi();
// Whether that start included other processes: false in an interactive step and under mpirun -n 1. True when the number
// of processes is unknown.
bool started_beside_others();
// Whether this is rank 0 of the processes that were started together; true when its rank is unknown.
bool first_of_others();

// $HOME; "" when it is no whole path.
std::string home_folder();
// Where programs keep settings of the user: $XDG_CONFIG_HOME, else .config in $HOME; "" when neither is a whole path.
std::string settings_folder();

// The theme that the user asks programs with windows for, $GTK_THEME: "Adwaita:dark"; "" when it is not set.
std::string gtk_theme();

// Whether $TERM says that the terminal knows no escape sequences.
bool terminal_is_dumb();
// Whether the user asks for output without colours: $NO_COLOR is set and not empty (no-color.org).
bool colors_are_forbidden();
// The width that the user asks for, $COLUMNS; 0 when it is not set.
int columns_asked_for();

// Whether a program of this name is on the $PATH.
bool has_program(const std::string& name);

// $SPSCOPE_RANKS_PER_NODE: splits the ranks of a host into pretended nodes of this many (tests); 0: a host is a node.
int pretended_ranks_per_node();

// $SPSCOPE_PATIENCE_S (tests), else 60: seconds without any progress after which a run counts as hung and is stopped.
// An mpirun that outlives its ranks is killed after a sixth.
double patience_seconds();

// CUDA_LAUNCH_BLOCKING: each launch on a GPU waits for its end.
bool launches_wait();
// CUDA_VISIBLE_DEVICES; "" when it is not set.
std::string visible_gpus();

}  // namespace spscope
