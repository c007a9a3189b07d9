// What every computation over documents needs: the documents, the kernel and the threads.
#pragma once

#include "index/corpus.hpp"
#include "kernels/kernel.hpp"
#include "threads/crew.hpp"

namespace maxsieve {

struct Engine {
    const Corpus& corpus;
    const Kernel& kernel;
    Crew& crew;

    Interrupt& interrupt() const { return crew.interrupt(); }
};

}  // namespace maxsieve
