// The functions that CUPTI calls. They get no pointer of ours, so the pools that they serve are state of the process,
// and the only such state of the collector: CUPTI may give a buffer back long after a session has stopped, so a pool
// that was ever in use stays for good (without its memory, once its buffers are back).
#pragma once

#include "collectors/cupti/buffer_pool.h"

namespace spscope::cupti {

// A pool from which requests are served from now on. Lives as long as the process.
BufferPool& use_new_pool(const PoolOptions& options, const RecordSizes& sizes);

// For cuptiActivityRegisterCallbacks() and cuptiActivityRegisterTimestampCallback().
void request_buffer(std::uint8_t** buffer, std::size_t* num_bytes, std::size_t* max_records) noexcept;
void complete_buffer(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t num_bytes,
                     std::size_t valid_bytes) noexcept;
// The clock of shards, so that nothing has to be converted: now_ns() of backend/base/clock.h.
std::uint64_t raw_clock() noexcept;

}  // namespace spscope::cupti
