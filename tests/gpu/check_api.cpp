// The numbers and layouts of kernels/cuda/*_api.h beside NVIDIA's own headers. Compiling it is the
// test: tests/gpu/test_api.py does where the wheels of the extra [cuda] are installed.
#include <cublasLt.h>
#include <cudnn.h>

#include <cstddef>
#include <type_traits>

#include "kernels/cuda/cublaslt_api.h"
#include "kernels/cuda/cudnn_api.h"

namespace blas = zoo::cuda::cublaslt;
namespace dnn = zoo::cuda::cudnn;

#define SAME(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))

SAME(blas::kReal32, CUDA_R_32F);
SAME(blas::kReal64, CUDA_R_64F);
SAME(blas::kReal16, CUDA_R_16F);
SAME(blas::kBReal16, CUDA_R_16BF);
SAME(blas::kCompute32, CUBLAS_COMPUTE_32F);
SAME(blas::kCompute64, CUBLAS_COMPUTE_64F);
SAME(blas::kCompute32Tf32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(blas::kPlain, CUBLAS_OP_N);
SAME(blas::kTransposed, CUBLAS_OP_T);
SAME(blas::kNone, CUBLASLT_EPILOGUE_DEFAULT);
SAME(blas::kRelu, CUBLASLT_EPILOGUE_RELU);
SAME(blas::kBias, CUBLASLT_EPILOGUE_BIAS);
SAME(blas::kReluBias, CUBLASLT_EPILOGUE_RELU_BIAS);
SAME(blas::kTransA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(blas::kTransB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(blas::kEpilogueOf, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(blas::kBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(blas::kBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(blas::kBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(blas::kMostWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(blas::kAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(blas::kAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(blas::kAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(blas::kAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(0, CUBLAS_STATUS_SUCCESS);
static_assert(sizeof(blas::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(blas::Choice) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(blas::Choice, workspace) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(blas::Choice, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));

SAME(dnn::kFloat, CUDNN_DATA_FLOAT);
SAME(dnn::kDouble, CUDNN_DATA_DOUBLE);
SAME(dnn::kHalf, CUDNN_DATA_HALF);
SAME(dnn::kBFloat16, CUDNN_DATA_BFLOAT16);
SAME(dnn::kNHWC, CUDNN_TENSOR_NHWC);
SAME(dnn::kCrossCorrelation, CUDNN_CROSS_CORRELATION);
SAME(dnn::kDefaultMath, CUDNN_DEFAULT_MATH);
SAME(dnn::kExactMath, CUDNN_FMA_MATH);
SAME(0, CUDNN_STATUS_SUCCESS);
SAME(1, CUDNN_DETERMINISTIC);
static_assert(sizeof(dnn::Performance) == sizeof(cudnnConvolutionFwdAlgoPerf_t));
static_assert(sizeof(dnn::Performance) == sizeof(cudnnConvolutionBwdDataAlgoPerf_t));
static_assert(sizeof(dnn::Performance) == sizeof(cudnnConvolutionBwdFilterAlgoPerf_t));
static_assert(offsetof(dnn::Performance, memory) ==
              offsetof(cudnnConvolutionFwdAlgoPerf_t, memory));
static_assert(offsetof(dnn::Performance, deterministic) ==
              offsetof(cudnnConvolutionFwdAlgoPerf_t, determinism));

// A function of ours has their type once handles and descriptors are plain pointers and enums ints.
template <class T>
struct Plain {
  using type = T;
};
template <class T>
  requires std::is_enum_v<T>
struct Plain<T> {
  using type = int;
};
template <class T>
struct Plain<T*> {
  using type = std::conditional_t<std::is_function_v<T>, T*,
                                  std::conditional_t<std::is_const_v<T>, const void*, void*>>;
};
template <class F>
struct Shape;
template <class R, class... A>
struct Shape<R (*)(A...)> {
  using type = typename Plain<R>::type(typename Plain<A>::type...);
};
template <class F>
using ShapeOf = typename Shape<F>::type;
#define FITS(ours, theirs) \
  static_assert(std::is_same_v<ShapeOf<decltype(ours)>, ShapeOf<decltype(&theirs)>>)

FITS(blas::Functions::create, cublasLtCreate);
FITS(blas::Functions::product_create, cublasLtMatmulDescCreate);
FITS(blas::Functions::product_destroy, cublasLtMatmulDescDestroy);
FITS(blas::Functions::product_set, cublasLtMatmulDescSetAttribute);
FITS(blas::Functions::layout_create, cublasLtMatrixLayoutCreate);
FITS(blas::Functions::layout_destroy, cublasLtMatrixLayoutDestroy);
FITS(blas::Functions::layout_set, cublasLtMatrixLayoutSetAttribute);
FITS(blas::Functions::preference_create, cublasLtMatmulPreferenceCreate);
FITS(blas::Functions::preference_destroy, cublasLtMatmulPreferenceDestroy);
FITS(blas::Functions::preference_set, cublasLtMatmulPreferenceSetAttribute);
FITS(blas::Functions::choose, cublasLtMatmulAlgoGetHeuristic);
FITS(blas::Functions::multiply, cublasLtMatmul);
FITS(dnn::Functions::create, cudnnCreate);
FITS(dnn::Functions::set_stream, cudnnSetStream);
FITS(dnn::Functions::error_text, cudnnGetErrorString);
FITS(dnn::Functions::tensor_create, cudnnCreateTensorDescriptor);
FITS(dnn::Functions::tensor_set, cudnnSetTensor4dDescriptorEx);
FITS(dnn::Functions::filter_create, cudnnCreateFilterDescriptor);
FITS(dnn::Functions::filter_set, cudnnSetFilter4dDescriptor);
FITS(dnn::Functions::convolution_create, cudnnCreateConvolutionDescriptor);
FITS(dnn::Functions::convolution_set, cudnnSetConvolution2dDescriptor);
FITS(dnn::Functions::convolution_groups, cudnnSetConvolutionGroupCount);
FITS(dnn::Functions::convolution_math, cudnnSetConvolutionMathType);
FITS(dnn::Functions::forward_choices, cudnnGetConvolutionForwardAlgorithm_v7);
FITS(dnn::Functions::data_choices, cudnnGetConvolutionBackwardDataAlgorithm_v7);
FITS(dnn::Functions::filter_choices, cudnnGetConvolutionBackwardFilterAlgorithm_v7);
FITS(dnn::Functions::forward, cudnnConvolutionForward);
FITS(dnn::Functions::backward_data, cudnnConvolutionBackwardData);
FITS(dnn::Functions::backward_filter, cudnnConvolutionBackwardFilter);
