// How a program that `spscope attach` watches asks it for memory to leave its events in.
//
// attach listens on an abstract socket (of Linux: a name that is no file) of kind SOCK_SEQPACKET, named in the
// environment of the program. A process connects and sends an AttachRequest; the answer is one byte, kAttachAccepted,
// with the descriptor of a SharedTrace, or the end of the connection. A process that cannot take the memory sends an
// AttachFault; one that could not connect, as where too many wait in the backlog of the socket, or from another network
// namespace, appends "PID ERRNO NAME" to a file of attach. The connection then says only that the other side is there:
// it ends with the process, however that ends, and attach ignores what else comes from there. attach sends a byte,
// kAttachWake, when it has changed SharedTrace::windows. Since neither the socket nor the memory has a name in a file
// system, nothing is left of them when both sides are killed at once. Each side requires the other to be of its own
// user.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/record/shared_trace.h"

namespace spscope {

// The socket's name, without the zero that abstract names begin with.
inline constexpr const char* kAttachVariable = "SPSCOPE_ATTACH";
// The file of those who could not connect, "DEVICE:INODE:PATH": a process writes to no other file that it finds there.
inline constexpr const char* kMissedVariable = "SPSCOPE_ATTACH_MISSED";

struct AttachRequest {
  std::array<char, 8> magic = {'S', 'P', 'S', 'A', 'T', 'T', 'A', '\0'};
  std::uint32_t version = SharedTrace::kVersion;
  std::int32_t rank = -1;  // -1: none
  std::uint64_t memory_bytes = sizeof(SharedTrace);
};
static_assert(sizeof(AttachRequest) == 24);

inline constexpr char kAttachAccepted = '+', kAttachWake = '!';

// A program may write to the descriptor of its library: what has not this length and magic is none.
struct AttachFault {
  std::array<char, 8> magic = {'S', 'P', 'S', 'F', 'A', 'U', 'L', 'T'};
  std::int32_t error = 0;  // errno
};
static_assert(sizeof(AttachFault) == 12);

}  // namespace spscope
