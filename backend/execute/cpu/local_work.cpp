#include "backend/execute/cpu/local_work.h"

#include <algorithm>
#include <charconv>

#include "backend/base/check.h"
#include "backend/execute/cpu/copy.h"
#include "backend/execute/cpu/token_chunks.h"
#include "backend/plan/layer_kernels.h"

namespace spscope {
namespace {

// Arrays of the scratch: the result, the angles and the text, then the operands.
enum Staging : std::size_t { kOut, kCosine, kSine, kText, kFirstOperand };

float* room(ComputeScratch& scratch, std::size_t array, std::int64_t elements) {
  scratch.staging.resize(std::max(scratch.staging.size(), array + 1));
  std::vector<float>& memory = scratch.staging[array];
  memory.resize(std::max(memory.size(), static_cast<std::size_t>(elements)));
  return memory.data();
}

// The numbers of the held columns, `width` for each.
std::vector<float> held(const std::vector<float>& all, const std::vector<std::int32_t>& columns, std::int64_t width) {
  std::vector<float> out;
  for (const std::int64_t column : columns)
    out.insert(out.end(), all.begin() + column * width, all.begin() + (column + 1) * width);
  return out;
}

// P of a kernel `guide.P`; 1 of any other.
std::int64_t num_predictions(const Kernel& kernel) {
  const KernelName name = split_kernel_name(kernel.name);
  std::int64_t predictions = 1;
  if (name.op == "guide") std::from_chars(name.part.data(), name.part.data() + name.part.size(), predictions);
  return std::max<std::int64_t>(1, predictions);
}

const Value& value_of(const Plan& plan, ValueId id) { return plan.values[static_cast<std::size_t>(id)]; }

}  // namespace

LocalWork::LocalWork(const Plan& plan, const Request& request, CellFinder& finder, const Op& op,
                     LayerParameters* parameters)
    : norm_channels_(std::int64_t{request.heads} * request.head_dim), batch_(plan.batch) {
  const Post& post = plan.post_of(op);
  const Kernel& kernel = plan.kernels[static_cast<std::size_t>(post.kernel)];
  SetTable& sets = *plan.sets;
  kernel_ = find_local_kernel(kernel.name);
  predictions_ = num_predictions(kernel);
  SPSCOPE_CHECK(kernel_ != nullptr);
  SPSCOPE_CHECK(parameters != nullptr || (!kernel_->first_parameter && !kernel_->reads_text));
  if (kernel_->turns) rotary_.emplace(request, rotary_form(request, kernel.name));
  const Value &from = value_of(plan, post.src), &to = value_of(plan, post.dst);
  const auto here = from.placement.at(op.rank), made = to.placement.at(op.rank);
  SPSCOPE_CHECK(here.size() == made.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    BoxWork& box = boxes_.emplace_back();
    const std::vector<std::int32_t> columns = members(sets, here[i].columns);
    box.columns = static_cast<std::int64_t>(columns.size());
    const auto numbers = [&](std::optional<ChannelParameter> which) {
      if (!which) return std::vector<float>();
      const std::vector<float>& all = parameters->channels(request, kernel, from.tensors, *which);
      return held(all, columns, static_cast<std::int64_t>(all.size()) / request.num_columns(kernel.in));
    };
    box.first_parameter = numbers(kernel_->first_parameter);
    box.second_parameter = numbers(kernel_->second_parameter);
    if (kernel_->reads_text) box.text.emplace(request, kernel, here[i].columns, *parameters);
    for (const Box& tokens : token_chunks(sets, here[i])) {
      Chunk& chunk = box.chunks.emplace_back();
      chunk.tokens = sets.size(tokens.outer) * sets.size(tokens.inner);
      chunk.operands.push_back(finder.value_cells(post.src, op.rank, tokens));
      for (ValueId id : plan.value_list(post.operands)) {
        Box theirs = tokens;
        if (value_of(plan, id).columns != kernel.in) theirs.columns = request.all_columns(value_of(plan, id).columns);
        chunk.operands.push_back(finder.value_cells(id, op.rank, theirs));
      }
      chunk.out = finder.value_cells(post.dst, op.rank, {made[i].columns, tokens.outer, tokens.inner});
      if (!rotary_) continue;
      for (const std::int32_t outer : members(sets, tokens.outer))
        for (const std::int32_t inner : members(sets, tokens.inner))
          chunk.positions.push_back(rotary_->position(outer, inner));
    }
  }
}

void LocalWork::run(const HostMemory& memory, ComputeScratch& scratch) const {
  for (const BoxWork& box : boxes_)
    for (int entry = 0; entry < batch_; ++entry) {
      LocalCall call;
      call.columns = box.columns;
      call.first_parameter = box.first_parameter.data();
      call.second_parameter = box.second_parameter.data();
      call.norm_channels = norm_channels_;
      call.predictions = predictions_;
      call.scratch = &scratch;
      if (box.text) {
        float* text = room(scratch, kText, box.text->num_elements());
        box.text->run(entry, text, scratch.gemm);
        call.text = text;
        call.text_tokens = box.text->tokens();
      }
      for (const Chunk& chunk : box.chunks) {
        run_chunk(memory, box, chunk, entry, call, scratch);
        if (scratch.beat) scratch.beat();
      }
    }
}

void LocalWork::run_chunk(const HostMemory& memory, const BoxWork& box, const Chunk& chunk, int entry,
                          const LocalCall& of_box, ComputeScratch& scratch) const {
  const std::vector<Plane>& planes = memory.layout().buffer(chunk.operands.front().front().buffer).planes;
  for (std::size_t plane = 0; plane < planes.size(); ++plane) {
    if (kernel_->contracts && plane > 0) break;
    LocalCall call = of_box;
    call.tokens = chunk.tokens;
    call.width = planes[plane].width;
    if (kernel_->of_queries_or_keys && planes[plane].tensor == Tensor::kV) {
      float* kept = room(scratch, kOut, box.columns * chunk.tokens * call.width);
      const std::span<float> all(kept, static_cast<std::size_t>(box.columns * chunk.tokens * call.width));
      load_cells(memory, chunk.operands.front(), plane, entry, all);
      save_cells(memory, chunk.out, plane, entry, all);
      continue;
    }
    if (kernel_->turns) {
      const std::int64_t angles = chunk.tokens * (call.width / 2);
      float *cosine = room(scratch, kCosine, angles), *sine = room(scratch, kSine, angles);
      rotary_->angles(chunk.positions, std::span(cosine, static_cast<std::size_t>(angles)),
                      std::span(sine, static_cast<std::size_t>(angles)));
      call.cosine = cosine;
      call.sine = sine;
    }
    run_plane(memory, chunk, plane, entry, call);
  }
}

void LocalWork::run_plane(const HostMemory& memory, const Chunk& chunk, std::size_t plane, int entry,
                          LocalCall call) const {
  ComputeScratch& scratch = *call.scratch;
  std::vector<const float*> operands;
  for (std::size_t i = 0; i < chunk.operands.size(); ++i) {
    // A norm statistic has one plane.
    const std::size_t theirs = i > 0 && kernel_->further == FurtherOperands::kNormStatistic ? 0 : plane;
    const std::int64_t count =
        total_cells(chunk.operands[i]) * memory.layout().buffer(chunk.operands[i].front().buffer).planes[theirs].width;
    float* array = room(scratch, kFirstOperand + i, count);
    load_cells(memory, chunk.operands[i], theirs, entry, std::span(array, static_cast<std::size_t>(count)));
    operands.push_back(array);
  }
  call.operands = operands;
  const std::int64_t results =
      total_cells(chunk.out) * memory.layout().buffer(chunk.out.front().buffer).planes[plane].width;
  call.out = room(scratch, kOut, results);
  kernel_->run(call);
  save_cells(memory, chunk.out, plane, entry, std::span(call.out, static_cast<std::size_t>(results)));
}

}  // namespace spscope
