// Stands for NVIDIA's libcudart, beside which CUPTI is looked for, and for a library that marks ranges.
#include "tests/inject/nvtx_work.h"

extern "C" void mark_range_of_library(const char* text) { spscope::mark_range(text); }
