// Stands for cuBLASLt where kernels are emulated: does what the documentation says of the part of
// it that the engine uses, naively, and counts products. VERSION is what it says it is.
#include <cstring>
#include <utility>

#include "core/dtype.h"
#include "device_memory.h"
#include "kernels/cuda/cublaslt_api.h"

using namespace zoo::cuda::cublaslt;

namespace {

struct Product {
  ComputeType compute;
  DataType scale;
  int trans_a = 0, trans_b = 0, epilogue = kNone;
  const void* bias = nullptr;
};

struct Layout {
  DataType dtype;
  uint64_t rows, columns;
  int64_t stride;
  int32_t batch = 1;
  int64_t batch_stride = 0;
};

int64_t g_products = 0;

template <class T>
zoo::ComputeType<T> element(const void* data, const Layout& l, int32_t batch, int64_t row,
                            int64_t column, bool transposed) {
  if (transposed) std::swap(row, column);
  return fakes::read<T>(data, batch * l.batch_stride + column * l.stride + row);
}

template <class T>
void multiply(const Product& p, const void* alphas, const void* a, const Layout& la, const void* b,
              const Layout& lb, const void* betas, const void* c, const Layout& lc, void* d,
              const Layout& ld) {
  using C = zoo::ComputeType<T>;
  const C alpha = *static_cast<const C*>(alphas), beta = *static_cast<const C*>(betas);
  const bool ta = p.trans_a == kTransposed, tb = p.trans_b == kTransposed;
  const auto depth = static_cast<int64_t>(ta ? la.rows : la.columns);
  for (int32_t batch = 0; batch < ld.batch; ++batch) {
    for (int64_t i = 0; i < static_cast<int64_t>(ld.rows); ++i) {
      for (int64_t j = 0; j < static_cast<int64_t>(ld.columns); ++j) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k) {
          sum += static_cast<double>(element<T>(a, la, batch, i, k, ta)) *
                 static_cast<double>(element<T>(b, lb, batch, k, j, tb));
        }
        C v = alpha * static_cast<C>(sum);
        if (beta != 0) v += beta * element<T>(c, lc, batch, i, j, false);
        if (p.epilogue & kBias) v += static_cast<C>(fakes::read<T>(p.bias, i));
        if ((p.epilogue & kRelu) && v < 0) v = 0;
        fakes::write<T>(d, batch * ld.batch_stride + j * ld.stride + i, static_cast<T>(v));
      }
    }
  }
}

}  // namespace

FAKE size_t cublasLtGetVersion() { return VERSION; }
FAKE int64_t fake_products() { return g_products; }

FAKE Status cublasLtCreate(Handle* handle) {
  *handle = &g_products;
  return 0;
}
FAKE Status cublasLtMatmulDescCreate(Descriptor* product, ComputeType compute, DataType scale) {
  const bool fits = scale == kReal64 ? compute == kCompute64
                                     : compute == kCompute32 || compute == kCompute32Tf32;
  if (!fits) return 7;
  *product = new Product{compute, scale};
  return 0;
}
FAKE Status cublasLtMatmulDescDestroy(Descriptor product) {
  delete static_cast<Product*>(product);
  return 0;
}
FAKE Status cublasLtMatmulDescSetAttribute(Descriptor product, ProductAttribute which,
                                           const void* value, size_t bytes) {
  Product& p = *static_cast<Product*>(product);
  void* to = which == kTransA       ? static_cast<void*>(&p.trans_a)
             : which == kTransB     ? &p.trans_b
             : which == kEpilogueOf ? &p.epilogue
                                    : static_cast<void*>(&p.bias);
  if (bytes != (which == kBiasPointer ? sizeof(void*) : sizeof(int))) return 7;
  std::memcpy(to, value, bytes);
  return 0;
}
FAKE Status cublasLtMatrixLayoutCreate(Descriptor* layout, DataType dtype, uint64_t rows,
                                       uint64_t columns, int64_t stride) {
  if (stride < static_cast<int64_t>(rows)) return 7;
  *layout = new Layout{dtype, rows, columns, stride};
  return 0;
}
FAKE Status cublasLtMatrixLayoutDestroy(Descriptor layout) {
  delete static_cast<Layout*>(layout);
  return 0;
}
FAKE Status cublasLtMatrixLayoutSetAttribute(Descriptor layout, LayoutAttribute which,
                                             const void* value, size_t bytes) {
  Layout& l = *static_cast<Layout*>(layout);
  if (bytes != (which == kBatchCount ? sizeof(int32_t) : sizeof(int64_t))) return 7;
  std::memcpy(which == kBatchCount ? static_cast<void*>(&l.batch) : &l.batch_stride, value, bytes);
  return 0;
}
FAKE Status cublasLtMatmulPreferenceCreate(Descriptor* preference) {
  *preference = new uint64_t[16]();
  return 0;
}
FAKE Status cublasLtMatmulPreferenceDestroy(Descriptor preference) {
  delete[] static_cast<uint64_t*>(preference);
  return 0;
}
FAKE Status cublasLtMatmulPreferenceSetAttribute(Descriptor, PreferenceAttribute which,
                                                 const void*, size_t bytes) {
  return bytes == (which == kMostWorkspace ? sizeof(uint64_t) : sizeof(uint32_t)) ? 0 : 7;
}
FAKE Status cublasLtMatmulAlgoGetHeuristic(Handle, Descriptor, Descriptor a, Descriptor b,
                                           Descriptor, Descriptor d, Descriptor, int wanted,
                                           Choice* choices, int* found) {
  *found = 0;
  if (wanted < 1) return 7;
  for (Descriptor l : {a, b, d}) {
    if (static_cast<Layout*>(l)->batch != static_cast<Layout*>(d)->batch) return 7;
  }
  choices[0] = Choice{};
  choices[0].workspace = 64;
  *found = 1;
  return 0;
}
FAKE Status cublasLtMatmul(Handle, Descriptor product, const void* alpha, const void* a,
                           Descriptor la, const void* b, Descriptor lb, const void* beta,
                           const void* c, Descriptor lc, void* d, Descriptor ld, const Algorithm*,
                           void* workspace, size_t bytes, Stream stream) {
  const Product& p = *static_cast<Product*>(product);
  const auto layout = [](Descriptor l) -> const Layout& { return *static_cast<Layout*>(l); };
  const Layout &x = layout(la), &y = layout(lb), &z = layout(ld);
  const uint64_t rows = p.trans_a ? x.columns : x.rows, depth = p.trans_a ? x.rows : x.columns;
  const uint64_t columns = p.trans_b ? y.rows : y.columns, same = p.trans_b ? y.columns : y.rows;
  if (rows != z.rows || columns != z.columns || depth != same) return 7;
  if (x.dtype != z.dtype || y.dtype != z.dtype || (z.dtype == kReal64) != (p.scale == kReal64)) return 7;
  if (workspace == nullptr || bytes < 64 || stream == nullptr) return 7;
  ++g_products;
  const auto run = [&](auto zero) {
    multiply<decltype(zero)>(p, alpha, a, x, b, y, beta, c, layout(lc), d, z);
  };
  switch (z.dtype) {
    case kReal64: run(double{}); break;
    case kReal32: run(float{}); break;
    case kReal16: run(zoo::Half()); break;
    case kBReal16: run(zoo::BFloat16()); break;
  }
  return 0;
}
