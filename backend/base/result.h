// Result<T>: a value or an Error, with the names of std::expected (which is absent from C++20), for one of many items
// that may fail alone. `capture` is the one place where an exception becomes a value.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "backend/base/check.h"
#include "backend/base/error.h"

namespace spscope {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  // REQUIRES: has_value().
  T& operator*() & { return checked(); }
  const T& operator*() const& { return checked(); }
  T&& operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &checked(); }
  // REQUIRES: !has_value().
  const Error& error() const {
    SPSCOPE_CHECK(!has_value());
    return std::get<1>(state_);
  }

 private:
  T& checked() {
    SPSCOPE_CHECK(has_value());
    return std::get<0>(state_);
  }
  const T& checked() const {
    SPSCOPE_CHECK(has_value());
    return std::get<0>(state_);
  }
  std::variant<T, Error> state_;
};

// Runs `function` and returns its value, or the Error it threw.
template <typename Function>
auto capture(Function&& function) -> Result<decltype(function())> {
  try {
    return function();
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error(ErrorCode::kInternal, error.what());
  }
}

// Runs `step`; the Error it threw, or nothing.
template <typename Step>
std::optional<Error> failure_of(Step&& step) {
  const Result<bool> done = capture([&] {
    step();
    return true;
  });
  return done ? std::nullopt : std::optional(done.error());
}

}  // namespace spscope
