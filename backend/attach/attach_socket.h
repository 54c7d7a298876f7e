// AttachSocket: where programs that are watched ask for memory (record/attach_request.h), and the memory of each.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/record/shared_trace.h"

namespace spscope {

// Whether the process at the other side of a connection has left no more, or is gone. A packet that says neither is
// read away: a program may write to a descriptor that it does not know.
bool has_ended(int connection);

// A process that asked, until it ended. The memory, with what it had published, stays as long as this.
class AttachedProcess {
 public:
  // `memory`: -1 once the process has it; both descriptors are closed by this.
  AttachedProcess(int connection, int memory, pid_t pid, std::string name, int rank, SharedTrace* mapped)
      : connection_(connection),
        memory_descriptor_(memory),
        pid_(pid),
        name_(std::move(name)),
        rank_(rank),
        memory_(mapped) {}
  ~AttachedProcess();
  AttachedProcess(const AttachedProcess&) = delete;
  AttachedProcess& operator=(const AttachedProcess&) = delete;

  // Gives it the memory, for which it waits. False: it is gone, or waits no more. A process that gets none goes on by
  // itself once this is gone.
  bool give_memory();
  // Says that its windows have changed.
  void wake() const;
  int connection() const { return connection_; }  // where it is readable, ask has_ended()
  // Once the process has left no more: the errno with which it could not take the memory; 0: it took it.
  int why_not_taken() const;
  pid_t pid() const { return pid_; }
  // "python train.py (process 4711)"; "... (process 4711, program 2)" where that is the name of one before it, as when
  // a process executes the same program again.
  const std::string& name() const { return name_; }
  std::optional<int> rank() const { return rank_ < 0 ? std::nullopt : std::optional(rank_); }
  SharedTrace& memory() const { return *memory_; }

 private:
  const int connection_;
  int memory_descriptor_;
  const pid_t pid_;
  const std::string name_;
  const int rank_;
  SharedTrace* const memory_;
};

// Gives each process that asks a name of its own.
class ProcessNames {
 public:
  static constexpr std::size_t kMost = 1 << 16;  // that are remembered
  // `name` ends in the number of the process. It is given once; the second program of that name, as of a process that
  // executes one again, is "... (process 4711, program 2)". A name that comes when kMost are remembered gets a number
  // above kMost, which no other has.
  std::string unique(std::string name);

 private:
  std::map<std::string, std::size_t> programs_;  // that have had the name
  std::size_t others_ = 0;
};

class AttachSocket {
 public:
  // Throws Error(kLaunch): this system has no such sockets.
  AttachSocket();
  ~AttachSocket();
  AttachSocket(const AttachSocket&) = delete;
  AttachSocket& operator=(const AttachSocket&) = delete;

  // For the environment of programs.
  const std::string& name() const { return name_; }
  int descriptor() const { return socket_; }  // readable when somebody asks
  // Whether somebody has connected and not asked yet: no descriptor says when that changes.
  bool expects_requests() const { return !silent_.empty(); }

  struct Refusal {
    std::string process;  // its name
    std::string why;
  };
  struct Asked {
    std::vector<std::unique_ptr<AttachedProcess>> processes;  // each waits for its memory
    std::vector<Refusal> refused;
    int of_other_users = 0;  // refused, too
    int accepted = 0;        // connections, whoever made them
    bool all = false;        // nobody else waited
    int error = 0;           // somebody waits whom accept() does not give: its errno
  };
  // Looks at a bounded number of connections, whoever made them, and waits for nobody.
  Asked take();
  // So many wait at most: a further one waits in its own call.
  static constexpr int kMostWaiting = 4096;

 private:
  struct Silent {
    int connection = -1;
    pid_t pid = -1;
    std::int64_t until_ns = 0;
  };
  bool accept_one(Asked& asked);
  bool answer(const Silent& peer, Asked& asked);
  void refuse_without_descriptors(Asked& asked);
  void end_turn(Asked& asked) const;

  std::string name_;
  int socket_ = -1;
  int spare_ = -1;  // given up for a moment where there is no descriptor left to refuse somebody by
  std::vector<Silent> silent_;
  ProcessNames names_;
};

}  // namespace spscope
