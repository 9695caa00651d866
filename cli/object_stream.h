// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <boost/json/fwd.hpp>

#include "cli/settings.h"
#include "cli/text_sink.h"

namespace scout::cli {

/// An object with long lists of objects, word for word as json_text.h writes the whole of it, but
/// never held together. Use: members and lists in order, then end(). JSON or YAML.
class ObjectStream {
public:
    ObjectStream(Format format, TextSink& sink);

    void member(std::string_view key, const boost::json::value& value);
    void begin_list(std::string_view key);
    void item(const boost::json::value& object);
    void end_list();
    void end();

private:
    void begin_member(std::string_view key);

    bool yaml_;
    TextSink& sink_;
    bool any_member_ = false;
    bool any_item_ = false;  ///< of the list that is being written
};

}  // namespace scout::cli
