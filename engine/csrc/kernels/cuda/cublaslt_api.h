// The part of cuBLASLt's interface that is used here, so that building needs none of its headers.
// Numbers and layouts are those of cuBLAS 13 (https://docs.nvidia.com/cuda/cublas);
// tests/gpu/check_api.cpp compares them with the headers where those are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zoo::cuda::cublaslt {

using Handle = void*;
using Descriptor = void*;  // of a product, a layout or a preference
using Status = int;        // 0: success
using Stream = void*;

enum DataType : int { kReal32 = 0, kReal64 = 1, kReal16 = 2, kBReal16 = 14 };
enum ComputeType : int { kCompute32 = 68, kCompute64 = 70, kCompute32Tf32 = 77 };
enum Operation : int { kPlain = 0, kTransposed = 1 };
enum Epilogue : int { kNone = 1, kRelu = 2, kBias = 4, kReluBias = 6 };
enum ProductAttribute : int { kTransA = 3, kTransB = 4, kEpilogueOf = 7, kBiasPointer = 8 };
enum LayoutAttribute : int { kBatchCount = 5, kBatchStride = 6 };
enum PreferenceAttribute : int {
  kMostWorkspace = 1, kAlignmentA = 5, kAlignmentB = 6, kAlignmentC = 7, kAlignmentD = 8
};

struct Algorithm {
  uint64_t data[8];
};
struct Choice {
  Algorithm algorithm;
  size_t workspace;
  Status state;
  float waves;
  int reserved[4];
};

struct Functions {
  Status (*create)(Handle*) = nullptr;
  Status (*product_create)(Descriptor*, ComputeType, DataType scale) = nullptr;
  Status (*product_destroy)(Descriptor) = nullptr;
  Status (*product_set)(Descriptor, ProductAttribute, const void*, size_t) = nullptr;
  Status (*layout_create)(Descriptor*, DataType, uint64_t rows, uint64_t columns,
                          int64_t stride) = nullptr;
  Status (*layout_destroy)(Descriptor) = nullptr;
  Status (*layout_set)(Descriptor, LayoutAttribute, const void*, size_t) = nullptr;
  Status (*preference_create)(Descriptor*) = nullptr;
  Status (*preference_destroy)(Descriptor) = nullptr;
  Status (*preference_set)(Descriptor, PreferenceAttribute, const void*, size_t) = nullptr;
  Status (*choose)(Handle, Descriptor product, Descriptor a, Descriptor b, Descriptor c,
                   Descriptor d, Descriptor preference, int wanted, Choice*, int* found) = nullptr;
  Status (*multiply)(Handle, Descriptor product, const void* alpha, const void* a, Descriptor,
                     const void* b, Descriptor, const void* beta, const void* c, Descriptor,
                     void* d, Descriptor, const Algorithm*, void* workspace, size_t,
                     Stream) = nullptr;
};

}  // namespace zoo::cuda::cublaslt
