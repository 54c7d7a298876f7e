// Calls that only the fake CUPTI has. Each of its builds is a library of its own, so tests find them by dlsym().
#pragma once

extern "C" {

// What a program does on the GPU, once each.
struct FakeWork {
  unsigned launches = 0;     // kernels
  unsigned unended = 0;      // kernels that are at work until spscope_fake_cupti_end_kernels()
  unsigned copies = 0;       // each of 4096 bytes
  unsigned peer_copies = 0;  // from device 0 to device 1
  unsigned memsets = 0;
  unsigned synchronisations = 0;
  unsigned markers = 0;    // ranges of a module that has CUPTI's functions (nvtx.cpp): two records each
  unsigned overheads = 0;  // flushes of buffers
  unsigned queries = 0;    // calls that start nothing and wait for nothing
  unsigned runtime = 0;    // 1: by calls of the runtime, else by those of the driver
};

// Forgets everything and begins again with these settings (settings.h).
void spscope_fake_cupti_reset(const char* settings);
// Does the work `repeats` times on the calling thread, with records for the kinds that are enabled. Correlations count
// on from 1 over all threads.
void spscope_fake_cupti_run(const FakeWork* work, unsigned repeats);
// Records that were made since the last reset, dropped ones included.
long long spscope_fake_cupti_made();
// Ends the kernels that are at work.
void spscope_fake_cupti_end_kernels();
// Another client takes CUPTI over, as torch.profiler does though it could not subscribe: the clock and the buffers are
// its own from now on. Returns how many buffers came back to it that it never gave, once it is called again.
int spscope_fake_cupti_take_over();
// Gives back what a flush kept (late=1).
void spscope_fake_cupti_deliver_late();
// The kinds that are enabled, as bits; and how many calls of the API are.
unsigned long long spscope_fake_cupti_enabled();
int spscope_fake_cupti_enabled_calls();
// Whether there is a subscriber.
int spscope_fake_cupti_subscribed();
// What rule of CUPTI the client broke first since the last reset, in words; "" when none.
const char* spscope_fake_cupti_fault();

}  // extern "C"
