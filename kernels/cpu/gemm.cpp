// Gemm by oneDNN's matmul. The library is threaded by OpenMP; a rank computes on one core, so each thread asks for a
// team of one, where it makes a primitive (which remembers the number) and where it runs one. Scratch memory is the
// caller's: the library's own belongs to the thread that made the primitive.
#include "kernels/gemm.h"

#include <fmt/format.h>
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "backend/base/check.h"
#include "backend/base/error.h"

namespace spscope::kernels {
namespace {

dnnl::memory::data_type type_of(Dtype dtype) {
  return dtype == Dtype::kBf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns, std::int64_t stride, Dtype dtype) {
  return {dnnl::memory::dims{rows, columns}, type_of(dtype), dnnl::memory::dims{stride, 1}};
}

// The number of threads is a property of the calling thread.
void use_one_thread() {
  if (omp_get_max_threads() != 1) omp_set_num_threads(1);
}

dnnl::primitive_attr attributes(const GemmShape& shape) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (!shape.accumulate) return attributes;
  dnnl::post_ops sum;
  sum.append_sum(1.0f);
  attributes.set_post_ops(sum);
  return attributes;
}

}  // namespace

struct Gemm::Primitive {
  explicit Primitive(const GemmShape& shape)
      : engine(dnnl::engine::kind::cpu, 0),
        a(matrix(shape.rows, shape.depth, shape.a_stride, shape.inputs)),
        b(matrix(shape.depth, shape.columns, shape.b_stride, shape.inputs)),
        c(matrix(shape.rows, shape.columns, shape.c_stride, Dtype::kFp32)) {
    const dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(a, b, c), attributes(shape), engine);
    scratch = chosen.scratchpad_desc();
    product = dnnl::matmul(chosen);
  }

  dnnl::engine engine;
  dnnl::memory::desc a, b, c, scratch;
  dnnl::matmul product;
};

Dtype gemm_input_dtype(Dtype dtype) {
  const bool multiplies_bf16 = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_bf16;
  return multiplies_bf16 ? dtype : Dtype::kFp32;
}

Gemm::Gemm(const GemmShape& shape) : shape_(shape) {
  SPSCOPE_CHECK(shape.rows > 0 && shape.depth > 0 && shape.columns > 0);
  SPSCOPE_CHECK(shape.a_stride >= shape.depth && shape.b_stride >= shape.columns && shape.c_stride >= shape.columns);
  use_one_thread();
  try {
    primitive_ = std::make_shared<const Primitive>(shape);
  } catch (const dnnl::error& error) {  // of the library, in its own type: passed on as ours
    throw Error(ErrorCode::kUnavailable,
                fmt::format("oneDNN cannot multiply {} x {} by {} x {} in {}: {}", shape.rows, shape.depth, shape.depth,
                            shape.columns, dtype_name(shape.inputs), error.what()),
                "set run.dtype to the other type");
  }
}

void Gemm::run(const void* a, const void* b, float* c, GemmWorkspace& workspace) const {
  use_one_thread();
  const Primitive& p = *primitive_;
  const auto memory = [&](const dnnl::memory::desc& desc, const void* data) {
    return dnnl::memory(desc, p.engine, const_cast<void*>(data));
  };
  dnnl::stream stream(p.engine);
  p.product.execute(stream, {{DNNL_ARG_SRC, memory(p.a, a)},
                             {DNNL_ARG_WEIGHTS, memory(p.b, b)},
                             {DNNL_ARG_DST, memory(p.c, c)},
                             {DNNL_ARG_SCRATCHPAD, memory(p.scratch, workspace.at_least(p.scratch.get_size()))}});
  stream.wait();
}

}  // namespace spscope::kernels
