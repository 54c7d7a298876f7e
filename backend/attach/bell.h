// Bell: rings for the thread that waits in poll(2) for what other threads of this process find out.
#pragma once

namespace spscope {

class Bell {
 public:
  // Throws Error(kLaunch): this process may open no more files.
  Bell();
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  // By any thread.
  void ring() const noexcept;
  // Of the thread that waits: readable from a ring() to the next hush().
  int descriptor() const { return descriptor_; }
  void hush() const noexcept;

 private:
  const int descriptor_;
};

}  // namespace spscope
