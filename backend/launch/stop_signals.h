// Signals that end a run. The first one is a request: ranks stop between kernel calls, and what is complete is merged
// and kept. Others change nothing, since systems send several at once: Slurm its own and those that a script passes on.
// Only SIGINT or SIGTERM once more, a second after its first time or later, ends the program at once; what it had
// collected stays and can be recovered.
//
//   SIGINT, SIGTERM   a person, or a system that shuts down
//   SIGHUP            the terminal has gone
//   SIGUSR1           Slurm, some time before the end of a job (sbatch --signal=B:USR1@60)
#pragma once

#include <atomic>

namespace spscope {

// From now on these signals set the flag that is returned. `answer`: the first one is answered on stderr. A file that
// reaches its size limit (SIGXFSZ) and a reader of stderr that went away (SIGPIPE) no longer end the program: the write
// that met it fails.
const std::atomic<bool>& watch_stop_signals(bool answer);
// Sets the flag without a signal: another part of the run asks for its end.
void request_stop();
// From now on SIGUSR1 comes from the launcher of this process, which alone knows what it was asked with.
void take_stops_of_launcher();
// The first signal that came; 0: none, or one that a launcher passed on.
int stop_signal();

}  // namespace spscope
