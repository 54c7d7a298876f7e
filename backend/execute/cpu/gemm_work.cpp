#include "backend/execute/cpu/gemm_work.h"

#include <algorithm>

#include "backend/base/check.h"
#include "backend/execute/cpu/copy.h"
#include "backend/execute/cpu/token_chunks.h"

namespace spscope {
namespace {

// An array of the scratch with room for `elements`.
template <typename T>
T* room(std::vector<T>& array, std::int64_t elements) {
  if (static_cast<std::int64_t>(array.size()) < elements) array.resize(static_cast<std::size_t>(elements));
  return array.data();
}

}  // namespace

std::vector<WeightPart> weight_parts(const SetTable& sets, SetId in_columns, std::int64_t in_width, SetId out_columns,
                                     std::int64_t out_width) {
  std::vector<WeightPart> parts;
  std::int64_t out_at = 0;
  for (const Span& out : sets.spans(out_columns)) {
    std::int64_t in_at = 0;
    for (const Span& in : sets.spans(in_columns)) {
      parts.push_back(
          {in.begin * in_width, in.size() * in_width, in_at, out.begin * out_width, out.size() * out_width, out_at});
      in_at += in.size() * in_width;
    }
    out_at += out.size() * out_width;
  }
  return parts;
}

GemmWork::GemmWork(const Plan& plan, const Request& request, CellFinder& finder, const Op& op,
                   LayerParameters& parameters)
    : weight_(parameters.weight(request, plan.kernels[static_cast<std::size_t>(plan.post_of(op).kernel)])),
      batch_(plan.batch) {
  const Post& post = plan.post_of(op);
  SetTable& sets = *plan.sets;
  const Value &from = plan.values[static_cast<std::size_t>(post.src)],
              &to = plan.values[static_cast<std::size_t>(post.dst)];
  in_width_ = plan.width(from.tensors);
  out_width_ = plan.width(to.tensors);
  const auto here = from.placement.at(op.rank), made = to.placement.at(op.rank);
  // A rank that holds nothing of what its group adds up has a share of zeros.
  const bool zeros = here.empty() && !to.pending.empty();
  SPSCOPE_CHECK(here.size() == made.size() || zeros);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const SetId in_columns = zeros ? kEmptySet : here[i].columns;
    BoxWork& box = boxes_.emplace_back();
    box.in_columns = sets.size(in_columns);
    box.out_columns = sets.size(made[i].columns);
    box.parts = weight_parts(sets, in_columns, in_width_, made[i].columns, out_width_);
    for (const Box& in : token_chunks(sets, {in_columns, made[i].outer, made[i].inner})) {
      Chunk& chunk = box.chunks.emplace_back();
      chunk.tokens = sets.size(in.outer) * sets.size(in.inner);
      if (!zeros) chunk.in = finder.value_cells(post.src, op.rank, in);
      chunk.out = finder.value_cells(post.dst, op.rank, {made[i].columns, in.outer, in.inner});
      chunk.first_gemm = find_gemms(box, chunk.tokens);
    }
  }
}

// Chunks of equal size share their products.
std::size_t GemmWork::find_gemms(BoxWork& box, std::int64_t tokens) const {
  for (std::size_t g = 0; g < box.gemms.size(); g += box.parts.size())
    if (box.gemms[g].shape().rows == tokens) return g;
  const std::size_t first = box.gemms.size();
  for (const WeightPart& part : box.parts)
    box.gemms.emplace_back(kernels::GemmShape{.rows = tokens,
                                              .depth = part.depth,
                                              .columns = part.columns,
                                              .a_stride = box.in_columns * in_width_,
                                              .b_stride = weight_.columns(),
                                              .c_stride = box.out_columns * out_width_,
                                              .inputs = weight_.stored(),
                                              .accumulate = part.in_at > 0});
  return first;
}

void GemmWork::run(const HostMemory& memory, ComputeScratch& scratch) const {
  for (const BoxWork& box : boxes_)
    for (const Chunk& chunk : box.chunks) {
      for (int entry = 0; entry < batch_; ++entry) run_chunk(memory, box, chunk, entry, scratch);
      if (scratch.beat) scratch.beat();
    }
}

void GemmWork::run_chunk(const HostMemory& memory, const BoxWork& box, const Chunk& chunk, int entry,
                         ComputeScratch& scratch) const {
  const std::int64_t in_channels = box.in_columns * in_width_, out_channels = box.out_columns * out_width_;
  scratch.staging.resize(std::max<std::size_t>(scratch.staging.size(), 3));
  float* cells = room(scratch.staging[0], chunk.tokens * std::max(in_channels, out_channels));
  const auto staged = [&](std::int64_t elements) { return std::span(cells, static_cast<std::size_t>(elements)); };
  load_cells(memory, chunk.in, 0, entry, staged(chunk.tokens * in_channels));
  const std::int64_t packed = chunk.tokens * in_channels;
  const bool fp32 = weight_.stored() == Dtype::kFp32;
  float* rows = fp32 ? room(scratch.staging[1], packed) : nullptr;
  Bf16* rounded = fp32 ? nullptr : room(scratch.rounded, packed);
  if (fp32)
    kernels::pack_rows(box.in_columns, chunk.tokens, in_width_, cells, rows, in_channels);
  else
    kernels::pack_rows(box.in_columns, chunk.tokens, in_width_, cells, rounded, in_channels);
  float* product = room(scratch.staging[2], chunk.tokens * out_channels);
  if (box.parts.empty()) std::fill_n(product, chunk.tokens * out_channels, 0.0f);
  for (std::size_t i = 0; i < box.parts.size(); ++i) {
    const WeightPart& part = box.parts[i];
    const void* a = fp32 ? static_cast<const void*>(rows + part.in_at) : rounded + part.in_at;
    box.gemms[chunk.first_gemm + i].run(a, weight_.address(part.in_first, part.out_first), product + part.out_at,
                                        scratch.gemm);
  }
  std::int64_t offset = 0;
  const std::vector<Plane>& planes = memory.layout().buffer(chunk.out.front().buffer).planes;
  for (std::size_t plane = 0; plane < planes.size(); ++plane) {
    const std::int64_t width = planes[plane].width;
    kernels::unpack_rows(box.out_columns, chunk.tokens, width, product + offset, out_channels, out_width_, cells);
    save_cells(memory, chunk.out, plane, entry, staged(box.out_columns * chunk.tokens * width));
    offset += width;
  }
}

}  // namespace spscope
