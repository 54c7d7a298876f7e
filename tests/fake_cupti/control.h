// Calls that only the fake CUPTI has. Each of its builds is a library of its own, so tests find them by dlsym().
#pragma once

extern "C" {

// What a program does on the GPU, once each.
struct FakeWork {
  unsigned launches = 0;     // kernels
  unsigned copies = 0;       // each of 4096 bytes
  unsigned peer_copies = 0;  // from device 0 to device 1
  unsigned memsets = 0;
  unsigned synchronisations = 0;
  unsigned markers = 0;    // ranges: two records each
  unsigned overheads = 0;  // flushes of buffers
};

// Forgets everything and begins again with these settings (settings.h).
void spscope_fake_cupti_reset(const char* settings);
// Does the work `repeats` times on the calling thread, with records for the kinds that are enabled. Correlations count
// on from 1 over all threads.
void spscope_fake_cupti_run(const FakeWork* work, unsigned repeats);
// Records that were made since the last reset, dropped ones included.
long long spscope_fake_cupti_made();
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
