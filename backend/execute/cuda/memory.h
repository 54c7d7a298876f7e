// Owners of memory that GPUs reach: of a device, of the host, of the host and shared with other processes, and of a
// device but allocated by another process. A context outlives what is made in it. Constructors throw Error.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <span>

#include "backend/execute/cuda/context.h"

namespace spscope::cuda {

class DeviceMemory {
 public:
  DeviceMemory(const CudaContext& context, std::size_t num_bytes);  // of 0 bytes: address() is 0
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  CUdeviceptr address() const { return address_; }
  std::size_t num_bytes() const { return num_bytes_; }
  // Copies to its begin, and returns when the bytes are there for every stream. Throws Error.
  // REQUIRES: no more than num_bytes().
  void write(std::span<const std::byte> bytes) const;
  // Opened by other processes of this host with IpcMemory. Throws Error.
  CUipcMemHandle ipc_handle() const;

 private:
  const CudaContext& context_;
  std::size_t num_bytes_;
  CUdeviceptr address_ = 0;
};

// Pinned memory of the host, zeros at first, that kernels, copies and stream values of every device reach.
class HostMemory {
 public:
  HostMemory(const CudaContext& context, std::size_t num_bytes);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(data_), num_bytes_}; }
  CUdeviceptr address() const { return address_; }  // of data, as devices name it

 private:
  const CudaContext& context_;
  std::size_t num_bytes_;
  void* data_ = nullptr;
  CUdeviceptr address_ = 0;
};

// Memory of the host that exists already, such as what processes share, within reach of devices. Whole pages are
// registered: it begins at a page.
class RegisteredMemory {
 public:
  RegisteredMemory(const CudaContext& context, std::span<std::byte> bytes);
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

  CUdeviceptr address() const { return address_; }  // of the first byte, as devices name it

 private:
  const CudaContext& context_;
  void* data_;
  CUdeviceptr address_ = 0;
};

// DeviceMemory of another process.
class IpcMemory {
 public:
  IpcMemory(const CudaContext& context, const CUipcMemHandle& handle);
  ~IpcMemory();
  IpcMemory(const IpcMemory&) = delete;
  IpcMemory& operator=(const IpcMemory&) = delete;

  CUdeviceptr address() const { return address_; }

 private:
  const CudaContext& context_;
  CUdeviceptr address_ = 0;
};

}  // namespace spscope::cuda
