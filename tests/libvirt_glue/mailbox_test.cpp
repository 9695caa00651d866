// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/mailbox.h"

#include <memory>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace scout::libvirt_glue {
namespace {

Arrival arrival(std::string uuid) {
    hypervisor::IncomingEvent event;
    event.uuid = std::move(uuid);
    Arrival made;
    made.connection = 1;
    made.what = std::move(event);
    return made;
}

TEST(MailboxTest, BringsArrivalsOfAnotherThreadInOrder) {
    asio::io_context loop;
    std::vector<std::string> seen;
    const auto mailbox = std::make_shared<Mailbox>(loop.get_executor(), [&](Arrival arrived) {
        seen.push_back(std::get<hypervisor::IncomingEvent>(arrived.what).uuid);
    });

    std::thread other([&] {
        for (const auto* uuid : {"A", "B", "C"}) {
            mailbox->put(arrival(uuid));
        }
    });
    other.join();
    loop.run();

    EXPECT_EQ(seen, (std::vector<std::string>{"A", "B", "C"}));
    EXPECT_EQ(mailbox->take_dropped(), 0U);
}

TEST(MailboxTest, DropsAndCountsWhatTheLoopCannotTakeButNeverTheClose) {
    asio::io_context loop;
    std::size_t events = 0;
    bool closed = false;
    const auto mailbox = std::make_shared<Mailbox>(loop.get_executor(), [&](Arrival arrived) {
        closed = std::holds_alternative<Closed>(arrived.what);
        ++events;
    });

    for (std::size_t count = 0; count < Mailbox::limit + 7; ++count) {
        mailbox->put(arrival("A"));
    }
    Arrival end;
    end.what = Closed{"end of file"};
    mailbox->put(std::move(end));
    loop.run();

    EXPECT_EQ(events, Mailbox::limit + 1);
    EXPECT_TRUE(closed);
    EXPECT_EQ(mailbox->take_dropped(), 7U);
    EXPECT_EQ(mailbox->take_dropped(), 0U);
}

TEST(MailboxTest, BringsNothingOnceClosed) {
    asio::io_context loop;
    std::size_t seen = 0;
    const auto mailbox =
        std::make_shared<Mailbox>(loop.get_executor(), [&](const Arrival&) { ++seen; });
    mailbox->put(arrival("A"));

    mailbox->close();
    mailbox->put(arrival("B"));
    loop.run();

    EXPECT_EQ(seen, 0U);
}

}  // namespace
}  // namespace scout::libvirt_glue
