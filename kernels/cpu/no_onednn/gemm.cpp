// A build without oneDNN: no matrix products, and the reason.
#include "kernels/gemm.h"

#include "backend/base/error.h"

namespace spscope::kernels {

struct Gemm::Primitive {};

std::string_view gemm_unavailable() { return "this program was built without oneDNN"; }

Dtype gemm_input_dtype(Dtype) { return Dtype::kFp32; }

Gemm::Gemm(const GemmShape& shape) : shape_(shape) {
  throw Error(ErrorCode::kUnavailable, std::string(gemm_unavailable()),
              "install libdnnl-dev and configure again, or set run.scope = \"attention\"");
}

void Gemm::run(const void*, const void*, float*, GemmWorkspace&) const {}

}  // namespace spscope::kernels
