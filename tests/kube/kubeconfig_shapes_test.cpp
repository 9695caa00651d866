// SPDX-License-Identifier: Apache-2.0
// Scalars, lists and mappings of a kubeconfig in each other's place: what they say must not be
// lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/kubeconfig.h"

namespace scout::kube {
namespace {

using testing::HasSubstr;

constexpr const char* plugin =
    "apiVersion: client.authentication.k8s.io/v1, command: c, interactiveMode: Never";

/// What is wrong with a config that has this user; "none" if nothing is.
std::string faults(const std::string& user) {
    const KubeconfigFile file{.path = "config",
                              .text =
                                  "current-context: x\n"
                                  "clusters: [{name: c, cluster: {server: \"https://a\"}}]\n"
                                  "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
                                  "users: [{name: u, user: {" +
                                  user + "}}]\n"};
    const auto access = access_from_kubeconfig({file}, {});
    return access ? "none" : access.error().message;
}

std::string exec(const std::string& more) {
    return "exec: {" + std::string{plugin} + ", " + more + "}";
}

/// kubectl refuses them; without the group the account would do more than the file grants.
TEST(KubeconfigShapesTest, OneValueIsNoList) {
    EXPECT_THAT(faults("as: eve, as-groups: devs"),
                HasSubstr("user u: as-groups: expected a list of plain values, found one value"));
    EXPECT_THAT(faults("as: eve, as-user-extra: {scopes: view}"),
                HasSubstr("user u: as-user-extra: scopes: expected a list of plain values"));
    EXPECT_THAT(faults(exec("args: --login")),
                HasSubstr("user u: exec: args: expected a list of plain values, found one value"));
    EXPECT_THAT(faults(exec("args: \"\"")), HasSubstr("exec: args: expected a list"));
    EXPECT_THAT(faults(exec("env: A")), HasSubstr("exec: env: expected a list, found one value"));
}

TEST(KubeconfigShapesTest, AMappingIsNoList) {
    EXPECT_THAT(faults("as: eve, as-groups: {}"),
                HasSubstr("as-groups: expected a list of plain values, found a mapping"));
    EXPECT_THAT(faults("as: eve, as-groups: {a: b}"), HasSubstr("found a mapping"));
    EXPECT_THAT(faults(exec("env: {A: b}")), HasSubstr("env: expected a list, found a mapping"));
}

TEST(KubeconfigShapesTest, AListOfPlainValuesHoldsNothingElse) {
    EXPECT_THAT(faults("as: eve, as-groups: [a, [b]]"),
                HasSubstr("as-groups: expected a list of plain values, found a list in it"));
    EXPECT_THAT(faults("as: eve, as-groups: [a, ~]"), HasSubstr("found nothing in it"));
}

TEST(KubeconfigShapesTest, AListIsNoValueAndNoMapping) {
    EXPECT_THAT(faults("token: [a]"), HasSubstr("token: expected one value, found a list"));
    EXPECT_THAT(faults("as: {a: b}"), HasSubstr("as: expected one value, found a mapping"));
    EXPECT_THAT(faults("as: eve, as-user-extra: [a]"),
                HasSubstr("as-user-extra: expected lines 'key: value'"));
    EXPECT_THAT(faults("exec: c"), HasSubstr("exec: expected lines 'key: value'"));
}

TEST(KubeconfigShapesTest, AKeyThatIsNoTextIsNotPassedOver) {
    EXPECT_THAT(faults("as: eve, as-user-extra: {[a]: [b]}"),
                HasSubstr("as-user-extra: expected plain text for a key, found a list"));
    EXPECT_THAT(faults("as: eve, as-user-extra: {~: [b]}"),
                HasSubstr("as-user-extra: expected plain text for a key, found nothing"));
}

TEST(KubeconfigShapesTest, WhatHasTheRightShapeOrNoValueIsTaken) {
    EXPECT_EQ(faults("as: eve, as-groups: [a], as-user-extra: {scopes: [view], other: }"), "none");
    EXPECT_EQ(faults("as: eve, as-groups: [], as-user-extra: {}"), "none");
    EXPECT_EQ(faults("as: eve, as-groups: , as-user-extra: "), "none");
    EXPECT_EQ(faults(exec("args: [--login, \"1\"], env: [{name: A, value: b}]")), "none");
}

}  // namespace
}  // namespace scout::kube
