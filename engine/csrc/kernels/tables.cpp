// The kernel tables themselves: constant-initialised, so that registration in any order works.
#include "kernels/conv.h"
#include "kernels/cpu/gemm_block.h"
#include "kernels/cpu/winograd.h"
#include "kernels/gemm.h"

namespace zoo {

constinit Kernel<void(DType, const GemmArgs&)> gemm_kernel("gemm");
constinit Kernel<void(const BlockProduct<float>&, const Output<float>&)>
    multiply_block_f32_kernel("gemm");
constinit Kernel<void(const BlockProduct<double>&, const Output<double>&)>
    multiply_block_f64_kernel("gemm");
constinit Kernel<void(DType, const Conv2dShape&, const void*, const void*, const Conv2dEpilogue&,
                      void*)>
    conv2d_forward_kernel("conv2d");
constinit Kernel<size_t(DType, const Conv2dShape&, const void*, void*)>
    conv2d_pack_weight_kernel("conv2d");
constinit Kernel<void(DType, const Conv2dShape&, const void*, const void*, void*)>
    conv2d_grad_input_kernel("conv2d_grad_input");
constinit Kernel<void(DType, const Conv2dShape&, const void*, const void*, void*)>
    conv2d_grad_weight_kernel("conv2d_grad_weight");
constinit Kernel<void(const WinogradShape&, const float*, const float*, const Conv2dEpilogue&,
                      float*)>
    winograd_forward_kernel("conv2d (Winograd)");
constinit Kernel<int64_t(const WinogradShape&, const float*, float*)>
    winograd_windows_kernel("conv2d (Winograd)");
constinit Kernel<void(const WinogradShape&, const float*, const float*, float*)>
    winograd_grad_weight_kernel("conv2d_grad_weight (Winograd)");

}  // namespace zoo
