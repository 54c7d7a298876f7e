#include "backend/execute/layer_parameters.h"

#include <cmath>

#include "backend/base/check.h"
#include "backend/base/flat_map.h"
#include "backend/base/rng.h"
#include "backend/execute/activations.h"
#include "backend/plan/layer_kernels.h"
#include "kernels/gemm.h"

namespace spscope {
namespace {

std::uint64_t key_of(std::string_view name, std::uint64_t part) {
  std::uint64_t key = hash_mix(part, name.size());
  for (char c : name) key = hash_mix(key, static_cast<unsigned char>(c));
  return key;
}

std::int64_t width_of(const Request& request, TensorSet tensors) {
  std::int64_t width = 0;
  for (int t = 0; t < kNumTensors; ++t)
    if (tensors.has(static_cast<Tensor>(t))) width += request.tensor_width(static_cast<Tensor>(t));
  return width;
}

// Elements of one column of what a contracting kernel reads.
std::int64_t in_width(const Request& request, const Kernel& kernel) {
  return kernel.in == Axis::kHeads ? request.head_dim : 1;
}

float channel_number(ChannelParameter which, double normal) {
  switch (which) {
    case ChannelParameter::kGate:
      return static_cast<float>(normal);
    case ChannelParameter::kNormWeight:
      return static_cast<float>(1.25 + 0.25 * normal);
    case ChannelParameter::kScale:
    case ChannelParameter::kShift:
      break;
  }
  return static_cast<float>(0.25 * normal);
}

}  // namespace

ParameterMatrix::ParameterMatrix(std::int64_t rows, std::int64_t columns, Dtype stored)
    : rows_(rows), columns_(columns), stored_(stored) {
  const auto elements = static_cast<std::size_t>(rows * columns);
  stored == Dtype::kFp32 ? fp32_.resize(elements) : bf16_.resize(elements);
}

const void* ParameterMatrix::address(std::int64_t row, std::int64_t column) const {
  const std::int64_t at = row * columns_ + column;
  return stored_ == Dtype::kFp32 ? static_cast<const void*>(fp32_.data() + at) : bf16_.data() + at;
}

void ParameterMatrix::read_row(std::int64_t row, std::int64_t first, std::span<float> out) const {
  const auto at = static_cast<std::size_t>(row * columns_ + first);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = stored_ == Dtype::kFp32 ? fp32_[at + i] : to_float(bf16_[at + i]);
}

void ParameterMatrix::set(std::int64_t row, std::int64_t column, float x) {
  const auto at = static_cast<std::size_t>(row * columns_ + column);
  stored_ == Dtype::kFp32 ? void(fp32_[at] = x) : void(bf16_[at] = to_bf16(x));
}

const ParameterMatrix& LayerParameters::matrix(std::string_view name, std::int64_t rows, std::int64_t columns,
                                               double deviation, Dtype dtype) {
  const std::lock_guard lock(mutex_);
  const Key key{std::string(name), 0, rows, columns, dtype};
  if (const auto found = matrices_.find(key); found != matrices_.end()) return found->second;
  ParameterMatrix made(rows, columns, kernels::gemm_input_dtype(dtype));
  Rng rng(seed_, key_of(name, 0));
  std::vector<float> numbers(static_cast<std::size_t>(columns));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (float& x : numbers) x = static_cast<float>(rng.normal() * deviation);
    round_to(dtype, numbers);  // also where the matrix stores fp32
    for (std::int64_t c = 0; c < columns; ++c) made.set(r, c, numbers[static_cast<std::size_t>(c)]);
  }
  return matrices_.emplace(key, std::move(made)).first->second;
}

const ParameterMatrix& LayerParameters::weight(const Request& request, const Kernel& kernel) {
  SPSCOPE_CHECK(kernel.contracts && kernel.out != Axis::kStat);
  const std::int64_t rows = request.num_columns(kernel.in) * in_width(request, kernel);
  const std::int64_t columns = request.num_columns(kernel.out) * width_of(request, kernel.tensors);
  return matrix(kernel.name, rows, columns, 1 / std::sqrt(static_cast<double>(rows)), request.dtype);
}

const ParameterMatrix& LayerParameters::text_weight(const Request& request, const Kernel& kernel) {
  const std::int64_t columns = std::int64_t{request.heads} * 2 * request.head_dim;
  return matrix(kernel.name, request.hidden, columns, 1 / std::sqrt(static_cast<double>(request.hidden)),
                request.dtype);
}

const ParameterMatrix& LayerParameters::text(const Request& request) {
  return matrix("text", std::int64_t{request.batch} * request.context_tokens, request.hidden, 1, request.dtype);
}

const std::vector<float>& LayerParameters::channels(const Request& request, const Kernel& kernel, TensorSet tensors,
                                                    ChannelParameter which) {
  const std::lock_guard lock(mutex_);
  const std::int64_t width = tensors == kKeysValues ? request.head_dim : width_of(request, tensors);
  const std::int64_t count = request.num_columns(kernel.in) * width;
  const std::uint32_t part = static_cast<std::uint32_t>(which) << 16 | tensors.bits;
  const Key key{kernel.name, part, 1, count, request.dtype};
  if (const auto found = vectors_.find(key); found != vectors_.end()) return found->second;
  std::vector<float> made(static_cast<std::size_t>(count));
  Rng rng(seed_, key_of(kernel.name, 1 + part));
  for (float& x : made) x = channel_number(which, rng.normal());
  round_to(request.dtype, made);
  return vectors_.emplace(key, std::move(made)).first->second;
}

namespace {

class ParameterVisitor {
 public:
  ParameterVisitor(const Request& request, LayerParameters& parameters, const ParameterVisit& visit)
      : request_(request), parameters_(parameters), visit_(visit) {}

  void visit(const Kernel& kernel) {
    if (kernel.contracts) {
      if (kernel.out != Axis::kStat) add(kernel.name, parameters_.weight(request_, kernel));
      return;
    }
    switch (*find_layer_op(kernel.name)) {
      case LayerOp::kModulate:
        add(kernel, ".scale", kHiddenState, ChannelParameter::kScale);
        add(kernel, ".shift", kHiddenState, ChannelParameter::kShift);
        break;
      case LayerOp::kGate:
        add(kernel, "", kHiddenState, ChannelParameter::kGate);
        break;
      case LayerOp::kRms:
        add(kernel, ".q", kQueries, ChannelParameter::kNormWeight);
        break;
      case LayerOp::kRmsRope:
      case LayerOp::kHeadRms:
      case LayerOp::kHeadRmsRope:
        add(kernel, ".q", kQueries, ChannelParameter::kNormWeight);
        add(kernel, ".k", kKeysValues, ChannelParameter::kNormWeight);
        break;
      case LayerOp::kCrossAttention:
        add(kernel.name, parameters_.text_weight(request_, kernel));
        if (norms_text_keys(request_)) add(kernel, ".k", kKeysValues, ChannelParameter::kNormWeight);
        break;
      default:  // a gelu or residual has no parameters
        break;
    }
  }
  void visit_text() {
    const std::int64_t shape[] = {request_.batch, request_.context_tokens, request_.hidden};
    const std::span<const std::int64_t> all(shape);
    add("text", parameters_.text(request_), request_.batch > 1 ? all : all.subspan(1));
  }

 private:
  void add(const std::string& name, const ParameterMatrix& matrix, std::span<const std::int64_t> shape) {
    std::vector<float> numbers(static_cast<std::size_t>(matrix.rows() * matrix.columns()));
    const auto width = static_cast<std::size_t>(matrix.columns());
    for (std::int64_t row = 0; row < matrix.rows(); ++row)
      matrix.read_row(row, 0, std::span(numbers).subspan(static_cast<std::size_t>(row) * width, width));
    visit_(name, shape, numbers);
  }
  void add(const std::string& name, const ParameterMatrix& matrix) {
    const std::int64_t shape[] = {matrix.rows(), matrix.columns()};
    add(name, matrix, shape);
  }
  void add(const Kernel& kernel, const char* ending, TensorSet tensors, ChannelParameter which) {
    const std::vector<float>& numbers = parameters_.channels(request_, kernel, tensors, which);
    const std::int64_t shape[] = {static_cast<std::int64_t>(numbers.size())};
    visit_(kernel.name + ending, shape, numbers);
  }

  const Request& request_;
  LayerParameters& parameters_;
  const ParameterVisit& visit_;
};

}  // namespace

void for_each_parameter(const Request& request, LayerParameters& parameters, const ParameterVisit& visit) {
  ParameterVisitor visitor(request, parameters, visit);
  for (const Kernel& kernel : request.kernels) visitor.visit(kernel);
  if (request.context_tokens > 0) visitor.visit_text();
}

}  // namespace spscope
