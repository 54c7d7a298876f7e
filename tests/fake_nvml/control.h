// Calls that only the fake NVML has. Tests find them by dlsym().
#pragma once

extern "C" {

// Begins again with these settings (settings.h); who initialised it need not do so again. Throws std::runtime_error:
// one is not known.
void spscope_fake_nvml_reset(const char* settings);
// How often it was initialised and not shut down.
int spscope_fake_nvml_users();
// Calls of this name since the last reset.
long long spscope_fake_nvml_calls(const char* call);

}  // extern "C"
