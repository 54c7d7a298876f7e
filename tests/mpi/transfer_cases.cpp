#include "tests/mpi/transfer_cases.h"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "backend/launch/file_transfer.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

std::string content_of(std::int64_t num_bytes) {
  std::string text(static_cast<std::size_t>(num_bytes), '\0');
  std::uint32_t state = 1;
  for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

}  // namespace

int run_transfers(RankWorld& world) {
  const TemporaryFolder folder;
  const int last = world.size() - 1;
  int wrong = 0;
  for (const std::int64_t bytes :
       {std::int64_t{0}, std::int64_t{1}, kPieceBytes - 1, kPieceBytes, kPieceBytes + 1, 3 * kPieceBytes + 12345}) {
    const std::string content = content_of(bytes);
    if (world.rank() == last) send_file(world, 0, folder.write("sent", content));
    if (world.rank() == 0) {
      const std::string path = folder / "received";
      std::ostringstream text;
      receive_file(world, last, path, bytes);
      if (bytes > 0) text << std::ifstream(path, std::ios::binary).rdbuf();
      wrong += text.str() != content;
    }
    world.barrier();
  }
  if (world.rank() == 0) std::printf("6 files from rank %d: %d differ\n", last, wrong);
  return wrong;
}

}  // namespace spscope
