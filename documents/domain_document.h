// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pugixml.hpp>

#include "base/result.h"
#include "documents/profile_document.h"

namespace scout::documents {

/// The `<domain>` element of a live domain XML; private to this library.
[[nodiscard]] Result<LiveDomain> domain_from(const pugi::xml_node& root);

}  // namespace scout::documents
