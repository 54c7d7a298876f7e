#include "collectors/inject/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "backend/base/clock.h"
#include "backend/record/attach_request.h"
#include "collectors/inject/launcher_variables.h"

namespace spscope::inject {
namespace {

constexpr int kPatienceMs = 5000;  // the program waits so long in its start

// attach never heard of this process, and counts it by its line.
void tell_missed() {
  const char* const path = ::secure_getenv(kMissedVariable);
  const int fd = path == nullptr ? -1 : ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  const std::string line = std::to_string(::getpid()) + " " + program_invocation_short_name + "\n";
  [[maybe_unused]] const ssize_t written = ::write(fd, line.data(), line.size());
  ::close(fd);
}

// A connected socket of `spscope attach` of this user; -1: there is none.
int connect_to(std::string_view name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() >= sizeof address.sun_path) return -1;
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  // connect() waits where many ask at once, or attach is stopped.
  constexpr timeval kPatience = {.tv_sec = kPatienceMs / 1000, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  ucred peer = {};
  socklen_t length = sizeof peer;
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool is_connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), bytes) == 0;
  if (!is_connected && errno == EAGAIN) tell_missed();
  if (is_connected && ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::geteuid())
    return fd;
  ::close(fd);
  return -1;
}

SharedTrace* map(int fd) {
  void* const memory = ::mmap(nullptr, sizeof(SharedTrace), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return nullptr;
  ::madvise(memory, sizeof(SharedTrace), MADV_DONTDUMP);  // it is in no core file of the program
  return static_cast<SharedTrace*>(memory);
}

// The memory that comes with the answer; nothing: refused, no answer, or it cannot be taken, which is told.
SharedTrace* receive_memory(int fd) {
  pollfd readable = {.fd = fd, .events = POLLIN, .revents = 0};
  const std::int64_t give_up_ns = now_ns() + std::int64_t{kPatienceMs} * 1'000'000;
  int ready = 0;
  do ready = ::poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(0, give_up_ns - now_ns()) / 1'000'000));
  while (ready < 0 && errno == EINTR);
  if (ready != 1) return nullptr;
  char answer = 0;
  iovec data = {.iov_base = &answer, .iov_len = 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(fd, &message, MSG_CMSG_CLOEXEC) != 1 || answer != kAttachAccepted) return nullptr;
  const cmsghdr* const head = CMSG_FIRSTHDR(&message);
  // A process that may open no more files gets the answer without the descriptor.
  const bool has_memory = head != nullptr && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int));
  AttachFault fault = {.error = EMFILE};
  SharedTrace* memory = nullptr;
  if (has_memory) {
    int given = -1;
    std::memcpy(&given, CMSG_DATA(head), sizeof given);
    memory = map(given);
    fault.error = errno;
    ::close(given);
  }
  if (memory == nullptr) static_cast<void>(::send(fd, &fault, sizeof fault, MSG_NOSIGNAL));
  return memory;
}

}  // namespace

std::optional<Connection> Connection::open() {
  const char* const name = std::getenv(kAttachVariable);
  const int fd = name == nullptr ? -1 : connect_to(name);
  if (fd < 0) return std::nullopt;
  AttachRequest request;
  request.rank = first_rank().value_or(-1);
  SharedTrace* memory = nullptr;
  if (::send(fd, &request, sizeof request, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof request))
    memory = receive_memory(fd);
  struct stat of = {};
  if (memory != nullptr && ::fstat(fd, &of) == 0) return Connection(fd, of, memory);
  ::close(fd);
  return std::nullopt;
}

// A program may close descriptors that it does not know, as daemons and sandboxes do, and get their numbers anew.
bool Connection::is_ours() const {
  struct stat now = {};
  return ::fstat(socket_, &now) == 0 && now.st_dev == device_ && now.st_ino == inode_;
}

bool Connection::wait_for_end(int most_ms) const {
  if (!is_ours()) return true;
  pollfd readable = {.fd = socket_, .events = POLLIN, .revents = 0};
  if (::poll(&readable, 1, most_ms) <= 0) return false;
  // A byte says that windows have changed; without one it is the end.
  if (!is_ours()) return true;
  char byte = 0;
  const ssize_t received = ::recv(socket_, &byte, 1, MSG_DONTWAIT);
  return received == 0 || (received < 0 && errno != EAGAIN);
}

void Connection::close() const {
  if (is_ours()) ::shutdown(socket_, SHUT_RDWR);
}

void Connection::leave_to_parent() const {
  ::mmap(memory_, sizeof(SharedTrace), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
  if (is_ours()) ::close(socket_);
}

}  // namespace spscope::inject
