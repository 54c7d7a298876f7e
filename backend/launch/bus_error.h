// What ends a process that writes to a mapped file for which there is no room, or that was cut short: SIGBUS. On file
// systems that write every page to a new place (btrfs, ZFS) a full disk or quota is met so, however much was allocated;
// the files are those of SQLite's shared memory, now pages, and segments of MPI.
#pragma once

namespace spscope {

// From now on SIGBUS at a page of a file ends the program with exit code 1 and a message of two lines. Nothing that was
// committed is lost. A SIGBUS that is sent ends it as before.
void explain_bus_errors();

}  // namespace spscope
