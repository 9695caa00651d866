// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <utility>

namespace scout {

std::string_view to_string(Errc code) noexcept {
    switch (code) {
        case Errc::not_found:
            return "not found";
        case Errc::unavailable:
            return "unavailable";
        case Errc::timed_out:
            return "timed out";
        case Errc::cancelled:
            return "cancelled";
        case Errc::invalid:
            return "invalid";
        case Errc::refused:
            return "refused";
        case Errc::internal:
            return "internal";
    }
    return "internal";
}

Error Error::within(std::string_view step) && {
    message.insert(0, ": ").insert(0, step);
    return std::move(*this);
}

tl::unexpected<Error> fail(Errc code, std::string message) {
    return tl::unexpected<Error>{Error{code, std::move(message)}};
}

tl::unexpected<Error> fail(Error error) {
    return tl::unexpected<Error>{std::move(error)};
}

}  // namespace scout
