// The layer in double precision on one rank: inputs and weights by seed, local kernels, masked attention, and whole
// layers written out plainly. What every plan must reproduce; it knows nothing of plans.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/plan/request.h"

namespace spscope::testing {

// A whole tensor set: cells [columns][outer][inner], each of batch x width elements, width fastest. Tensors of a set
// follow each other in a cell in the order of the enum (k, then v; o, then m and l).
struct DenseTensor {
  Axis axis = Axis::kHeads;
  int columns = 0, outer = 0, inner = 0, batch = 1, width = 0;
  std::vector<double> data;

  DenseTensor() = default;
  DenseTensor(const Request& request, Axis axis, TensorSet tensors);
  std::size_t cells() const {
    return static_cast<std::size_t>(columns) * static_cast<std::size_t>(outer) * static_cast<std::size_t>(inner);
  }
  std::size_t cell(int c, int o, int i) const {
    return (static_cast<std::size_t>(c) * static_cast<std::size_t>(outer) + static_cast<std::size_t>(o)) *
               static_cast<std::size_t>(inner) +
           static_cast<std::size_t>(i);
  }
  bool has(int c, int o, int i) const { return 0 <= c && c < columns && 0 <= o && o < outer && 0 <= i && i < inner; }
  std::size_t cell_elements() const { return static_cast<std::size_t>(batch) * static_cast<std::size_t>(width); }
  double* at(int c, int o, int i) { return data.data() + cell(c, o, i) * cell_elements(); }
  const double* at(int c, int o, int i) const { return data.data() + cell(c, o, i) * cell_elements(); }
};

int tensor_set_width(const Request& request, TensorSet tensors);

// Standard normal numbers; the same for the same (tensors, layer, seed) whatever the plan.
DenseTensor dense_input(const Request& request, TensorSet tensors, Axis axis, int layer, std::uint64_t seed);

// The weight of a contracting kernel: [in columns][in width][out columns][out width].
class Weight {
 public:
  Weight(const Request& request, const Kernel& kernel, std::uint64_t seed);
  double operator()(int c_in, int w_in, int c_out, int w_out) const {
    const auto row = static_cast<std::size_t>(c_in * in_width_ + w_in);
    return data_[row * static_cast<std::size_t>(out_columns_ * out_width_) +
                 static_cast<std::size_t>(c_out * out_width_ + w_out)];
  }
  int in_width() const { return in_width_; }
  int out_width() const { return out_width_; }

 private:
  int in_width_, out_columns_, out_width_;
  std::vector<double> data_;
};
inline constexpr std::string_view kCrossAttention = "cross_attention";  // of a row of q; see local_cell
inline constexpr std::string_view kSumOfSquares = "sumsq";              // a contraction without a weight

// A kernel that contracts nothing, on one cell of one batch entry. `others` holds, for each further operand, the same
// cell, or the sum over its whole columns when it has other columns. `token` is the position in the grid.
void local_cell(std::string_view kernel, const Request& request, int token, std::vector<double>& own,
                const std::vector<std::vector<double>>& others);

// softmax(q k / sqrt(d)) v along the axis over active pairs; rows without any are 0.
DenseTensor dense_attention(const Request& request, AttendedAxis axis, const DenseTensor& q, const DenseTensor& kv);
bool attends_to(const BlockMask& mask, int head, std::int32_t query, std::int32_t key);
DenseTensor dense_linear(const Request& request, std::string_view weight, const DenseTensor& x, std::uint64_t seed);
DenseTensor dense_local(const Request& request, std::string_view kernel, const std::vector<const DenseTensor*>& values);

// The layers that the plans of plan_library.h compute.
enum class LayerKind {
  kAttention,        // attention along each attended axis on inputs of its own
  kRotaryAttention,  // the same along inner, on q and kv turned by "rope"
  kMegatronLayer,    // x + block(x); + w2 gelu(w1 x)
  kSpatialTemporal,  // x + block(x) along inner, then along outer
  kCrossAttention,   // x + wo cross(wq x): every token to a text that is a parameter
  kDoubleBlock,      // x + wo attention(wq x, wkv x), with weights of their own for video and for text
};
// The outputs of the layer, in order.
std::vector<DenseTensor> dense_layer(const Request& request, LayerKind kind, std::uint64_t seed);

}  // namespace spscope::testing
