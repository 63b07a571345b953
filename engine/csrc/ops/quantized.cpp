// Linear layers whose weights are kept in 16, 8 or 4 bits.
#include "kernels/quantized.h"

#include <algorithm>

#include "core/parallel.h"
#include "kernels/gemm.h"
#include "ops/fused.h"
#include "ops/ops.h"
#include "ops/transformer_ops.h"

namespace zoo {
namespace {

constexpr const char* kOp = "quantized_linear";

// Unpacked weights of one block of rows take this much and stay in the second-level cache.
constexpr int64_t kUnpackedBytes = int64_t{1} << 20;

QuantizedMatrix matrix(const Tensor& codes, const Tensor& scales) {
  using Kind = QuantizedMatrix::Kind;
  QuantizedMatrix m;
  m.kind = codes.dtype() == DType::kBF16  ? Kind::kBF16
           : codes.dtype() == DType::kI8 ? Kind::kInt8
                                         : Kind::kInt4;
  m.rows = codes.size(0);
  m.width = codes.size(1) * (m.kind == Kind::kInt4 ? 2 : 1);
  m.codes = codes.data();
  m.scales = scales.defined() ? scales.data() : nullptr;
  return m;
}

void check_matrix(const Tensor& codes, const Tensor& scales) {
  check(codes.ndim() == 2, kOp, ": codes have shape ", to_string(codes.shape()),
        ", expected (out, in), or (out, in / 2) of int4");
  const auto check_scales = [&](DType dtype, const Dims& shape) {
    check<TypeError>(scales.defined() && scales.dtype() == dtype && scales.shape() == shape, kOp,
                     ": scales are ", describe(scales), ", expected ", dtype_name(dtype), " ",
                     to_string(shape), " for codes ", describe(codes), "; make both with "
                     "nn.quantize");
  };
  if (codes.dtype() == DType::kBF16) {
    check<TypeError>(!scales.defined(), kOp, ": bfloat16 codes have no scales");
  } else if (codes.dtype() == DType::kI8) {
    check_scales(DType::kF32, {codes.size(0)});
  } else {
    check<TypeError>(codes.dtype() == DType::kU8, kOp, ": codes are ", describe(codes),
                     ", expected bfloat16, int8, or uint8 that hold two int4 each");
    check_scales(DType::kBF16, {codes.size(0), codes.size(1) * 2 / kInt4Group});
    check(codes.size(1) * 2 % kInt4Group == 0, kOp, ": int4 codes of shape ",
          to_string(codes.shape()), " do not end with a group of ", kInt4Group, " weights");
  }
}

// Many tokens: blocks of rows are unpacked and multiplied as floats are.
void multiply_unpacked(const QuantizedMatrix& m, const Tensor& x, const Tensor& bias,
                       const Tensor& y) {
  const DeviceType device = x.device().type;
  const int64_t fit = std::max<int64_t>(64, kUnpackedBytes / (4 * m.width) / 64 * 64);
  parallel_for(0, (m.rows + fit - 1) / fit, 1, [&](int64_t begin, int64_t end) {
    Scratch scratch(static_cast<size_t>(fit * m.width) * sizeof(float));
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * fit, last = std::min(m.rows, first + fit);
      unpack_rows_kernel.on(device)(m, first, last, scratch.as<float>());
      GemmArgs g;
      g.m = x.size(0);
      g.n = last - first;
      g.k = m.width;
      g.a = x.data();
      g.a_row = m.width;
      g.a_col = 1;
      g.b = scratch.as<float>();  // transposed
      g.b_row = 1;
      g.b_col = m.width;
      g.c = y.data<float>() + first;
      g.c_row = m.rows;
      if (bias.defined()) g.bias = bias.data<float>() + first;
      gemm_kernel.on(device)(DType::kF32, g);
    }
  });
}

}  // namespace

Tensor dequantize(const Tensor& codes, const Tensor& scales) {
  check_matrix(codes, scales);
  const Tensor c = contiguous(codes), s = scales.defined() ? contiguous(scales) : scales;
  const QuantizedMatrix m = matrix(c, s);
  const Tensor out = empty({m.rows, m.width}, DType::kF32, codes.device());
  if (codes.device().type != DeviceType::kCPU) {
    unpack_rows_kernel.on(codes.device().type)(m, 0, m.rows, out.data<float>());
    return out;
  }
  parallel_for(0, m.rows, 16384 / (m.width + 1) + 1, [&](int64_t begin, int64_t end) {
    unpack_rows_kernel.on(codes.device().type)(m, begin, end,
                                               out.data<float>() + begin * m.width);
  });
  return out;
}

Tensor quantized_linear(const Tensor& x, const Tensor& codes, const Tensor& scales,
                        const Tensor& bias) {
  check_matrix(codes, scales);
  const Tensor c = contiguous(codes), s = scales.defined() ? contiguous(scales) : scales;
  const QuantizedMatrix m = matrix(c, s);
  common_device(kOp, {&x, &codes, &scales, &bias});
  check<TypeError>(x.dtype() == DType::kF32, kOp, ": x is ", describe(x),
                   ", expected float32; convert it with x.astype(engine.float32)");
  check(x.ndim() >= 1 && x.size(-1) == m.width, kOp, ": x has shape ", to_string(x.shape()),
        ", expected (..., ", m.width, ") for codes ", describe(codes));
  check(!bias.defined() || (bias.dtype() == DType::kF32 && bias.shape() == Dims{m.rows}), kOp,
        ": bias is ", describe(bias), ", expected float32 (", m.rows, ",)");
  Dims shape = x.shape();
  shape.back() = m.rows;
  const Tensor out = empty(shape, DType::kF32, x.device());
  {
    GradMode off(false);
    const Tensor rows = contiguous(reshape(x, {x.numel() / std::max<int64_t>(1, m.width), m.width}));
    const Tensor y = reshape(out, {rows.size(0), m.rows});
    const Tensor b = bias.defined() ? contiguous(bias) : bias;
    if (out.numel() > 0 && rows.size(0) <= kFewTokens) {
      quantized_product_kernel.on(x.device().type)(m, rows.data<float>(), rows.size(0),
                                                   b.defined() ? b.data<float>() : nullptr,
                                                   y.data<float>());
    } else if (out.numel() > 0 && x.device().type == DeviceType::kCPU) {
      multiply_unpacked(m, rows, b, y);
    } else if (out.numel() > 0) {
      copy_(y, linear(rows, dequantize(c, s), b));
    }
  }
  if (needs_grad(x, bias)) {
    record(kOp, {x, bias}, {out}, [codes = Saved(c), scales = Saved(s)](Backward& bw) {
      const Tensor g = bw.grad();
      if (bw.wants(0)) bw.set(0, matmul(g, dequantize(codes.get(), scales.get())));
      if (bw.wants(1)) bw.set(1, sum(reshape(g, {-1, g.size(-1)}), Dims{0}, false));
    });
  }
  return out;
}

}  // namespace zoo
