// The part of cuDNN's interface that is used here, so that building needs none of its headers.
// Numbers and layouts are those of cuDNN 9 (https://docs.nvidia.com/deeplearning/cudnn);
// tests/gpu/check_api.cpp compares them with the headers where those are installed.
#pragma once

#include <cstddef>

namespace zoo::cuda::cudnn {

using Handle = void*;
using Descriptor = void*;  // of a tensor, a filter or a convolution
using Status = int;        // 0: success
using Stream = void*;

enum DataType : int { kFloat = 0, kDouble = 1, kHalf = 2, kBFloat16 = 9 };
enum Format : int { kNHWC = 1 };
enum Mode : int { kCrossCorrelation = 1 };
// Whether float32 operands may be rounded to TF32 for the tensor cores.
enum Math : int { kDefaultMath = 0, kExactMath = 3 };

// How fast an algorithm is thought to be; all three kinds have this layout.
struct Performance {
  int algorithm;
  Status status;
  float time;
  size_t memory;
  int deterministic;  // 1: the same bits from run to run
  Math math;
  int reserved[3];
};

struct Functions {
  Status (*create)(Handle*) = nullptr;
  Status (*set_stream)(Handle, Stream) = nullptr;
  const char* (*error_text)(Status) = nullptr;
  Status (*tensor_create)(Descriptor*) = nullptr;
  Status (*tensor_set)(Descriptor, DataType, int n, int c, int h, int w, int n_stride,
                       int c_stride, int h_stride, int w_stride) = nullptr;
  Status (*filter_create)(Descriptor*) = nullptr;
  Status (*filter_set)(Descriptor, DataType, Format, int k, int c, int h, int w) = nullptr;
  Status (*convolution_create)(Descriptor*) = nullptr;
  Status (*convolution_set)(Descriptor, int pad_h, int pad_w, int stride_h, int stride_w,
                            int dilation_h, int dilation_w, Mode, DataType compute) = nullptr;
  Status (*convolution_groups)(Descriptor, int) = nullptr;
  Status (*convolution_math)(Descriptor, Math) = nullptr;
  // The operands come in the order of the functions below.
  Status (*forward_choices)(Handle, Descriptor x, Descriptor w, Descriptor conv, Descriptor y,
                            int wanted, int* found, Performance*) = nullptr;
  Status (*data_choices)(Handle, Descriptor w, Descriptor dy, Descriptor conv, Descriptor dx,
                         int wanted, int* found, Performance*) = nullptr;
  Status (*filter_choices)(Handle, Descriptor x, Descriptor dy, Descriptor conv, Descriptor dw,
                           int wanted, int* found, Performance*) = nullptr;
  Status (*forward)(Handle, const void* alpha, Descriptor, const void* x, Descriptor,
                    const void* w, Descriptor conv, int algorithm, void* workspace, size_t,
                    const void* beta, Descriptor, void* y) = nullptr;
  Status (*backward_data)(Handle, const void* alpha, Descriptor, const void* w, Descriptor,
                          const void* dy, Descriptor conv, int algorithm, void* workspace, size_t,
                          const void* beta, Descriptor, void* dx) = nullptr;
  Status (*backward_filter)(Handle, const void* alpha, Descriptor, const void* x, Descriptor,
                            const void* dy, Descriptor conv, int algorithm, void* workspace,
                            size_t, const void* beta, Descriptor, void* dw) = nullptr;
};

}  // namespace zoo::cuda::cudnn
