// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/live_connection.h"

#include <string>
#include <utility>

#include "libvirt_glue/domain_callbacks.h"
#include "libvirt_glue/errors.h"

namespace scout::libvirt_glue {
namespace {

std::string_view reason_text(int reason) {
    switch (reason) {
        case VIR_CONNECT_CLOSE_REASON_EOF:
            return "libvirt closed the connection (end of file)";
        case VIR_CONNECT_CLOSE_REASON_KEEPALIVE:
            return "libvirt did not answer keepalive messages";
        case VIR_CONNECT_CLOSE_REASON_CLIENT:
            return "closed by this program";
        default:
            return "the connection to libvirt failed (I/O error)";
    }
}

void on_close(virConnectPtr, int reason, void* opaque) {
    const auto* context = static_cast<const CallbackContext*>(opaque);
    Arrival arrival;
    arrival.connection = context->connection;
    arrival.what = Closed{std::string(reason_text(reason))};
    context->mailbox->put(std::move(arrival));
}

}  // namespace

LiveConnection::LiveConnection(ConnectHandle connection) : connection_(std::move(connection)) {}

Result<std::shared_ptr<LiveConnection>> LiveConnection::open(const LiveQuestion& question,
                                                             std::shared_ptr<Mailbox> mailbox) {
    if (auto prepared = prepare_library(); !prepared) {
        return fail(std::move(prepared.error()));
    }
    ConnectHandle handle(libvirt().virConnectOpenReadOnly(question.uri.c_str()));
    if (!handle) {
        return fail(last_error("open " + question.uri));
    }
    std::shared_ptr<LiveConnection> live(new LiveConnection(std::move(handle)));
    auto* connection = live->get();
    // Not for drivers inside this process (test:///): they refuse, and need none.
    static_cast<void>(libvirt().virConnectSetKeepAlive(connection, question.keepalive_seconds,
                                                       question.keepalive_count));
    CallbackContext context{.mailbox = std::move(mailbox), .connection = question.number};
    // Owned here, not by libvirt: a driver without such a callback takes it, says yes, and never
    // frees it. Taking the callback off waits for one that is running.
    live->close_context_ = std::make_unique<CallbackContext>(context);
    live->close_registered_ = libvirt().virConnectRegisterCloseCallback(
                                  connection, on_close, live->close_context_.get(), nullptr) == 0;
    if (auto done = register_domain_callbacks(connection, context, live->callbacks_); !done) {
        return fail(std::move(done.error()).within("open " + question.uri));
    }
    return live;
}

LiveConnection::~LiveConnection() {
    for (const int id : callbacks_) {
        static_cast<void>(libvirt().virConnectDomainEventDeregisterAny(connection_.get(), id));
    }
    if (close_registered_) {
        static_cast<void>(libvirt().virConnectUnregisterCloseCallback(connection_.get(), on_close));
    }
}

}  // namespace scout::libvirt_glue
