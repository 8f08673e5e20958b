// SPDX-License-Identifier: MIT
// What support tests of CK Tile ask the HIP runtime, which is not there: whether the device has
// waves of 32 lanes. No device is found, so they are about those of 64.

namespace {

constexpr int error_no_device = 100; // hipErrorNoDevice

} // namespace

// Headers of HIP 6 call the last one by the name of the second.
extern "C" int hipGetDevice(int* /*device*/) { return error_no_device; }
extern "C" int hipGetDeviceProperties(void* /*properties*/, int /*device*/)
{ return error_no_device; }
extern "C" int hipGetDevicePropertiesR0600(void* /*properties*/, int /*device*/)
{ return error_no_device; }
