#include "backend/record/now_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "backend/base/check.h"
#include "backend/base/error.h"
#include "backend/base/host.h"
#include "backend/base/process.h"
#include "backend/base/regular_file.h"

namespace spscope {
namespace {

constexpr std::uint64_t kMagic = 0x31574f4e53505300;  // "\0SPSNOW1"
constexpr std::uint32_t kLayout = 2;
constexpr std::size_t kLineBytes = sizeof(NowLine), kLineWords = 8;
// 65,536 ranks with 64 lanes each are more than any cluster has; it bounds what a hostile header can make us read.
constexpr std::uint64_t kMaxLines = std::uint64_t{1} << 22;

struct Header {
  std::uint64_t magic;
  std::uint32_t layout;
  std::int32_t pid;
  std::uint64_t boot_hash;
  std::uint32_t first_rank, ranks, lanes, complete;
  std::uint8_t collection[16];
  std::uint64_t start_ticks;
};
static_assert(sizeof(Header) == kLineBytes && std::is_trivially_copyable_v<Header>);

using Words = std::array<std::uint64_t, kLineWords>;

std::uint64_t join(std::int32_t low, std::int32_t high) {
  return static_cast<std::uint32_t>(low) | static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32;
}
std::int32_t low_half(std::uint64_t word) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(word)); }
std::int32_t high_half(std::uint64_t word) { return static_cast<std::int32_t>(word >> 32); }

// What the words say, as far as it can be.
NowPage::Line line_of(const Words& words, int rank, int lane) {
  NowPage::Line line{rank, lane, {}, true};
  LaneNow& now = line.now;
  const std::int32_t state = high_half(words[3]) & 0xff;
  now.op = low_half(words[1]);
  now.sequence = high_half(words[1]);
  now.run = RunId{low_half(words[2])};
  now.waits_for = high_half(words[2]);
  now.peer = low_half(words[3]);
  now.repeat = high_half(words[3]) >> 8;
  now.state = static_cast<LaneState>(state);
  now.bytes = static_cast<std::int64_t>(words[4]);
  now.begin_ns = static_cast<std::int64_t>(words[5]);
  const auto sent = static_cast<std::int64_t>(words[6]), dropped = static_cast<std::int64_t>(words[7]);
  const bool known = state < kNumLaneStates && now.op >= kNone && now.sequence >= 0 && now.peer >= kNoPeer &&
                     now.bytes >= 0 && static_cast<std::int64_t>(now.run) >= 0 && now.waits_for >= kNone;
  line.whole = known && words[0] % 2 == 0 && 0 <= dropped && dropped <= sent;
  if (!line.whole) now = LaneNow();
  now.sent = std::max<std::int64_t>(0, sent);
  now.dropped = std::clamp<std::int64_t>(dropped, 0, now.sent);
  return line;
}

[[noreturn]] void cannot_make(const std::string& path, std::size_t bytes) {
  const int code = errno;
  const bool full = code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO || code == ENOMEM;
  throw Error(full ? ErrorCode::kStoreWrite : ErrorCode::kOutputPlace,
              fmt::format("cannot make \"{}\" of {} bytes: {}", path, bytes, std::strerror(code)),
              "free space there, or set run.scratch to another folder on a local disk");
}

[[noreturn]] void cannot_read(ErrorCode code, const std::string& path, const std::string& why) {
  throw Error(code, fmt::format("cannot read \"{}\": {}", path, why));
}

// A descriptor that closes itself.
struct Descriptor {
  explicit Descriptor(int number) : fd(number) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd;
};

// All bytes from the offset, or false when the file ends before.
bool read_at(int fd, void* bytes, std::size_t size, std::size_t offset) {
  auto* to = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = ::pread(fd, to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got, size -= static_cast<std::size_t>(got), offset += static_cast<std::size_t>(got);
  }
  return true;
}

Header read_header(int fd, const std::string& path) {
  Header header;
  if (!read_at(fd, &header, sizeof header, 0) || header.magic != kMagic || header.layout != kLayout)
    cannot_read(ErrorCode::kStoreForeign, path, "it is no now page of this version of spscope");
  const std::uint64_t lines = std::uint64_t{header.ranks} * header.lanes;
  struct stat status;
  const bool fits = header.ranks > 0 && header.lanes > 0 && lines <= kMaxLines &&
                    std::uint64_t{header.first_rank} + header.ranks <= (std::uint64_t{1} << 31) &&
                    ::fstat(fd, &status) == 0 &&
                    static_cast<std::uint64_t>(status.st_size) == (1 + lines) * kLineBytes && header.pid > 0;
  if (!fits) cannot_read(ErrorCode::kStoreCorrupt, path, "its size is not what its header says");
  return header;
}

}  // namespace

std::string_view lane_state_name(LaneState state) {
  static constexpr std::string_view names[kNumLaneStates] = {"idle",         "computing",    "waiting for peer",
                                                             "transferring", "ended repeat", "waiting for op"};
  const auto number = static_cast<std::size_t>(state);
  return number < kNumLaneStates ? names[number] : names[0];
}

std::string collection_text(const CollectionId& id) {
  std::string text;
  for (const std::uint8_t byte : id) text += fmt::format("{:02x}", byte);
  return text;
}

// FNV-1a.
std::uint64_t hash_of_boot_id() {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : boot_id()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::uint64_t process_start_ticks(int pid) {
  const std::optional<ProcessFacts> facts = read_process(pid);
  return facts && facts->state != 'Z' ? facts->start_ticks : 0;
}

NowPageOwner this_process(int first_rank, int ranks, int lanes, const CollectionId& collection) {
  return {::getpid(), process_start_ticks(::getpid()), hash_of_boot_id(), first_rank, ranks, lanes, collection};
}

// Every store is a release, so a reader that sees a new word by an acquire also sees the odd generation before it; the
// even one after all words is seen only with them. (A fence would do the same and is unknown to ThreadSanitizer.)
void NowLine::write(const LaneNow& now, std::uint64_t odd, std::uint64_t next) noexcept {
  const auto put = [this](std::size_t i, std::uint64_t word) { words_[i].store(word, std::memory_order_release); };
  words_[0].store(odd, std::memory_order_relaxed);
  put(1, join(now.op, now.sequence));
  put(2, join(static_cast<std::int32_t>(now.run), now.waits_for));
  put(3, join(now.peer, now.repeat * 256 + static_cast<int>(now.state)));
  put(4, static_cast<std::uint64_t>(now.bytes));
  put(5, static_cast<std::uint64_t>(now.begin_ns));
  put(6, static_cast<std::uint64_t>(now.sent));
  put(7, static_cast<std::uint64_t>(now.dropped));
  words_[0].store(next, std::memory_order_release);
}

void NowLine::publish(const LaneNow& now) noexcept {
  const std::uint64_t odd = generation() | 1;
  write(now, odd, odd + 1);
}

void NowLine::mirror(const LaneNow& now, std::uint64_t generation) noexcept {
  write(now, generation | 1, generation & ~std::uint64_t{1});
}

LaneNow NowLine::read() const noexcept {
  constexpr int kTries = 1000;  // of some nanoseconds each: longer than a lane on a core needs for a change
  Words words{};
  for (int tries = 0; tries < kTries; ++tries) {
    words[0] = words_[0].load(std::memory_order_acquire);
    for (std::size_t i = 1; i < kLineWords; ++i) words[i] = words_[i].load(std::memory_order_acquire);
    if (words[0] % 2 == 0 && words_[0].load(std::memory_order_relaxed) == words[0]) break;
    words[0] |= 1;
  }
  return line_of(words, 0, 0).now;
}

NowPageWriter::NowPageWriter(std::string path, const NowPageOwner& owner) : path_(std::move(path)), owner_(owner) {
  SPSCOPE_CHECK(owner.ranks > 0 && owner.lanes > 0 && owner.first_rank >= 0);
  bytes_ = (1 + static_cast<std::size_t>(owner.ranks) * static_cast<std::size_t>(owner.lanes)) * kLineBytes;
  const Descriptor file(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (file.fd < 0) cannot_make(path_, bytes_);
  // A mapped page without a block is a SIGBUS when it is first written and the disk is full.
  errno = ::posix_fallocate(file.fd, 0, static_cast<off_t>(bytes_));
  if (errno == 0) {
    mapped_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.fd, 0);
    if (mapped_ == MAP_FAILED) mapped_ = nullptr;
  }
  if (mapped_ == nullptr) {
    const int code = errno;
    ::unlink(path_.c_str());
    errno = code;
    cannot_make(path_, bytes_);
  }
  for (int rank = 0; rank < owner.ranks; ++rank)
    for (int lane = 0; lane < owner.lanes; ++lane) line(owner.first_rank + rank, lane).publish(LaneNow());
  Header header{0,
                kLayout,
                owner.pid,
                owner.boot_hash,
                static_cast<std::uint32_t>(owner.first_rank),
                static_cast<std::uint32_t>(owner.ranks),
                static_cast<std::uint32_t>(owner.lanes),
                0,
                {},
                owner.start_ticks};
  std::memcpy(header.collection, owner.collection.data(), sizeof header.collection);
  std::memcpy(mapped_, &header, sizeof header);
  // Last: a page without it is not looked at.
  std::atomic_ref(static_cast<Header*>(mapped_)->magic).store(kMagic, std::memory_order_release);
}

NowPageWriter::~NowPageWriter() { ::munmap(mapped_, bytes_); }

NowLine& NowPageWriter::line(int rank, int lane) {
  SPSCOPE_CHECK(rank >= owner_.first_rank && rank < owner_.first_rank + owner_.ranks && lane >= 0 &&
                lane < owner_.lanes);
  const auto index = static_cast<std::size_t>(rank - owner_.first_rank) * static_cast<std::size_t>(owner_.lanes) +
                     static_cast<std::size_t>(lane);
  return reinterpret_cast<NowLine*>(static_cast<char*>(mapped_) + sizeof(Header))[index];
}

void NowPageWriter::set_complete() noexcept {
  std::atomic_ref(static_cast<Header*>(mapped_)->complete).store(1, std::memory_order_release);
}

NowPageView::NowPageView(const std::string& path) {
  const RegularFile file(path);
  if (!file.is_open()) cannot_read(ErrorCode::kStoreOpen, path, file.reason());
  // Whoever owns a mapped file can cut it short, which ends its readers.
  if (!file.is_ours()) cannot_read(ErrorCode::kStoreForeign, path, "it belongs to another user");
  const Header header = read_header(file.descriptor(), path);
  first_rank_ = static_cast<int>(header.first_rank);
  ranks_ = static_cast<int>(header.ranks);
  lanes_ = static_cast<int>(header.lanes);
  bytes_ = (1 + std::size_t{header.ranks} * header.lanes) * kLineBytes;
  void* const mapped = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (mapped == MAP_FAILED) cannot_read(ErrorCode::kStoreOpen, path, std::strerror(errno));
  mapped_ = mapped;
}

NowPageView::~NowPageView() { ::munmap(const_cast<void*>(mapped_), bytes_); }

const NowLine* NowPageView::line(int rank, int lane) const {
  if (rank < first_rank_ || rank >= first_rank_ + ranks_ || lane < 0 || lane >= lanes_) return nullptr;
  const auto index =
      static_cast<std::size_t>(rank - first_rank_) * static_cast<std::size_t>(lanes_) + static_cast<std::size_t>(lane);
  return reinterpret_cast<const NowLine*>(static_cast<const char*>(mapped_) + sizeof(Header)) + index;
}

NowPage read_now_page(const std::string& path) {
  const RegularFile file(path);
  if (!file.is_open()) cannot_read(ErrorCode::kStoreOpen, path, file.reason());
  const Header header = read_header(file.descriptor(), path);
  NowPage page;
  page.owner = {header.pid,
                header.start_ticks,
                header.boot_hash,
                static_cast<int>(header.first_rank),
                static_cast<int>(header.ranks),
                static_cast<int>(header.lanes),
                {}};
  std::memcpy(page.owner.collection.data(), header.collection, sizeof header.collection);
  page.complete = header.complete == 1;
  std::vector<Words> first(std::size_t{header.ranks} * header.lanes);
  const std::size_t num_bytes = first.size() * kLineBytes;
  if (!read_at(file.descriptor(), first.data(), num_bytes, sizeof header))
    cannot_read(ErrorCode::kStoreCorrupt, path, "it shrank");
  // A line that two reads find equal did not change between them, so neither read met a change half done; one whose
  // writer is gone stays as it is. One that differs at every try counts as met in the middle of a change.
  constexpr int kTries = 64;
  for (std::size_t i = 0; i < first.size(); ++i) {
    Words words = first[i], next{};
    bool calm = false;
    for (int tries = 0; tries < kTries && !calm; ++tries) {
      if (!read_at(file.descriptor(), next.data(), kLineBytes, sizeof header + i * kLineBytes))
        cannot_read(ErrorCode::kStoreCorrupt, path, "it shrank");
      calm = next == words && words[0] % 2 == 0;
      words = next;
    }
    if (!calm) words[0] |= 1;
    page.lines.push_back(
        line_of(words, page.owner.first_rank + static_cast<int>(i / header.lanes), static_cast<int>(i % header.lanes)));
  }
  return page;
}

}  // namespace spscope
