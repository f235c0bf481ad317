import Testing

@testable import Feed

struct NetworkPolicyTests {
    /// Refused under every policy, also where an IPv6 address only leads there.
    static let never = [
        "169.254.169.254", "169.254.0.1", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.255", "255.255.255.255", "100.100.100.200",
        "168.63.129.16", "192.0.0.192", "::", "fe80::1", "febf::1", "ff02::1", "fd00:ec2::254", "fd20:ce::254",
        // IPv4-mapped, compatible and translated.
        "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "::169.254.169.254", "::ffff:0:169.254.169.254",
        // NAT64: the well-known prefix, and a local one of 96, 64, 56 and 48 bits.
        "64:ff9b::169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b:1::169.254.169.254", "64:ff9b:1:0:a9:fea9:fe00:0",
        "64:ff9b:1:a9:fe:a9fe::", "64:ff9b:1:a9fe:a9:fe00::",
        // 6to4, Teredo (server and client), ISATAP (local and global identifier).
        "2002:a9fe:a9fe::1", "2001:0:a9fe:a9fe::1", "2001:0:102:304::5601:5601", "2001:db8::5efe:169.254.169.254",
        "2001:db8::200:5efe:169.254.169.254", "fd00::5efe:a9fe:a9fe", "2001:4860::300:5efe:a9fe:a9fe",
    ]

    @Test(arguments: never)
    func `metadata, link-local and group addresses are refused under every policy`(text: String) throws {
        let address = try #require(IPAddress(text))
        // The last one has a group bit, so that it is no ISATAP identifier; it stands for all that only look like one.
        let isLookAlike = text.hasPrefix("2001:4860")
        for policy in ["any", "public", "0.0.0.0/0,::/0"] {
            #expect((try #require(NetworkPolicy(policy)).refusal(of: address, usesTLS: true) == nil) == isLookAlike)
        }
    }

    @Test(arguments: ["8.8.8.8", "2606:4700::1111", "64:ff9b::8.8.8.8", "64:ff9b:1::8.8.8.8", "2002:808:808::1", "::ffff:8.8.8.8"])
    func `public addresses are allowed by any, and most by public`(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(NetworkPolicy.any.refusal(of: address, usesTLS: true) == nil)
        let isLocalTranslation = text.hasPrefix("64:ff9b:1")
        #expect((try #require(NetworkPolicy("public")).refusal(of: address, usesTLS: true) == nil) != isLocalTranslation)
        #expect(NetworkPolicy.any.refusal(of: address, usesTLS: false) != nil, "http to the Internet")
    }

    @Test(arguments: [
        "127.0.0.1", "127.255.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "::1", "fd12::1", "fec0::1",
        "::ffff:10.0.0.1",
    ])
    func `private addresses are allowed by any, also with http, and not by public`(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(NetworkPolicy.any.refusal(of: address, usesTLS: false) == nil)
        #expect(try #require(NetworkPolicy("public")).refusal(of: address, usesTLS: true) != nil)
    }

    @Test(arguments: [
        "64:ff9b::10.0.0.1", "2002:a00:1::1", "::10.0.0.1", "2001:0:a00:1::1", "2001:4860::5efe:10.0.0.1", "192.0.2.1", "198.18.0.1",
        "240.0.0.1",
        "2001:db8::1", "100::1", "4000::1", "2001:4860::5efe:127.0.0.1",
    ])
    func `what leads to a private address, or is reserved, is not public`(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(try #require(NetworkPolicy("public")).refusal(of: address, usesTLS: true) != nil)
        #expect(NetworkPolicy.any.refusal(of: address, usesTLS: false) != nil)
    }

    @Test func `ranges allow what is in one of them`() throws {
        let policy = try #require(NetworkPolicy("10.0.0.0/8, 192.0.2.7, fd00::/8"))
        for (text, isAllowed) in [
            ("10.255.0.1", true), ("11.0.0.1", false), ("192.0.2.7", true), ("192.0.2.8", false), ("fdff::1", true), ("fe00::1", false),
            ("::ffff:10.0.0.1", true), ("fd00:ec2::254", false), ("2002:a00:1::", false),
        ] {
            #expect((policy.refusal(of: try #require(IPAddress(text)), usesTLS: true) == nil) == isAllowed, "\(text)")
        }
    }

    @Test(arguments: [
        "", "Public", "10.0.0.0/33", "10.0.0.1/8", "::/129", "10.0.0.0/8,", "10.0.0/8", "any,public", "10.0.0.0/-1", "10.0.0.0/+8", "a/8",
    ])
    func `another text is no policy`(text: String) {
        #expect(NetworkPolicy(text) == nil)
    }

    @Test func `this machine's addresses are found, and others are not`() throws {
        for text in ["127.0.0.1", "127.8.9.1", "::1"] { #expect(LocalAddress.contains(try #require(IPAddress(text)))) }
        for text in ["192.0.2.1", "8.8.8.8", "2001:db8::1"] { #expect(!LocalAddress.contains(try #require(IPAddress(text)))) }
        // The addresses that the system itself lists.
        for text in Interfaces.addresses() { #expect(LocalAddress.contains(try #require(IPAddress(text))), "\(text)") }
    }
}
