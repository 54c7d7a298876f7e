// What ends a process that writes to a mapped file for which there is no room: SIGBUS. On file systems that write every
// page to a new place (btrfs, ZFS) a full disk or quota is met so, however much was allocated; the files are those of
// SQLite's shared memory, now pages, and segments of MPI.
#pragma once

namespace spscope {

// From now on SIGBUS for want of room ends the program with exit code 1 and a message with the file and the bytes that
// are free. Nothing that was committed is lost.
void explain_bus_errors();

}  // namespace spscope
