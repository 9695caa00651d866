// SPDX-License-Identifier: Apache-2.0
#include "tests/support/run_to_end.h"
