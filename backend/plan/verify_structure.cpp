// Rules type (shapes and kernels) and mask (which one), against the request: with the form, everything that the other
// checks take for granted.
#include <fmt/format.h>

#include <algorithm>

#include "backend/plan/verify_internal.h"

namespace spscope::verifying {
namespace {

class Structure {
 public:
  Structure(const Plan& plan, const Request& request, Findings& found) : p_(plan), request_(request), found_(found) {}

  void check() {
    check_shape();
    if (found_.empty()) check_form(p_, found_);
    if (!found_.empty()) return;
    check_masks();
    check_kernels();
  }

 private:
  void check_shape() {
    const auto same = [&](const char* what, std::int64_t have, std::int64_t want) {
      if (have != want) found_.add(Rule::kType, fmt::format("the plan has {} {}, the request {}", what, have, want));
    };
    same("ranks", p_.ranks, request_.ranks);
    same("batch", p_.batch, request_.batch);
    same("dtype", static_cast<int>(p_.dtype), static_cast<int>(request_.dtype));
    same("outer tokens", p_.outer_tokens, request_.outer_tokens);
    same("inner tokens", p_.inner_tokens, request_.inner_tokens);
    for (int a = 0; a < kNumAxes; ++a) same("columns", p_.num_columns[a], request_.num_columns(static_cast<Axis>(a)));
    for (int t = 0; t < kNumTensors; ++t)
      same(tensor_name(static_cast<Tensor>(t)), p_.tensor_width[t], request_.tensor_width(static_cast<Tensor>(t)));
    if (!p_.sets || p_.sets != request_.sets)
      found_.add(Rule::kDangling, "the plan does not use the sets of the request");
  }

  void check_masks() {
    for (std::size_t i = 0; i < p_.masks.size(); ++i)
      if (!request_.attends(p_.masks[i].axis))
        found_.add(Rule::kMask, fmt::format("mask {} is none of the request", i));
  }

  // A kernel that the request names is the request's; any other costs one FLOP an element and changes neither columns
  // nor tensors.
  void check_kernels() {
    for (std::size_t i = 0; i < p_.kernels.size(); ++i) {
      const Kernel& kernel = p_.kernels[i];
      const auto wanted = std::ranges::find(request_.kernels, kernel.name, &Kernel::name);
      const Kernel plain{kernel.name, false, kernel.in, kernel.in, {}};
      if (kernel != (wanted == request_.kernels.end() ? plain : *wanted))
        found_.add(Rule::kType, fmt::format("kernel {} ({}) is not that of the request", i, kernel.name));
    }
  }

  const Plan& p_;
  const Request& request_;
  Findings& found_;
};

}  // namespace

void check_structure(const Plan& plan, const Request& request, Findings& found) {
  Structure(plan, request, found).check();
}

}  // namespace spscope::verifying
