// Calls that only the fake CUDA driver has, and FakeCuda: how tests in its process make them.
#pragma once

extern "C" {

// Forgets everything and begins again with these settings (settings.h). Handles of before are unusable.
void spscope_fake_cuda_reset(const char* settings);
// What went wrong first since the last reset, in words; "" when nothing did.
const char* spscope_fake_cuda_fault();
// How many kernels were launched since the last reset.
long long spscope_fake_cuda_launches();
// The same, of a kernel whose grid has so many blocks.
long long spscope_fake_cuda_launches_of(const char* kernel, unsigned blocks);
// How many calls enqueued work since then; `most`: of the thread that made most of them.
long long spscope_fake_cuda_enqueued(long long* most);
// How many allocations, streams and events were made since the last reset.
long long spscope_fake_cuda_made();
// How many modules were loaded since then.
long long spscope_fake_cuda_modules();

}  // extern "C"
