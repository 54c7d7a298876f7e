#include "backend/launch/gather_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "backend/collect/shard_writer.h"
#include "backend/execute/agree.h"
#include "backend/launch/file_transfer.h"

namespace spscope {
namespace {

namespace fs = std::filesystem;

// What a rank has: by the same names here and there.
struct RankFile {
  std::string path;
  std::int64_t bytes = 0;
};

// In the order in which they are sent: the shard, without which the others mean nothing, comes last. A log is there
// when the disk had no room to bring it into its shard.
std::vector<std::string> file_paths(const CollectingNote& note, int rank) {
  return {note.rank_now(rank), note.rank_db(rank) + "-wal", note.rank_db(rank)};
}

std::vector<RankFile> files_of(const CollectingNote& note, int rank) {
  std::vector<RankFile> files;
  for (const std::string& path : file_paths(note, rank)) {
    std::error_code failure;
    const std::uintmax_t bytes = fs::file_size(path, failure);
    files.push_back({path, failure ? 0 : static_cast<std::int64_t>(bytes)});
  }
  if (files.back().bytes == 0)
    throw Error(ErrorCode::kStoreOpen, fmt::format("the shard \"{}\" of rank {} is gone", files.back().path, rank));
  return files;
}

// Sizes of the files of every rank, at rank 0; of ranks at home, none.
std::vector<std::vector<std::int64_t>> sizes_of_all(RankWorld& world, const std::vector<RankFile>& mine) {
  std::vector<std::int64_t> sizes;
  for (const RankFile& file : mine) sizes.push_back(file.bytes);
  std::vector<std::vector<std::int64_t>> all;
  for (const std::vector<std::byte>& bytes : world.gather(std::as_bytes(std::span(sizes)))) {
    std::vector<std::int64_t>& of_rank = all.emplace_back(bytes.size() / sizeof(std::int64_t));
    if (!bytes.empty()) std::memcpy(of_rank.data(), bytes.data(), bytes.size());
  }
  return all;
}

void require_room(const CollectingNote& home, const std::vector<std::vector<std::int64_t>>& sizes) {
  std::int64_t needed = 0;
  for (const std::vector<std::int64_t>& of_rank : sizes)
    for (const std::int64_t bytes : of_rank) needed += bytes;
  std::error_code failure;
  const fs::space_info room = fs::space(home.folder, failure);
  if (!failure && room.available >= static_cast<std::uintmax_t>(needed)) return;
  throw Error(ErrorCode::kStoreWrite,
              fmt::format("the shards of other hosts need {} bytes in \"{}\" on host {}, where {} are free", needed,
                          home.folder, home.host, failure ? 0 : room.available));
}

void receive_rank(RankWorld& world, const CollectingNote& home, int rank, const std::vector<std::int64_t>& sizes) {
  const std::vector<std::string> paths = file_paths(home, rank);
  for (std::size_t i = 0; i < paths.size() && i < sizes.size(); ++i)
    if (sizes[i] > 0) receive_file(world, rank, paths[i], sizes[i]);
}

void remove_rank(const CollectingNote& home, int rank) {
  std::error_code ignored;
  for (const std::string& path : file_paths(home, rank)) fs::remove(path, ignored);
}

// At rank 0. Each rank waits for its turn, and gets the order not to send once anything has failed.
std::optional<Error> receive_all(RankWorld& world, const CollectingNote& home,
                                 const std::vector<std::vector<std::int64_t>>& sizes) {
  std::optional<Error> failure;
  for (int rank = 1; rank < world.size(); ++rank) {
    const std::vector<std::int64_t>& of_rank = sizes[static_cast<std::size_t>(rank)];
    if (of_rank.empty()) continue;
    const std::byte turn{failure ? std::uint8_t{0} : std::uint8_t{1}};
    world.send(rank, {&turn, 1});
    if (failure) continue;
    const std::optional<Error> error = failure_of([&] { receive_rank(world, home, rank, of_rank); });
    if (error)
      failure.emplace(error->code(),
                      fmt::format("host {}, with the shard of rank {} from host {}: {}", home.host, rank,
                                  world.place(rank).host, error->what()),
                      error->hint());
  }
  for (int rank = 1; failure && rank < world.size(); ++rank)
    if (!sizes[static_cast<std::size_t>(rank)].empty()) remove_rank(home, rank);
  return failure;
}

std::optional<Error> send_mine(RankWorld& world, const std::vector<RankFile>& files) {
  std::byte turn{0};
  world.receive(0, {&turn, 1});
  if (turn == std::byte{0}) return std::nullopt;  // rank 0 knows why
  return failure_of([&] {
    for (const RankFile& file : files)
      if (file.bytes > 0) send_file(world, 0, file.path);
  });
}

}  // namespace

std::optional<Error> gather_shards(RankWorld& world, HostFolders& folders) {
  if (folders.elsewhere().empty()) return std::nullopt;
  const CollectingNote& home = folders.home();
  std::vector<RankFile> mine;
  std::optional<Error> failure = world.agree(failure_of([&] {
    if (folders.is_home()) return;
    close_log(folders.note().rank_db(world.rank()));
    mine = files_of(folders.note(), world.rank());
  }));
  if (failure) return failure;
  const std::vector<std::vector<std::int64_t>> sizes = sizes_of_all(world, mine);
  failure = world.agree(failure_of([&] {
    if (world.rank() == 0) require_room(home, sizes);
  }));
  if (failure) return failure;
  if (world.rank() == 0)
    failure = receive_all(world, home, sizes);
  else if (!folders.is_home())
    failure = send_mine(world, mine);
  if (world.rank() == 0 && !failure) failure = failure_of([&] { folders.forget(); });
  return world.agree(failure);
}

}  // namespace spscope
