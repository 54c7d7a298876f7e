#include "backend/attach/attach_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>

#include "backend/base/error.h"
#include "backend/base/random_id.h"
#include "backend/base/utf8.h"
#include "backend/record/attach_request.h"
#include "backend/record/now_page.h"

namespace spscope {
namespace {

constexpr int kPatienceMs = 1000;  // a process that asks sends its request at once

// Memory of the size of a SharedTrace that neither side can make smaller, so that reading it never ends in a SIGBUS.
// -1 with errno when there is none.
int make_memory() {
  const int fd = ::memfd_create("spscope_attach", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  if (::ftruncate(fd, sizeof(SharedTrace)) == 0 &&
      ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

// "python train.py --steps … (process 4711)": its command line, as many words as a line of notes has room for, and
// paths without their folders.
std::string name_of(pid_t pid) {
  constexpr std::size_t kMost = 60;
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  std::string text;
  for (std::string word; std::getline(file, word, '\0');) {
    word = clean_text(word).text;
    if (word.starts_with('/') && !word.ends_with('/')) word.erase(0, word.rfind('/') + 1);
    if (text.empty()) {
      text = first_characters(word, kMost);
    } else if (text.size() + 1 + word.size() <= kMost) {
      text += " " + word;
    } else {
      text += " …";
      break;
    }
  }
  return text.empty() ? fmt::format("process {}", pid) : fmt::format("{} (process {})", text, pid);
}

// False: the process is gone, or waits no more.
bool answer(int connection, char what, int memory) {
  iovec data = {.iov_base = &what, .iov_len = 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof memory)] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (memory >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof memory);
    std::memcpy(CMSG_DATA(head), &memory, sizeof memory);
  }
  return ::sendmsg(connection, &message, MSG_NOSIGNAL) == 1;
}

// Why a process gets no memory; "" when it is to have some.
std::string reason_to_refuse(int connection, ucred& peer, AttachRequest& request) {
  socklen_t length = sizeof peer;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return "its process is not known";
  if (peer.uid != ::geteuid()) return fmt::format("process {} is of another user", peer.pid);
  pollfd readable = {.fd = connection, .events = POLLIN, .revents = 0};
  if (::poll(&readable, 1, kPatienceMs) != 1 ||
      ::recv(connection, &request, sizeof request, MSG_DONTWAIT) != static_cast<ssize_t>(sizeof request) ||
      request.magic != AttachRequest().magic)
    return fmt::format("what process {} sent is no request", peer.pid);
  if (request.version != SharedTrace::kVersion || request.memory_bytes != sizeof(SharedTrace))
    return fmt::format("the injection library of process {} is of another version of spscope", peer.pid);
  return {};
}

}  // namespace

AttachedProcess::~AttachedProcess() {
  ::munmap(memory_, sizeof(SharedTrace));
  ::close(connection_);
}

AttachSocket::AttachSocket() : name_("spscope-attach-" + collection_text(random_id())) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::copy(name_.begin(), name_.end(), address.sun_path + 1);
  socket_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
  if (socket_ >= 0 && ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), bytes) == 0 &&
      ::listen(socket_, SOMAXCONN) == 0)
    return;
  const std::string why = std::strerror(errno);
  if (socket_ >= 0) ::close(socket_);
  throw Error(ErrorCode::kLaunch, fmt::format("no socket for the program to ask for memory: {}", why),
              "attach needs abstract Unix sockets, which every Linux has: look for a sandbox that forbids them");
}

AttachSocket::~AttachSocket() { ::close(socket_); }

std::unique_ptr<AttachedProcess> AttachSocket::accept(std::string& refused) const {
  const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0) return nullptr;
  ucred peer = {};
  AttachRequest request;
  refused = reason_to_refuse(connection, peer, request);
  const int memory = refused.empty() ? make_memory() : -1;
  void* const mapped =
      memory < 0 ? MAP_FAILED : ::mmap(nullptr, sizeof(SharedTrace), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (refused.empty() && mapped == MAP_FAILED)
    refused = fmt::format("no memory for process {}: {}", peer.pid, std::strerror(errno));
  std::string name = name_of(peer.pid);  // while it waits for the answer
  const bool answered =
      answer(connection, refused.empty() ? kAttachAccepted : kAttachRefused, refused.empty() ? memory : -1);
  if (memory >= 0) ::close(memory);
  if (refused.empty() && answered)
    return std::make_unique<AttachedProcess>(connection, peer.pid, std::move(name), request.rank,
                                             static_cast<SharedTrace*>(mapped));
  if (mapped != MAP_FAILED) ::munmap(mapped, sizeof(SharedTrace));
  if (refused.empty())
    refused =
        fmt::format("{} did not wait for the answer: it has ended, or goes on by itself after 5 s without one", name);
  ::close(connection);
  return nullptr;
}

}  // namespace spscope
