// Chooses the kernel: the best one that this CPU and operating system support, or the one that MAXSIEVE_ISA names.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel.hpp"

namespace maxsieve {

// The kernels that this machine can run, best first.
std::vector<const Kernel*> available_kernels();

// The current kernel. Throws std::invalid_argument if MAXSIEVE_ISA names one that is unknown or can't run here.
const Kernel& current_kernel();

// Switches to a kernel by name, for the whole process. An empty name restores the choice at the start.
void use_kernel(const std::string& name);

}  // namespace maxsieve
