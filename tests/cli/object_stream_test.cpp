// SPDX-License-Identifier: Apache-2.0
#include "cli/object_stream.h"

#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>

#include "cli/json_text.h"

namespace scout::cli {
namespace {

namespace json = boost::json;
using testing::Le;
using testing::SizeIs;

json::object sample() {
    return json::parse(R"({"schema":1,"map":null,"path":"a: b","none":[],
        "nodes":[{"name":"true","out":["b","c"],"unknown":[],"level":7},
                 {"name":"x\ny","out":[],"more":{"deep":[{"e":1.5},{}]}}],
        "left":[{"document":"d","reason":""}],"words":["on","off"],"empty":{}})")
        .as_object();
}

/// Members of that kind as lists, all others whole.
void write(const json::object& object, ObjectStream& out) {
    for (const auto& member : object) {
        const auto* list = member.value().if_array();
        if (list == nullptr || (!list->empty() && !list->front().is_object())) {
            out.member(member.key(), member.value());
            continue;
        }
        out.begin_list(member.key());
        for (const auto& item : *list) {
            out.item(item);
        }
        out.end_list();
    }
    out.end();
}

TEST(ObjectStreamTest, WritesWordForWordWhatTheWholeWouldBe) {
    for (const auto format : {Format::json, Format::yaml}) {
        std::string text;
        TextSink sink([&text](std::string_view piece) {
            text += piece;
            return true;
        });
        ObjectStream out(format, sink);

        write(sample(), out);

        EXPECT_TRUE(sink.finish());
        EXPECT_EQ(text, format == Format::json ? to_json_text(sample()) : to_yaml_text(sample()));
    }
}

TEST(TextSinkTest, HandsOnPiecesAndStopsWhereNoMoreIsTaken) {
    std::vector<std::string> pieces;
    TextSink sink([&pieces](std::string_view piece) {
        pieces.emplace_back(piece);
        return pieces.size() < 3;
    });

    const std::string line(1000, 'x');
    std::size_t added = 0;
    while (!sink.failed() && added < 1000) {
        sink.add(line);
        ++added;
    }

    EXPECT_LT(added, 1000U);
    EXPECT_THAT(pieces, SizeIs(3));
    EXPECT_THAT(pieces, testing::Each(SizeIs(Le(128U * 1024))));
    sink.add(line);
    EXPECT_FALSE(sink.finish());
    EXPECT_THAT(pieces, SizeIs(3)) << "nothing is written behind a gap";
}

}  // namespace
}  // namespace scout::cli
