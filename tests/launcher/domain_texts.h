// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace scout::test {

/// The parts of a launcher's answer that tests change, as JSON or as plain text.
struct DomainParts {
    std::string space = "shop";
    std::string name = "web";
    std::string uuid = "067416A0-7A68-447B-90E8-9010BC51F36D";
    std::string status = "Running";
    std::string reason = "Unknown";
    std::string grace = "null";
    std::string migration = "null";
    std::string mode = "custom";
    std::string features = R"([{"Name":"vmx","Policy":"require"},{"Name":"ss","Policy":""},
                               {"Name":"hle","Policy":"disable"}])";
    std::string memory = R"({"Value":2097152,"Unit":"KiB"})";
    std::string extra_spec;
    std::string devices = R"({"HostDevices":null,"Interfaces":null})";
};

/// The answer of GetDomain in the shape of a launcher's: Go's names, nulls, and more than we read.
inline std::string domain_text(const DomainParts& parts) {
    return R"({"kind":"Domain","apiVersion":"1.2.2","ObjectMeta":{"name":")" + parts.name +
           R"(","namespace":")" + parts.space + R"(","creationTimestamp":null},"Spec":{"XMLName":
           {"Space":"","Local":"domain"},"Type":"kvm","Name":")" +
           parts.space + "_" + parts.name + R"(","UUID":")" + parts.uuid + R"(","Memory":)" +
           parts.memory +
           R"(,"MaxMemory":null,"OS":{"Type":{"OS":"hvm","Arch":"x86_64","Machine":"pc-q35-9.0"},
           "ACPI":null},"Devices":)" +
           parts.devices + R"(,"Metadata":{"KubeVirt":{"UID":"uid-)" + parts.name +
           R"(","GracePeriod":)" + parts.grace + R"(,"Migration":)" + parts.migration +
           R"(,"Backup":null}},"CPU":{"Mode":")" + parts.mode +
           R"(","Model":"Haswell","Features":)" + parts.features +
           R"(,"Topology":null},"VCPU":{"Placement":"static","CPUs":2})" + parts.extra_spec +
           R"(},"Status":{"Status":")" + parts.status + R"(","Reason":")" + parts.reason +
           R"(","Interfaces":null,"OSInfo":{"Name":""}}})";
}

}  // namespace scout::test
