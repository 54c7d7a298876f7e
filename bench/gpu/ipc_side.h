// IpcSide: one of two processes that exchange rows through each other's memory, as ranks in processes do: copies into
// memory that is opened by a handle, ordered by words that streams write and wait for by the calls of a run.
//
// The two are `gpu-check --check ipc`, which begins, and a peer that it starts (`gpu-check --ipc-peer PID FD`), which
// answers lines with lines. Words lie in memory that both map.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "backend/execute/cuda/gpu.h"
#include "backend/execute/cuda/memory.h"
#include "backend/execute/cuda/stream_words.h"

namespace spscope::gpu_check {

// Of a run: so many rows of so many bytes through arenas of a size.
struct IpcRun {
  std::int64_t arena_bytes = 0, row_bytes = 0;
  int rounds = 0;
  double limit_s = 20;  // of an exchange: once no word has changed for so long, one is lost
};

class IpcSide {
 public:
  // `words`: a page that both processes map. `side`: 0 or 1. Throws Error.
  IpcSide(std::span<std::byte> words, int side);

  // Makes this side's arena and fills the rows that it sends; the handle as text. Throws Error.
  std::string make_arena(const IpcRun& run);
  // Throws Error.
  void open_arena(const std::string& handle);
  // Enqueues rounds up to `end`, in lots, and waits for them. In each, a row is copied into the partner's memory and
  // the partner's row is kept. What is wrong, such as a word that does not come; "" when nothing is. Throws Error.
  // `stop_wanted` ends the wait with its reason, when it has one.
  std::string exchange(int end, const std::function<std::string()>& stop_wanted);
  // What is wrong with the rows that came; "" when nothing is. Throws Error.
  std::string check_rows() const;
  // Both sides have ended what they do.
  void close();

 private:
  struct Words {
    std::uint32_t sent, taken;
  };

  CUdeviceptr word(int side, bool taken) const {
    return registered_.address() + sizeof(Words) * static_cast<std::size_t>(side) +
           (taken ? sizeof(std::uint32_t) : std::size_t{0});
  }
  std::uint32_t value_of(int side, bool taken) const;
  void enqueue(int round);
  void let_pass();

  const int side_;
  const std::span<std::byte> words_;
  cuda::Gpu& gpu_;
  const cuda::CurrentContext current_;
  const cuda::Stream stream_;
  const cuda::RegisteredMemory registered_;
  cuda::StreamWords gathered_;
  IpcRun run_;
  std::unique_ptr<cuda::DeviceMemory> arena_;
  std::unique_ptr<cuda::IpcMemory> opened_;
};

// The peer's whole life. Exit code.
int run_ipc_peer(const std::string& parent, const std::string& descriptor);

// A page that both processes map. The first constructor makes it, the second finds that of the other process. Throws
// Error.
class SharedPage {
 public:
  SharedPage();
  SharedPage(const std::string& parent, const std::string& descriptor);
  ~SharedPage();
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  int descriptor() const { return descriptor_; }
  std::span<std::byte> bytes() const;

 private:
  void map();

  int descriptor_ = -1;
  void* data_ = nullptr;
};

}  // namespace spscope::gpu_check
