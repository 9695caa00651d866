// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/library.h"

#include <string>
#include <utility>

#include <dlfcn.h>

#include "libvirt_glue/errors.h"

namespace scout::libvirt_glue {
namespace {

Library loaded_functions;

template <class Function>
bool find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
    return function != nullptr;
}

Error fault(const char* file) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc keeps one for each thread
    const char* reason = ::dlerror();
    return {Errc::unavailable, "expected libvirt's library as " + std::string(file) + ", found " +
                                   (reason == nullptr ? "nothing" : reason) +
                                   ": install libvirt (Debian: libvirt0)"};
}

}  // namespace

Result<Library> load_library(const char* file) {
    // Never closed: libvirt's threads and handlers stay.
    void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return fail(fault(file));
    }
    Library functions;
#define SCOUT_LIBVIRT_FIND(name)                 \
    if (!find(library, #name, functions.name)) { \
        return fail(fault(file));                \
    }
    SCOUT_LIBVIRT_FUNCTIONS(SCOUT_LIBVIRT_FIND)
#undef SCOUT_LIBVIRT_FIND
    return functions;
}

Status prepare_library() {
    static const Status loaded = []() -> Status {
        auto functions = load_library("libvirt.so.0");
        if (!functions) {
            return fail(std::move(functions.error()));
        }
        loaded_functions = *functions;
        return {};
    }();
    if (!loaded) {
        return loaded;
    }
    if (loaded_functions.virInitialize() < 0) {
        return fail(last_error("start libvirt"));
    }
    loaded_functions.virSetErrorFunc(nullptr, [](void*, virErrorPtr) {});
    return {};
}

const Library& libvirt() noexcept {
    return loaded_functions;
}

}  // namespace scout::libvirt_glue
