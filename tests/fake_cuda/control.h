// Calls that only the fake CUDA driver has, and FakeCuda: how tests in its process make them.
#pragma once

extern "C" {

// Forgets everything and begins again with these settings (settings.h). Handles of before are unusable.
void spscope_fake_cuda_reset(const char* settings);
// What went wrong first since the last reset, in words; "" when nothing did.
const char* spscope_fake_cuda_fault();
// How many there have been since the last reset of "contexts" that nobody held, "modules", "launches", "words" that
// streams write, "calls for words", "urgent streams", whose priority is above the least, and "made": allocations,
// streams, events.
long long spscope_fake_cuda_count(const char* what);
// How many launches of a kernel whose grid has so many blocks.
long long spscope_fake_cuda_launches_of(const char* kernel, unsigned blocks);
// How many calls enqueued work since then; `most`: of the thread that made most of them.
long long spscope_fake_cuda_enqueued(long long* most);

}  // extern "C"
