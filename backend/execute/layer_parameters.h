// LayerParameters: weights, norm weights, adaLN shifts and gates, and the text that cross-attention reads, of whole
// layers. They are seeded by the name of their kernel and the tensors of its first operand, made when they are first
// asked for, and shared by all ranks and layers of a run: every layer of a model has the same shapes, so that other
// numbers would change nothing that is measured.
//
// All numbers are rounded to the run's dtype. Weights are normal / sqrt(input channels). Gates are standard normal, so
// that what a branch of the layer adds is as large as what it is added to, and an error in it shows. Norm weights are
// 1.25 + normal / 4: scores of attention then have a spread of about 1.6, and rows attend to some keys much more than
// to others, as they do in trained models.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "backend/plan/request.h"

namespace spscope {

// A matrix [rows][columns] in the type that matrix products take it in (kernels/gemm.h).
class ParameterMatrix {
 public:
  ParameterMatrix(std::int64_t rows, std::int64_t columns, Dtype stored);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  Dtype stored() const { return stored_; }
  // Of element [row][column].
  const void* address(std::int64_t row, std::int64_t column) const;
  // Elements [row][first .. first + out.size()) as floats.
  void read_row(std::int64_t row, std::int64_t first, std::span<float> out) const;
  // Rounds to what the matrix stores.
  void set(std::int64_t row, std::int64_t column, float x);

 private:
  std::int64_t rows_, columns_;
  Dtype stored_;
  std::vector<float> fp32_;  // one of both has elements
  std::vector<Bf16> bf16_;
};

enum class ChannelParameter { kScale, kShift, kGate, kNormWeight };

class LayerParameters {
 public:
  explicit LayerParameters(std::uint64_t seed) : seed_(seed) {}
  LayerParameters(const LayerParameters&) = delete;

  // Weight of a contracting kernel: [in columns x in width][out columns x out width], elements of a cell in the order
  // of its tensors (k, then v). REQUIRES: a kernel with a weight, of `request`.
  const ParameterMatrix& weight(const Request& request, const Kernel& kernel);
  // The projection of the text that a cross-attention kernel reads: [hidden][heads x 2 head_dim], k before v.
  const ParameterMatrix& text_weight(const Request& request, const Kernel& kernel);
  // The text, the same for every kernel: [batch x context tokens][hidden].
  const ParameterMatrix& text(const Request& request);
  // One number for each channel of the kernel's first operand, which has `tensors`: columns x width, of k alone when
  // the operand is k and v.
  const std::vector<float>& channels(const Request& request, const Kernel& kernel, TensorSet tensors,
                                     ChannelParameter which);

 private:
  using Key = std::tuple<std::string, std::uint32_t, std::int64_t, std::int64_t, Dtype>;  // name, part, rows, columns
  const ParameterMatrix& matrix(std::string_view name, std::int64_t rows, std::int64_t columns, double deviation,
                                Dtype dtype);

  std::uint64_t seed_;
  std::mutex mutex_;  // of both maps, whose elements stay where they are
  std::map<Key, ParameterMatrix> matrices_;
  std::map<Key, std::vector<float>> vectors_;
};

// Every parameter that the kernels of `request` read, one after the other: its name (schemas/dump.md), its shape, and
// its numbers in row-major order, which are valid during the call. Of the text the shape is [context tokens, hidden],
// with the batch in front where there is one.
using ParameterVisit =
    std::function<void(const std::string& name, std::span<const std::int64_t> shape, std::span<const float> numbers)>;
void for_each_parameter(const Request& request, LayerParameters& parameters, const ParameterVisit& visit);

}  // namespace spscope
