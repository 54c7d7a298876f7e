// The entry points of libcupti that spscope calls. Signatures are checked by NVIDIA's headers.
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/fake_cupti/fake.h"

namespace spscope::fake_cupti {
namespace {

CUptiResult subscribe(CUpti_SubscriberHandle* subscriber, const char* call, CUpti_CallbackFunc callback, void* user) {
  const CUptiResult result = planted(call);
  if (result != CUPTI_SUCCESS) return result;
  if (subscriber == nullptr || callback == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (fake().subscribed || !fake().settings.other.empty()) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  fake().subscribed = true;
  fake().process = getpid();
  fake().callback = callback;
  fake().user = user;
  fake().called_back.clear();
  observe_driver(true);
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&fake());
  return CUPTI_SUCCESS;
}

// As CUPTI 13.0 does: where there is a context already, it answers success and records nothing.
#if SPSCOPE_FAKE_CUPTI == 13
CUptiResult choose_call(CUpti_ActivityKind domain, CUpti_CallbackId id, std::uint8_t enable) {
  const Lock lock(fake().mutex);
  if (enable == 0)
    fake().calls.erase({domain, id});
  else if (!has_context())
    fake().calls.insert({domain, id});
  return CUPTI_SUCCESS;
}
#endif

}  // namespace

extern "C" {

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  const Lock lock(fake().mutex);
  *version = fake().settings.version != 0 ? static_cast<std::uint32_t>(fake().settings.version) : kVersion;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  switch (result) {
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
      break;
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
      break;
    case CUPTI_ERROR_NOT_SUPPORTED:
      *text = "CUPTI_ERROR_NOT_SUPPORTED";
      break;
    default:
      return CUPTI_ERROR_INVALID_PARAMETER;
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user) {
  const Lock lock(fake().mutex);
  return subscribe(subscriber, "cuptiSubscribe", callback, user);
}

CUptiResult cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  const Lock lock(fake().mutex);
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || enable == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  fake().called_back.insert(id);
  return planted("cuptiEnableCallback");
}

#if SPSCOPE_FAKE_CUPTI == 13
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user,
                              CUpti_SubscriberParams* parameters) {
  const Lock lock(fake().mutex);
  if (parameters->structSize != sizeof *parameters) return CUPTI_ERROR_INVALID_PARAMETER;
  const CUptiResult result = subscribe(subscriber, "cuptiSubscribe", callback, user);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && parameters->oldSubscriberName != nullptr)
    parameters->oldSubscriberName[fake().settings.other.copy(parameters->oldSubscriberName,
                                                             parameters->oldSubscriberSize - 1)] = '\0';
  return result;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, std::uint8_t enable) {
  return choose_call(CUPTI_ACTIVITY_KIND_RUNTIME, id, enable);
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, std::uint8_t enable) {
  return choose_call(CUPTI_ACTIVITY_KIND_DRIVER, id, enable);
}
#endif

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  const Lock lock(fake().mutex);
  if (reinterpret_cast<Fake*>(subscriber) != &fake() || !fake().subscribed) return CUPTI_ERROR_INVALID_PARAMETER;
  fake().subscribed = false;
  observe_driver(false);
  report_driver_work();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, std::size_t* num_bytes, void* value) {
  const Lock lock(fake().mutex);
  // CUDA 11 has none of a higher number.
  if (attribute != CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER || SPSCOPE_FAKE_CUPTI == 11)
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (*num_bytes != 1) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  const bool wanted = *static_cast<std::uint8_t*>(value) != 0;
  if (fake().request != nullptr && wanted != fake().buffer_for_each_thread)
    broke_rule("the attribute was changed after the callbacks were set");
  fake().buffer_for_each_thread = wanted;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc callback) {
  const Lock lock(fake().mutex);
  if (!fake().kinds.empty()) broke_rule("the clock was set after a kind was enabled");
  fake().timestamp = callback;
  return planted("cuptiActivityRegisterTimestampCallback");
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  // Whoever comes last has them: no client is asked whether it subscribed, and none is told.
  const Lock lock(fake().mutex);
  fake().request = request;
  fake().complete = complete;
  return planted("cuptiActivityRegisterCallbacks");
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const Lock lock(fake().mutex);
  CUptiResult result = planted("cuptiActivityEnable");
  if (result == CUPTI_SUCCESS) result = planted("cuptiActivityEnable." + std::to_string(kind));
  if (result != CUPTI_SUCCESS) return result;
  if (record_bytes(kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  if (kind == CUPTI_ACTIVITY_KIND_KERNEL) broke_rule("kernels would run one at a time");
  if (fake().timestamp == nullptr) broke_rule("a kind was enabled before the clock was set");
  if (fake().buffer_for_each_thread) broke_rule("each thread of the program would take a buffer");
  if (fake().request == nullptr) broke_rule("a kind was enabled before the callbacks were set");
  fake().kinds.insert(kind);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  std::this_thread::sleep_for(std::chrono::milliseconds(fake().settings.slow_ms));
  const CallsLock calls(fake().of_calls);
  const Lock lock(fake().mutex);
  fake().kinds.erase(kind);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType) {
  const Lock lock(fake().mutex);
  if (!fake().kinds.empty()) broke_rule("numbers of threads were chosen after a kind was enabled");
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t id) {
  if (kind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) return CUPTI_ERROR_INVALID_PARAMETER;
  if (!fake().settings.failures.empty())
    if (const CUptiResult result = planted("cuptiActivityPushExternalCorrelationId"); result != CUPTI_SUCCESS)
      return result;
  pushed_ids().push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t* last) {
  if (kind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) return CUPTI_ERROR_INVALID_PARAMETER;
  if (pushed_ids().empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last != nullptr) *last = pushed_ids().back();
  pushed_ids().pop_back();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushPeriod(std::uint32_t) {
  const Lock lock(fake().mutex);
  return planted("cuptiActivityFlushPeriod");
}

CUptiResult cuptiActivityFlushAll(std::uint32_t flag) {
  const Lock lock(fake().mutex);
  if (flag != 0 && flag != CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) broke_rule("a flag that there is not");
  if (fake().settings.late != 0 && fake().current.bytes != nullptr)
    fake().late.push_back(std::exchange(fake().current, {}));
  if (flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) {
    give_up_kernels();
    complete_all();
  } else {
    complete_ended();
  }
  return planted("cuptiActivityFlushAll");
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record) {
  const Lock lock(fake().mutex);
  if (fake().settings.silent || (fake().settings.silent_at_start && fake().num_requests == 0))
    return CUPTI_ERROR_UNKNOWN;
  std::size_t offset = 0;
  if (*record != nullptr)
    offset =
        static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(*record) - buffer) + record_bytes((*record)->kind);
  if (offset + sizeof(CUpti_Activity) > valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  auto* const next = reinterpret_cast<CUpti_Activity*>(buffer + offset);
  if (record_bytes(next->kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  if (offset + record_bytes(next->kind) > valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = next;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, std::uint32_t stream, std::size_t* dropped) {
  const Lock lock(fake().mutex);
  if (context != nullptr || stream != 0) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = std::exchange(fake().num_dropped, 0);
  return CUPTI_SUCCESS;
}

}  // extern "C"

}  // namespace spscope::fake_cupti
