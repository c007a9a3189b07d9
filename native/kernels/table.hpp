// Which kernel runs: the best one that this CPU and operating system allow, or the one MAXSIEVE_ISA names.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel.hpp"

namespace maxsieve {

// Those this machine can run, best first.
std::vector<const Kernel*> available_kernels();

// The kernel in use. Throws std::invalid_argument when MAXSIEVE_ISA names one that is unknown or can't run here.
const Kernel& current_kernel();

// Switches to a kernel by name for the rest of the process; an empty name means: as at the start.
void use_kernel(const std::string& name);

}  // namespace maxsieve
