#include "bench/gpu/ipc_side.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <sstream>
#include <thread>
#include <vector>

#include "backend/base/clock.h"
#include "backend/execute/cuda/driver.h"

namespace spscope::gpu_check {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr int kRoundsAtOnce = 50;

// Different in each word of each row of each side.
std::uint32_t word_of(int side, int row, std::size_t i) {
  return static_cast<std::uint32_t>(side) << 31 | static_cast<std::uint32_t>(row) << 16 | static_cast<std::uint32_t>(i);
}

std::string hex_of(const CUipcMemHandle& handle) {
  std::string text;
  for (const char byte : handle.reserved) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

CUipcMemHandle handle_of(const std::string& text) {
  CUipcMemHandle handle{};
  if (text.size() != 2 * sizeof handle.reserved)
    throw Error(ErrorCode::kUnavailable, "the handle of the other process is cut: " + text);
  for (std::size_t i = 0; i < sizeof handle.reserved; ++i)
    handle.reserved[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return handle;
}

Error system_error(const char* call) {
  return {ErrorCode::kUnavailable, fmt::format("{}: {}", call, std::strerror(errno))};
}

}  // namespace

SharedPage::SharedPage() : descriptor_(memfd_create("spscope-ipc", MFD_CLOEXEC)) {
  if (descriptor_ < 0 || ftruncate(descriptor_, kPageBytes) != 0) throw system_error("memfd_create");
  map();
}

SharedPage::SharedPage(const std::string& parent, const std::string& descriptor)
    : descriptor_(open(("/proc/" + parent + "/fd/" + descriptor).c_str(), O_RDWR | O_CLOEXEC)) {
  if (descriptor_ < 0) throw system_error("opening the words of the other process");
  map();
}

void SharedPage::map() {
  data_ = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (data_ == MAP_FAILED) throw system_error("mmap of the words");
}

SharedPage::~SharedPage() {
  munmap(data_, kPageBytes);
  close(descriptor_);
}

std::span<std::byte> SharedPage::bytes() const { return {static_cast<std::byte*>(data_), kPageBytes}; }

IpcSide::IpcSide(std::span<std::byte> words, int side)
    : side_(side),
      words_(words),
      gpu_(cuda::Gpu::of(0)),
      current_(gpu_.context()),
      stream_(gpu_.context()),
      registered_(gpu_.context(), words) {}

// The arena holds the rows to send, then those that came. The partner writes into the last row of the arena.
std::string IpcSide::make_arena(const IpcRun& run) {
  run_ = run;
  arena_ = std::make_unique<cuda::DeviceMemory>(gpu_.context(), static_cast<std::size_t>(run.arena_bytes));
  std::vector<std::uint32_t> rows;
  for (int row = 0; row < run.rounds; ++row)
    for (std::size_t i = 0; i < static_cast<std::size_t>(run.row_bytes) / sizeof(std::uint32_t); ++i)
      rows.push_back(word_of(side_, row, i));
  arena_->write(std::as_bytes(std::span(rows)));
  return hex_of(arena_->ipc_handle());
}

void IpcSide::open_arena(const std::string& handle) {
  opened_ = std::make_unique<cuda::IpcMemory>(gpu_.context(), handle_of(handle));
}

std::uint32_t IpcSide::value_of(int side, bool taken) const {
  auto* const word = reinterpret_cast<std::uint32_t*>(words_.data()) + 2 * side + (taken ? 1 : 0);
  return std::atomic_ref(*word).load();
}

void IpcSide::enqueue(int round) {
  const auto number = static_cast<std::uint32_t>(round) + 1;
  const int other = 1 - side_;
  const auto row_bytes = static_cast<std::size_t>(run_.row_bytes);
  const auto row = [&](int at) { return arena_->address() + row_bytes * static_cast<std::size_t>(at); };
  const auto landing = static_cast<std::size_t>(run_.arena_bytes) - row_bytes;
  const auto copy = [&](CUdeviceptr to, CUdeviceptr from) {
    gathered_.enqueue(stream_.get());
    cuda::check(cuda::driver().cuMemcpyAsync(to, from, row_bytes, stream_.get()), "cuMemcpyAsync");
  };
  gathered_.wait(word(other, true), number - 1);  // the partner has taken the row before
  copy(opened_->address() + landing, row(round));
  gathered_.write(word(side_, false), number);
  gathered_.wait(word(other, false), number);
  copy(row(run_.rounds + round), arena_->address() + landing);
  gathered_.write(word(side_, true), number);
  gathered_.enqueue(stream_.get());
}

// Whatever a stream still waits for is there.
void IpcSide::let_pass() {
  const auto all = std::span(reinterpret_cast<std::uint32_t*>(words_.data()), 4);
  for (std::uint32_t& word : all) std::atomic_ref(word).store(static_cast<std::uint32_t>(run_.rounds));
  cuda::check(cuda::driver().cuStreamSynchronize(stream_.get()), "cuStreamSynchronize");
}

std::string IpcSide::exchange(int end, const std::function<std::string()>& stop_wanted) {
  std::uint32_t seen = 0;
  std::int64_t limit_ns = 0;
  for (int round = 0; round < end; ++round) {
    enqueue(round);
    if (round + 1 < end && (round + 1) % kRoundsAtOnce != 0) continue;
    for (;;) {
      const CUresult state = cuda::driver().cuStreamQuery(stream_.get());
      if (state == CUDA_SUCCESS) break;
      if (state != CUDA_ERROR_NOT_READY) cuda::check(state, "an exchange of rows");
      std::string wrong = stop_wanted();
      const std::uint32_t sum = value_of(0, false) + value_of(0, true) + value_of(1, false) + value_of(1, true);
      if (limit_ns == 0 || sum != seen) limit_ns = now_ns() + static_cast<std::int64_t>(run_.limit_s * 1e9);
      seen = sum;
      if (wrong.empty() && now_ns() > limit_ns)
        wrong = fmt::format("a word does not come: side 0 sent {} and took {}, side 1 sent {} and took {} of {} rows",
                            value_of(0, false), value_of(0, true), value_of(1, false), value_of(1, true), end);
      if (!wrong.empty()) {
        let_pass();
        return wrong;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  return {};
}

std::string IpcSide::check_rows() const {
  const std::size_t words_of_row = static_cast<std::size_t>(run_.row_bytes) / sizeof(std::uint32_t);
  std::vector<std::uint32_t> words(words_of_row * static_cast<std::size_t>(run_.rounds));
  const std::size_t num_bytes = words.size() * sizeof(std::uint32_t);
  cuda::check(cuda::driver().cuMemcpyDtoHAsync(words.data(), arena_->address() + num_bytes, num_bytes, stream_.get()),
              "cuMemcpyDtoHAsync");
  cuda::check(cuda::driver().cuStreamSynchronize(stream_.get()), "cuStreamSynchronize");
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto row = static_cast<int>(i / words_of_row);
    const std::uint32_t expected = word_of(1 - side_, row, i % words_of_row);
    if (words[i] != expected)
      return fmt::format("row {} that side {} got has {:08x} where {:08x} was sent", row, side_, words[i], expected);
  }
  return {};
}

void IpcSide::close() {
  opened_.reset();
  arena_.reset();
}

// The process that began sends these lines: "arena BYTES ROW ROUNDS", answered with a handle; "open HANDLE";
// "exchange"; "die ROUND"; "close". The other answers are "done", or what is wrong.
int run_ipc_peer(const std::string& parent, const std::string& descriptor) {
  const SharedPage page(parent, descriptor);
  IpcSide side(page.bytes(), 1);
  const auto nothing = [] { return std::string(); };
  IpcRun run;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word, answer = "done";
    words >> word;
    try {
      if (word == "arena") {
        words >> run.arena_bytes >> run.row_bytes >> run.rounds;
        answer = side.make_arena(run);
      } else if (word == "open") {
        words >> word;
        side.open_arena(word);
      } else if (word == "exchange") {
        std::string wrong = side.exchange(run.rounds, nothing);
        if (wrong.empty()) wrong = side.check_rows();
        if (!wrong.empty()) answer = wrong;
      } else if (word == "die") {
        int rounds = 0;
        words >> rounds;
        side.exchange(rounds, nothing);
        std::raise(SIGKILL);
      } else {
        side.close();
      }
    } catch (const std::exception& error) {
      answer = error.what();
    }
    std::cout << answer << '\n' << std::flush;
  }
  return 0;
}

}  // namespace spscope::gpu_check
