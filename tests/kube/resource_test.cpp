// SPDX-License-Identifier: Apache-2.0
#include "kube/resource.h"

#include <gtest/gtest.h>

#include "kube/query.h"

namespace scout::kube {
namespace {

TEST(ResourceTest, MakesThePathsThatTheServerServes) {
    EXPECT_EQ(collection_path(resources::nodes(), ""), "/api/v1/nodes");
    EXPECT_EQ(collection_path(resources::nodes(), "ignored"), "/api/v1/nodes");
    EXPECT_EQ(collection_path(resources::pods(), ""), "/api/v1/pods");
    EXPECT_EQ(collection_path(resources::pods(), "ns"), "/api/v1/namespaces/ns/pods");
    EXPECT_EQ(collection_path(resources::virtual_machine_instances(), "ns"),
              "/apis/kubevirt.io/v1/namespaces/ns/virtualmachineinstances");
    EXPECT_EQ(object_path(resources::nodes(), {.name = "n1"}), "/api/v1/nodes/n1");
    EXPECT_EQ(object_path(resources::pods(), {.space = "ns", .name = "p"}, "eviction"),
              "/api/v1/namespaces/ns/pods/p/eviction");
    EXPECT_EQ(object_path(resources::leases(), {.space = "ns", .name = "a/../b?c#d"}),
              "/apis/coordination.k8s.io/v1/namespaces/ns/leases/a%2F..%2Fb%3Fc%23d");
}

TEST(ResourceTest, NamesKindsAsKubectlDoes) {
    EXPECT_EQ(display_name(resources::nodes()), "nodes");
    EXPECT_EQ(display_name(resources::kubevirts()), "kubevirts.kubevirt.io");
}

TEST(QueryTest, LeavesOutWhatIsEmpty) {
    EXPECT_EQ(Query{}.text(), "");
    EXPECT_EQ(Query{}.add("a", "").add("labelSelector", "x in (y,z)").add("limit", "500").text(),
              "?labelSelector=x%20in%20%28y%2Cz%29&limit=500");
}

TEST(ResourceTest, ASubresourceMayLieInAnother) {
    EXPECT_EQ(object_path(resources::pods(), {.space = "ns", .name = "p"}, "evacuate/cancel"),
              "/api/v1/namespaces/ns/pods/p/evacuate/cancel");
    EXPECT_EQ(object_path(resources::pods(), {.space = "ns", .name = "p"}, "a b/c%"),
              "/api/v1/namespaces/ns/pods/p/a%20b/c%25");
}

}  // namespace
}  // namespace scout::kube
