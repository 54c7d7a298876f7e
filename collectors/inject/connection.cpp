#include "collectors/inject/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
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

constexpr std::int64_t kPatienceNs = 5'000'000'000;  // the program waits so long in its start

// REQUIRES: all signals are blocked. A limit of the size of files (ulimit -f) raises SIGXFSZ, which would end the
// program once they are not.
void append(const OwnDescriptor& file, const std::string& line) {
  sigset_t before, of_size;
  ::sigemptyset(&before);
  ::sigpending(&before);
  ::sigemptyset(&of_size);
  ::sigaddset(&of_size, SIGXFSZ);
  const auto write = [&](int number) { return ::write(number, line.data(), line.size()); };
  const bool is_limited = file.use(write) < 0 && errno == EFBIG;
  const timespec at_once = {};
  if (is_limited && ::sigismember(&before, SIGXFSZ) == 0) ::sigtimedwait(&of_size, nullptr, &at_once);
}

// attach never heard of this process, and counts it by its line in the file that attach made, and in no other. Once
// attach has ended the file is gone.
void tell_missed(int error) {
  const char* const text = ::secure_getenv(kMissedVariable);
  if (text == nullptr) return;
  const char* const end = text + std::strlen(text);
  dev_t device = 0;
  ino_t inode = 0;
  const auto [after_device, no_device] = std::from_chars(text, end, device);
  if (no_device != std::errc() || *after_device != ':') return;
  const auto [after_inode, no_inode] = std::from_chars(after_device + 1, end, inode);
  if (no_inode != std::errc() || *after_inode != ':') return;
  const OwnDescriptor opened(::open(after_inode + 1, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  const OwnDescriptor file = opened.above_standard();
  const std::string line =
      std::to_string(::getpid()) + " " + std::to_string(error) + " " + program_invocation_short_name + "\n";
  if (file.leads_to(device, inode)) append(file, line);
  file.close();
}

// Waits where many ask at once, or attach is stopped. 0, or the errno: EAGAIN at `give_up_ns`. SIGCONT interrupts it,
// whichever signals are blocked; one try follows where the time was over by then.
int connect_in_time(const OwnDescriptor& socket, const sockaddr_un& address, socklen_t bytes, std::int64_t give_up_ns) {
  constexpr std::int64_t kLastTryUs = 1000;
  for (;;) {
    const std::int64_t left_us = (give_up_ns - now_ns()) / 1000, wait_us = std::max(left_us, kLastTryUs);
    const timeval patience = {.tv_sec = wait_us / 1'000'000, .tv_usec = wait_us % 1'000'000};
    socket.use([&](int number) { return ::setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience); });
    const auto connect = [&](int number) {
      return ::connect(number, reinterpret_cast<const sockaddr*>(&address), bytes);
    };
    if (socket.use(connect) == 0) return 0;
    if (errno != EINTR || left_us <= 0) return errno;
  }
}

// A connected socket of `spscope attach` of this user; nobody's: there is none.
OwnDescriptor connect_to(std::string_view name, std::int64_t give_up_ns) {
  const OwnDescriptor none(-1);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() >= sizeof address.sun_path) return none;
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const OwnDescriptor socket = OwnDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)).above_standard();
  const int error = socket.exists() ? connect_in_time(socket, address, bytes, give_up_ns) : errno;
  if (error != 0) tell_missed(error);
  ucred peer = {};
  socklen_t length = sizeof peer;
  const auto ask_peer = [&](int number) { return ::getsockopt(number, SOL_SOCKET, SO_PEERCRED, &peer, &length); };
  if (error == 0 && socket.use(ask_peer) == 0 && peer.uid == ::geteuid()) return socket;
  socket.close();
  return none;
}

SharedTrace* map(int fd) {
  void* const memory = ::mmap(nullptr, sizeof(SharedTrace), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return nullptr;
  ::madvise(memory, sizeof(SharedTrace), MADV_DONTDUMP);  // it is in no core file of the program
  return static_cast<SharedTrace*>(memory);
}

// As poll(2): 1 when something came, 0 when nothing did in that time.
int wait_for_packet(const OwnDescriptor& socket, int most_ms) {
  return socket.use([&](int number) {
    pollfd readable = {.fd = number, .events = POLLIN, .revents = 0};
    return ::poll(&readable, 1, most_ms);
  });
}

int left_ms(std::int64_t give_up_ns) {
  return static_cast<int>(std::max<std::int64_t>(0, give_up_ns - now_ns()) / 1'000'000);
}

// The memory that comes with the answer; nothing: refused, no answer, or it cannot be taken, which is told.
SharedTrace* receive_memory(const OwnDescriptor& socket, std::int64_t give_up_ns) {
  int ready = 0;
  do ready = wait_for_packet(socket, left_ms(give_up_ns));
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
  const auto receive = [&](int number) { return ::recvmsg(number, &message, MSG_CMSG_CLOEXEC); };
  if (socket.use(receive) != 1 || answer != kAttachAccepted) return nullptr;
  const cmsghdr* const head = CMSG_FIRSTHDR(&message);
  // A process that may open no more files gets the answer without the descriptor.
  const bool has_memory = head != nullptr && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int));
  AttachFault fault;
  fault.error = EMFILE;
  SharedTrace* memory = nullptr;
  if (has_memory) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(head), sizeof number);
    const OwnDescriptor given = OwnDescriptor(number).above_standard();
    const auto map_it = [&](int of_memory) { return (memory = map(of_memory)) != nullptr ? 0 : -1; };
    fault.error = errno;
    if (given.exists() && given.use(map_it) != 0) fault.error = errno;
    given.close();
  }
  const auto tell_fault = [&](int number) { return ::send(number, &fault, sizeof fault, MSG_NOSIGNAL); };
  if (memory == nullptr) socket.use(tell_fault);
  return memory;
}

}  // namespace

std::optional<Connection> Connection::open() {
  const char* const name = std::getenv(kAttachVariable);
  const std::int64_t give_up_ns = now_ns() + kPatienceNs;
  const OwnDescriptor socket = name == nullptr ? OwnDescriptor(-1) : connect_to(name, give_up_ns);
  AttachRequest request;
  request.rank = first_rank().value_or(-1);
  SharedTrace* memory = nullptr;
  const auto ask = [&](int number) { return ::send(number, &request, sizeof request, MSG_NOSIGNAL); };
  if (socket.use(ask) == static_cast<ssize_t>(sizeof request)) memory = receive_memory(socket, give_up_ns);
  if (memory != nullptr) return Connection(socket, memory);
  socket.close();
  return std::nullopt;
}

bool Connection::wait_for_end(int most_ms) const {
  const int ready = wait_for_packet(socket_, most_ms);
  if (ready <= 0) return ready < 0 && errno == EBADF;
  // A byte says that windows have changed; without one it is the end.
  char byte = 0;
  const ssize_t received = socket_.use([&](int number) { return ::recv(number, &byte, 1, MSG_DONTWAIT); });
  return received == 0 || (received < 0 && errno != EAGAIN);
}

void Connection::close() const {
  socket_.use([](int number) { return ::shutdown(number, SHUT_RDWR); });
}

void Connection::leave_to_parent() const {
  ::mmap(memory_, sizeof(SharedTrace), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
  socket_.close();
}

}  // namespace spscope::inject
