#include "tests/fake_cuda/planted_times.h"

#include "kernels/cuda/launch.h"

namespace spscope::fake_cuda {
namespace {

using kernels::cuda::Attend;
using kernels::cuda::Copy;
using kernels::cuda::Finish;
using kernels::cuda::Merge;

double of_attend(const Attend& launch) {
  double rows = 0, pairs = 0;
  for (int i = 0; i < launch.num_rows; ++i) {
    const kernels::cuda::AttendRows& piece = launch.rows[i];
    std::int64_t keys = 0;
    for (std::int32_t t = 0; t < piece.num_tiles; ++t)
      keys += launch.keys[piece.first_key + launch.tiles[piece.tile_begin + t]].rows;
    rows += piece.rows;
    pairs += static_cast<double>(piece.rows) * static_cast<double>(keys);
  }
  return kAttendLaunchNs + kAttendRowNs * rows + kAttendPairNs * pairs * launch.head_dim;
}

template <typename Launch>
double rows_of(const Launch& launch) {
  double rows = 0;
  for (int i = 0; i < launch.num_pieces; ++i) rows += launch.pieces[i].rows;
  return rows;
}

// Of an unfinished row: out, max, sum.
double unfinished_bytes(int head_dim) { return (head_dim + 2) * 4.0; }

}  // namespace

double planted_ns(std::string_view kernel, const void* argument) {
  if (kernel.starts_with("spscope_attend_")) return of_attend(*static_cast<const Attend*>(argument));
  if (kernel == "spscope_merge") {
    const auto& launch = *static_cast<const Merge*>(argument);
    return kMoveByteNs * rows_of(launch) * 3 * unfinished_bytes(launch.head_dim);
  }
  if (kernel.starts_with("spscope_finish_")) {
    const auto& launch = *static_cast<const Finish*>(argument);
    const double finished = launch.head_dim * (kernel.ends_with("bf16") ? 2.0 : 4.0);
    return kMoveByteNs * rows_of(launch) * (unfinished_bytes(launch.head_dim) + finished);
  }
  if (kernel == "spscope_copy") {
    const auto& launch = *static_cast<const Copy*>(argument);
    double bytes = 0;
    for (int i = 0; i < launch.num_pieces; ++i)
      bytes += 2.0 * static_cast<double>(launch.pieces[i].cells) * static_cast<double>(launch.pieces[i].cell_bytes);
    return kMoveByteNs * bytes;
  }
  return 0;
}

}  // namespace spscope::fake_cuda
