// Which algorithm convolutions use: chosen by shape, or one for all, to compare them.
#pragma once

namespace zoo {

// kDirect never uses Winograd's algorithm; kWinograd uses it wherever it is possible (float32, 3x3
// windows, stride 1, dilation 1, one group); kAuto where it should be faster.
enum class ConvAlgorithm { kAuto, kDirect, kWinograd };

ConvAlgorithm conv_algorithm();
void set_conv_algorithm(ConvAlgorithm algorithm);

}  // namespace zoo
