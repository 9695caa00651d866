// SPDX-License-Identifier: Apache-2.0
// Carries the precompiled headers of ScoutHeaders.cmake; holds nothing itself.
