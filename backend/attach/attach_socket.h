// AttachSocket: where programs that are watched ask for memory (record/attach_request.h), and the memory of each.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backend/record/shared_trace.h"

namespace spscope {

// A process that asked, until it ended. The memory, with what it had published, stays as long as this.
class AttachedProcess {
 public:
  AttachedProcess(int connection, pid_t pid, std::string name, int rank, SharedTrace* memory)
      : connection_(connection), pid_(pid), name_(std::move(name)), rank_(rank), memory_(memory) {}
  ~AttachedProcess();
  AttachedProcess(const AttachedProcess&) = delete;
  AttachedProcess& operator=(const AttachedProcess&) = delete;

  int connection() const { return connection_; }  // readable when the process has left no more, or is gone
  pid_t pid() const { return pid_; }
  const std::string& name() const { return name_; }  // "python train.py (process 4711)"
  std::optional<int> rank() const { return rank_ < 0 ? std::nullopt : std::optional(rank_); }
  SharedTrace& memory() const { return *memory_; }

 private:
  const int connection_;
  const pid_t pid_;
  const std::string name_;
  const int rank_;
  SharedTrace* const memory_;
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
  // Answers the next one that asks. Nothing: there was none, or it was refused, and then `refused` says why.
  std::unique_ptr<AttachedProcess> accept(std::string& refused) const;

 private:
  std::string name_;
  int socket_ = -1;
};

}  // namespace spscope
