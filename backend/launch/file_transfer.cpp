#include "backend/launch/file_transfer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "backend/base/bytes.h"
#include "backend/base/result.h"
#include "backend/base/whole_file.h"

namespace spscope {
namespace {

enum class PieceState : std::int32_t {
  kMore = 0,    // another one follows
  kLast = 1,    // the file ends with it
  kFailed = 2,  // the file cannot be read: the bytes say why
};
// Goes before the bytes of a piece. Both ends are the same program on machines of the same byte order.
struct PieceHeader {
  std::int64_t num_bytes = 0;
  std::int64_t file_bytes = 0;  // up to and with this piece
  std::uint32_t crc32c = 0;     // of the bytes
  PieceState state = PieceState::kMore;
};
static_assert(sizeof(PieceHeader) == 24);

// What the receiver says of a piece.
enum class Answer : std::int32_t { kGoOn = 0, kStop = 1 };

constexpr std::int64_t kMaxReason = 4096;  // bytes of text

template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

std::uint32_t checksum(std::span<const std::byte> bytes) {
  return crc32c({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

class ReadFile {
 public:
  explicit ReadFile(const std::string& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)) {
    if (descriptor_ < 0) fail();
  }
  ~ReadFile() { ::close(descriptor_); }
  ReadFile(const ReadFile&) = delete;
  ReadFile& operator=(const ReadFile&) = delete;

  // As many bytes as fit into `bytes`, fewer only at the end of the file.
  std::span<const std::byte> read(std::span<std::byte> bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = ::read(descriptor_, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail();
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return bytes.first(done);
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorCode::kStoreOpen, fmt::format("cannot read \"{}\": {}", path_, std::strerror(errno)));
  }
  const std::string path_;
  const int descriptor_;
};

Answer send_piece(RankWorld& world, int to, PieceHeader header, std::span<const std::byte> bytes) {
  header.num_bytes = static_cast<std::int64_t>(bytes.size());
  header.crc32c = checksum(bytes);
  world.send(to, bytes_of(header));
  if (!bytes.empty()) world.send(to, bytes);
  Answer answer = Answer::kStop;
  world.receive(to, bytes_of(answer));
  return answer;
}

void send_reason(RankWorld& world, int to, const Error& error) {
  const std::string text = std::string(error.what()).substr(0, kMaxReason);
  send_piece(world, to, {.state = PieceState::kFailed}, std::as_bytes(std::span(text)));
}

// The bytes of the next piece, in `buffer`.
std::span<const std::byte> receive_piece(RankWorld& world, int from, PieceHeader& header,
                                         std::vector<std::byte>& buffer) {
  world.receive(from, bytes_of(header));
  // What cannot be a piece cannot be followed by anything that makes sense: the world is at fault.
  SPSCOPE_CHECK(header.num_bytes >= 0 && header.num_bytes <= std::ssize(buffer));
  const std::span<std::byte> bytes = std::span(buffer).first(static_cast<std::size_t>(header.num_bytes));
  if (!bytes.empty()) world.receive(from, bytes);
  return bytes;
}

}  // namespace

void send_file(RankWorld& world, int to, const std::string& path, std::int64_t piece_bytes) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(piece_bytes));
  Answer answer = Answer::kGoOn;
  std::int64_t sent = 0;
  const auto read = capture([&] {
    ReadFile file(path);
    for (PieceHeader header; answer == Answer::kGoOn && header.state == PieceState::kMore;) {
      const std::span<const std::byte> bytes = file.read(buffer);
      sent += std::ssize(bytes);
      header.file_bytes = sent;
      if (std::ssize(bytes) < piece_bytes) header.state = PieceState::kLast;
      answer = send_piece(world, to, header, bytes);
    }
    return true;
  });
  if (!read) {
    if (read.error().code() == ErrorCode::kStoreOpen) send_reason(world, to, read.error());  // else the world failed
    throw read.error();
  }
  if (answer == Answer::kStop)
    throw Error(ErrorCode::kStoreWrite, fmt::format("rank {} could not take \"{}\" after {} bytes", to, path, sent));
}

void receive_file(RankWorld& world, int from, const std::string& path, std::int64_t file_bytes,
                  std::int64_t piece_bytes) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::max(piece_bytes, kMaxReason)));
  std::optional<WholeFile> file;
  std::int64_t received = 0;
  for (PieceHeader header; header.state == PieceState::kMore;) {
    const std::span<const std::byte> bytes = receive_piece(world, from, header, buffer);
    const auto taken = capture([&] {
      if (header.state == PieceState::kFailed)
        throw Error(ErrorCode::kStoreOpen,
                    fmt::format("rank {}: {}", from,
                                std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
      received += std::ssize(bytes);
      if (checksum(bytes) != header.crc32c || received != header.file_bytes)
        throw Error(ErrorCode::kStoreCorrupt,
                    fmt::format("\"{}\" came damaged from rank {}, at {} bytes", path, from, received),
                    "look for faults of the network between the hosts");
      if (received > file_bytes || (header.state == PieceState::kLast && received != file_bytes))
        throw Error(ErrorCode::kStoreCorrupt,
                    fmt::format("rank {} announced {} bytes for \"{}\" and sent {}", from, file_bytes, path, received));
      if (!file) file.emplace(path);
      file->write(bytes);
      if (header.state == PieceState::kLast) file->commit();
      return true;
    });
    Answer answer = taken ? Answer::kGoOn : Answer::kStop;
    world.send(from, bytes_of(answer));
    if (!taken) throw taken.error();
  }
}

}  // namespace spscope
