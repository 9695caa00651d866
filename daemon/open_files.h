// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace scout::daemon {

/// Raises the soft limit of open files to the hard one: it is 1024 by default, which select() needs
/// and nothing here does, and each connection is a file. Not for a program that starts others: they
/// inherit it, and some of them do work for every number up to the limit.
void raise_open_files_limit();

}  // namespace scout::daemon
