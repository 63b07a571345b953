// Stands for cuDNN where kernels are emulated: does what the documentation says of the part of it
// that the engine uses, naively, and counts convolutions. VERSION is what it says it is.
#include "core/dtype.h"
#include "device_memory.h"
#include "kernels/cuda/cudnn_api.h"

using namespace zoo::cuda::cudnn;

namespace {

struct Tensor4 {
  DataType dtype;
  int size[4], stride[4];
};
struct Filter {
  DataType dtype;
  int k, c, h, w;
};
struct Convolution {
  int pad[2], stride[2], dilation[2], groups = 1;
};

int64_t g_convolutions = 0;

template <class T>
const T& of(Descriptor d) { return *static_cast<T*>(d); }

int64_t place(const Tensor4& t, int n, int c, int h, int w) {
  return int64_t{n} * t.stride[0] + int64_t{c} * t.stride[1] + int64_t{h} * t.stride[2] +
         int64_t{w} * t.stride[3];
}

// Calls body(place in x, place in w, place in y) for every product that a convolution sums up.
template <class F>
void walk(const Tensor4& x, const Filter& w, const Convolution& conv, const Tensor4& y, F body) {
  const int outputs = w.k / conv.groups;
  for (int n = 0; n < y.size[0]; ++n)
    for (int k = 0; k < w.k; ++k)
      for (int oh = 0; oh < y.size[2]; ++oh)
        for (int ow = 0; ow < y.size[3]; ++ow)
          for (int i = 0; i < w.h; ++i)
            for (int j = 0; j < w.w; ++j) {
              const int row = oh * conv.stride[0] - conv.pad[0] + i * conv.dilation[0];
              const int column = ow * conv.stride[1] - conv.pad[1] + j * conv.dilation[1];
              if (row < 0 || row >= x.size[2] || column < 0 || column >= x.size[3]) continue;
              for (int c = 0; c < w.c; ++c) {
                body(place(x, n, k / outputs * w.c + c, row, column),
                     ((int64_t{k} * w.h + i) * w.w + j) * w.c + c, place(y, n, k, oh, ow));
              }
            }
}

// to[...] = sums of products of left and right, at the places that walk gives.
template <class T, class Pick>
void sum_up_in(const Tensor4& x, const Filter& w, const Convolution& conv, const Tensor4& y,
            const void* left, const void* right, void* to, int64_t size, Pick pick) {
  using C = zoo::ComputeType<T>;
  std::vector<double> sums(static_cast<size_t>(size));
  walk(x, w, conv, y, [&](int64_t px, int64_t pw, int64_t py) {
    const auto [a, b, c] = pick(px, pw, py);
    sums[static_cast<size_t>(c)] += static_cast<double>(static_cast<C>(fakes::read<T>(left, a))) *
                                    static_cast<double>(static_cast<C>(fakes::read<T>(right, b)));
  });
  for (int64_t i = 0; i < size; ++i) {
    fakes::write<T>(to, i, static_cast<T>(static_cast<C>(sums[static_cast<size_t>(i)])));
  }
}

template <class Pick>
void sum_up(const Tensor4& x, const Filter& w, const Convolution& conv, const Tensor4& y,
            const void* left, const void* right, void* to, int64_t size, Pick pick) {
  const auto in = [&]<class T>() { sum_up_in<T>(x, w, conv, y, left, right, to, size, pick); };
  switch (x.dtype) {
    case kDouble: return in.template operator()<double>();
    case kHalf: return in.template operator()<zoo::Half>();
    case kBFloat16: return in.template operator()<zoo::BFloat16>();
    default: return in.template operator()<float>();
  }
}

struct Places {
  int64_t left, right, result;
};

int64_t count(const Tensor4& t) {
  return int64_t{t.size[0]} * t.size[1] * t.size[2] * t.size[3];
}

// One algorithm that is quickest and gives other bits each time, and one that does not.
Status choices(int wanted, int* found, Performance* list) {
  if (wanted < 2) return 3;
  list[0] = {5, 0, 1.0f, 0, 0, kExactMath, {}};
  list[1] = {1, 0, 2.0f, 128, 1, kExactMath, {}};
  *found = 2;
  return 0;
}

bool usable(int algorithm, const void* workspace, size_t bytes) {
  return algorithm == 1 && workspace != nullptr && bytes >= 128;
}

}  // namespace

FAKE size_t cudnnGetVersion() { return VERSION; }
FAKE int64_t fake_convolutions() { return g_convolutions; }
FAKE const char* cudnnGetErrorString(Status) { return "CUDNN_STATUS_BAD_PARAM"; }
FAKE Status cudnnCreate(Handle* handle) {
  *handle = &g_convolutions;
  return 0;
}
FAKE Status cudnnSetStream(Handle, Stream stream) { return stream == nullptr ? 3 : 0; }
FAKE Status cudnnCreateTensorDescriptor(Descriptor* d) {
  *d = new Tensor4();
  return 0;
}
FAKE Status cudnnSetTensor4dDescriptorEx(Descriptor d, DataType dtype, int n, int c, int h, int w,
                                         int ns, int cs, int hs, int ws) {
  *static_cast<Tensor4*>(d) = {dtype, {n, c, h, w}, {ns, cs, hs, ws}};
  return 0;
}
FAKE Status cudnnCreateFilterDescriptor(Descriptor* d) {
  *d = new Filter();
  return 0;
}
FAKE Status cudnnSetFilter4dDescriptor(Descriptor d, DataType dtype, Format format, int k, int c,
                                       int h, int w) {
  *static_cast<Filter*>(d) = {dtype, k, c, h, w};
  return format == kNHWC ? 0 : 3;
}
FAKE Status cudnnCreateConvolutionDescriptor(Descriptor* d) {
  *d = new Convolution();
  return 0;
}
FAKE Status cudnnSetConvolution2dDescriptor(Descriptor d, int pad_h, int pad_w, int stride_h,
                                            int stride_w, int dilation_h, int dilation_w, Mode mode,
                                            DataType) {
  *static_cast<Convolution*>(d) = {{pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}};
  return mode == kCrossCorrelation ? 0 : 3;
}
FAKE Status cudnnSetConvolutionGroupCount(Descriptor d, int groups) {
  static_cast<Convolution*>(d)->groups = groups;
  return 0;
}
FAKE Status cudnnSetConvolutionMathType(Descriptor, Math) { return 0; }
FAKE Status cudnnGetConvolutionForwardAlgorithm_v7(Handle, Descriptor, Descriptor, Descriptor,
                                                   Descriptor, int wanted, int* found,
                                                   Performance* list) {
  return choices(wanted, found, list);
}
FAKE Status cudnnGetConvolutionBackwardDataAlgorithm_v7(Handle, Descriptor, Descriptor, Descriptor,
                                                        Descriptor, int wanted, int* found,
                                                        Performance* list) {
  return choices(wanted, found, list);
}
FAKE Status cudnnGetConvolutionBackwardFilterAlgorithm_v7(Handle, Descriptor, Descriptor,
                                                          Descriptor, Descriptor, int wanted,
                                                          int* found, Performance* list) {
  return choices(wanted, found, list);
}

// scale is 1 and what was there before is not added: all that the engine asks for.
FAKE Status cudnnConvolutionForward(Handle, const void*, Descriptor dx, const void* x,
                                    Descriptor dw, const void* w, Descriptor conv, int algorithm,
                                    void* workspace, size_t bytes, const void*, Descriptor dy,
                                    void* y) {
  if (!usable(algorithm, workspace, bytes)) return 3;
  ++g_convolutions;
  const Tensor4 &tx = of<Tensor4>(dx), &ty = of<Tensor4>(dy);
  const auto pick = [](int64_t px, int64_t pw, int64_t py) { return Places{px, pw, py}; };
  const Filter& f = of<Filter>(dw);
  sum_up(tx, f, of<Convolution>(conv), ty, x, w, y, count(ty), pick);
  return 0;
}
FAKE Status cudnnConvolutionBackwardData(Handle, const void*, Descriptor dw, const void* w,
                                         Descriptor dy, const void* y, Descriptor conv,
                                         int algorithm, void* workspace, size_t bytes, const void*,
                                         Descriptor dx, void* x) {
  if (!usable(algorithm, workspace, bytes)) return 3;
  ++g_convolutions;
  const Tensor4 &tx = of<Tensor4>(dx), &ty = of<Tensor4>(dy);
  const auto pick = [](int64_t px, int64_t pw, int64_t py) { return Places{pw, py, px}; };
  const Filter& f = of<Filter>(dw);
  sum_up(tx, f, of<Convolution>(conv), ty, w, y, x, count(tx), pick);
  return 0;
}
FAKE Status cudnnConvolutionBackwardFilter(Handle, const void*, Descriptor dx, const void* x,
                                           Descriptor dy, const void* y, Descriptor conv,
                                           int algorithm, void* workspace, size_t bytes,
                                           const void*, Descriptor dw, void* w) {
  if (!usable(algorithm, workspace, bytes)) return 3;
  ++g_convolutions;
  const Tensor4 &tx = of<Tensor4>(dx), &ty = of<Tensor4>(dy);
  const Filter& f = of<Filter>(dw);
  const int64_t size = int64_t{f.k} * f.c * f.h * f.w;
  const auto pick = [](int64_t px, int64_t pw, int64_t py) { return Places{px, py, pw}; };
  sum_up(tx, f, of<Convolution>(conv), ty, x, y, w, size, pick);
  return 0;
}
