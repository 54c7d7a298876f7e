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

#include "backend/base/clock.h"
#include "backend/base/errno_remedy.h"
#include "backend/base/error.h"
#include "backend/base/random_id.h"
#include "backend/base/utf8.h"
#include "backend/record/attach_request.h"
#include "backend/record/now_page.h"

namespace spscope {
namespace {

constexpr std::int64_t kPatienceNs = 5'000'000'000;  // a process that connects sends its request at once
// Of a turn, between two looks at rings and at the program: whoever connects all the time takes no more of it.
constexpr int kMostAccepts = 64;
constexpr std::size_t kMostProcesses = 4;  // of a turn, too: each costs memory and a thread
constexpr std::size_t kMostSilent = 64;

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

std::string words_of(int error) {
  const std::string remedy = remedy_of(error);
  return std::strerror(error) + (remedy.empty() ? "" : "; " + remedy);
}

// Of another user, or unknown: it gets no answer.
bool is_own(int connection, ucred& peer) {
  socklen_t length = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::geteuid();
}

bool is_fault(const AttachFault& fault, ssize_t bytes) {
  return bytes == static_cast<ssize_t>(sizeof fault) && fault.magic == AttachFault().magic;
}

}  // namespace

bool has_ended(int connection) {
  pollfd readable = {.fd = connection, .events = POLLIN, .revents = 0};
  if (::poll(&readable, 1, 0) <= 0) return false;
  if ((readable.revents & ~POLLIN) != 0) return true;
  AttachFault fault;
  const ssize_t bytes = ::recv(connection, &fault, sizeof fault, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC);
  if (bytes < 0) return errno != EAGAIN && errno != EINTR;
  if (bytes == 0 || is_fault(fault, bytes)) return true;  // the fault stays for why_not_taken()
  static_cast<void>(::recv(connection, &fault, sizeof fault, MSG_DONTWAIT));
  return false;
}

std::string ProcessNames::unique(std::string name) {
  const auto known = programs_.find(name);
  if (known == programs_.end() && programs_.size() < kMost) {
    programs_.emplace(name, 1);
    return name;
  }
  const std::size_t number = known == programs_.end() ? kMost + ++others_ : ++known->second;
  const std::size_t end = name.size() - (name.ends_with(')') ? 1 : 0);
  return name.insert(end, fmt::format(", program {}", number));
}

AttachedProcess::~AttachedProcess() {
  ::munmap(memory_, sizeof(SharedTrace));
  if (memory_descriptor_ >= 0) ::close(memory_descriptor_);
  ::close(connection_);
}

bool AttachedProcess::give_memory() {
  char what = kAttachAccepted;
  iovec data = {.iov_base = &what, .iov_len = 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof memory_descriptor_)] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof memory_descriptor_);
  std::memcpy(CMSG_DATA(head), &memory_descriptor_, sizeof memory_descriptor_);
  const bool is_given = ::sendmsg(connection_, &message, MSG_NOSIGNAL) == 1;
  ::close(memory_descriptor_);
  memory_descriptor_ = -1;
  return is_given;
}

// Where there is no room it has not yet taken note of others before.
void AttachedProcess::wake() const {
  static_cast<void>(::send(connection_, &kAttachWake, 1, MSG_NOSIGNAL | MSG_DONTWAIT));
}

int AttachedProcess::why_not_taken() const {
  AttachFault fault;
  ssize_t bytes = 0;
  do bytes = ::recv(connection_, &fault, sizeof fault, MSG_DONTWAIT | MSG_TRUNC);
  while (bytes < 0 ? errno == ECONNRESET : bytes > 0 && !is_fault(fault, bytes));  // a reset comes before what was sent
  return bytes > 0 ? std::max(0, fault.error) : 0;
}

AttachSocket::AttachSocket() : name_("spscope-attach-" + collection_text(random_id())) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::copy(name_.begin(), name_.end(), address.sun_path + 1);
  socket_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
  if (socket_ >= 0 && ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), bytes) == 0 &&
      ::listen(socket_, kMostWaiting - 1) == 0) {
    spare_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    return;
  }
  const std::string why = std::strerror(errno);
  if (socket_ >= 0) ::close(socket_);
  throw Error(ErrorCode::kLaunch, fmt::format("no socket for the program to ask for memory: {}", why),
              "attach needs abstract Unix sockets, which every Linux has: look for a sandbox that forbids them");
}

AttachSocket::~AttachSocket() {
  for (const Silent& peer : silent_) ::close(peer.connection);
  if (spare_ >= 0) ::close(spare_);
  ::close(socket_);
}

AttachSocket::Asked AttachSocket::take() {
  Asked asked;
  const auto has_room = [&] { return asked.processes.size() < kMostProcesses; };
  std::erase_if(silent_, [&](const Silent& peer) { return has_room() && answer(peer, asked); });
  for (int i = 0; i < kMostAccepts && has_room() && accept_one(asked); ++i) continue;
  return asked;
}

// After accept() gave nobody: it fails for want of a descriptor, too, where nobody waits.
void AttachSocket::end_turn(Asked& asked) const {
  const int error = errno;
  pollfd asks = {.fd = socket_, .events = POLLIN, .revents = 0};
  asked.all = error == EAGAIN || ::poll(&asks, 1, 0) == 0;
  if (!asked.all && error != EINTR && error != ECONNABORTED) asked.error = error;
}

// Whether there was one.
bool AttachSocket::accept_one(Asked& asked) {
  const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) {
    errno == EMFILE || errno == ENFILE ? refuse_without_descriptors(asked) : end_turn(asked);
    return false;
  }
  ++asked.accepted;
  ucred peer = {};
  if (!is_own(connection, peer)) {
    ::close(connection);
    ++asked.of_other_users;
    return true;
  }
  if (const Silent now = {connection, peer.pid, now_ns() + kPatienceNs}; !answer(now, asked)) silent_.push_back(now);
  if (silent_.size() <= kMostSilent) return true;
  silent_.front().until_ns = 0;
  answer(silent_.front(), asked);
  silent_.erase(silent_.begin());
  return true;
}

// False: it has not asked yet. Else the connection is closed, or that of a process that asked.
bool AttachSocket::answer(const Silent& peer, Asked& asked) {
  AttachRequest request;
  const ssize_t bytes = ::recv(peer.connection, &request, sizeof request, MSG_DONTWAIT);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR) && now_ns() < peer.until_ns) return false;
  std::string why;
  if (bytes <= 0)
    why = "it connected and asked for nothing";
  else if (bytes != static_cast<ssize_t>(sizeof request) || request.magic != AttachRequest().magic)
    why = "what it sent is no request";
  else if (request.version != SharedTrace::kVersion || request.memory_bytes != sizeof(SharedTrace))
    why = "its injection library is of another version of spscope";
  const int memory = why.empty() ? make_memory() : -1;
  void* const mapped =
      memory < 0 ? MAP_FAILED : ::mmap(nullptr, sizeof(SharedTrace), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (why.empty() && mapped == MAP_FAILED)
    why = fmt::format("there is no memory of {} MiB for it: {}", sizeof(SharedTrace) >> 20, words_of(errno));
  std::string name = name_of(peer.pid);  // while it waits for the answer
  if (why.empty()) name = names_.unique(std::move(name));
  if (why.empty()) {
    asked.processes.push_back(std::make_unique<AttachedProcess>(peer.connection, memory, peer.pid, std::move(name),
                                                                request.rank, static_cast<SharedTrace*>(mapped)));
    return true;
  }
  if (memory >= 0) ::close(memory);
  ::close(peer.connection);
  asked.refused.push_back({std::move(name), std::move(why)});
  return true;
}

// The first that waits. Left alone, it would wait in the start of its program, and keep poll() from waiting.
void AttachSocket::refuse_without_descriptors(Asked& asked) {
  const int error = errno;
  if (spare_ >= 0) ::close(spare_);
  ucred peer = {};
  const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  const bool is_known = connection >= 0 && is_own(connection, peer);
  asked.accepted += connection >= 0;
  if (connection < 0) end_turn(asked);
  if (connection >= 0) ::close(connection);
  if (is_known)
    asked.refused.push_back({name_of(peer.pid), words_of(error)});
  else
    asked.of_other_users += connection >= 0;
  spare_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

}  // namespace spscope
