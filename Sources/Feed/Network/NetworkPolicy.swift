/// To which addresses webhooks are sent.
///
/// Link-local and metadata addresses, those of no host and those of many are refused under every policy, also inside an IPv6 address that
/// leads to them.
package struct NetworkPolicy: Hashable, Sendable {
    private enum Kind: Hashable {
        case any, publicOnly
        case ranges([AddressRange])
    }

    private let kind: Kind

    /// All addresses but those that are always refused.
    package static let any = NetworkPolicy(kind: .any)

    private init(kind: Kind) {
        self.kind = kind
    }

    /// Reads `public`, `any`, or ranges such as `10.0.0.0/8,fd00::/8`.
    package init?(_ text: String) {
        switch text {
        case "any": self = .any
        case "public": kind = .publicOnly
        default:
            let parts = text.split(separator: ",", omittingEmptySubsequences: false)
            let ranges = parts.compactMap { AddressRange(String($0.filter { !$0.isWhitespace })) }
            guard ranges.count == parts.count else { return nil }
            kind = .ranges(ranges)
        }
    }

    /// Why an address is refused; nil when it is allowed.
    func refusal(of address: IPAddress, usesTLS: Bool) -> String? {
        let reached = [address] + address.embedded
        if reached.contains(where: Self.never.contains) { return "\(address) is link-local, a metadata service or no host's address" }
        switch kind {
        case .any: break
        case .publicOnly: guard reached.allSatisfy(Self.isPublic) else { return "\(address) is not public" }
        case .ranges(let ranges): guard ranges.contains(address) else { return "\(address) is in none of the allowed networks" }
        }
        guard usesTLS || Self.isPrivate(address) else { return "\(address) is not private, and http is for private addresses only" }
        return nil
    }

    /// Loopback, or not routed on the Internet.
    static func isPrivate(_ address: IPAddress) -> Bool { local.contains(address) }

    private static func isPublic(_ address: IPAddress) -> Bool {
        let isGlobal = address.v4 != nil || globalV6.contains(address)
        return isGlobal && !local.contains(address) && !special.contains(address)
    }

    /// "This network", link-local, multicast and broadcast addresses, and the metadata services of Azure, Oracle, Alibaba, AWS and Google that
    /// have other addresses.
    private static let never = [AddressRange](
        known: """
            0.0.0.0/8 169.254.0.0/16 224.0.0.0/4 255.255.255.255 168.63.129.16 192.0.0.192 100.100.100.200 :: fe80::/10 ff00::/8 \
            fd00:ec2::254 fd20:ce::254
            """
    )

    /// RFC 1122, 1918, 6598, 4193 and 3879.
    private static let local = [AddressRange](
        known: "127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 ::1 fc00::/7 fec0::/10"
    )

    /// Reserved for protocols, examples and benchmarks (RFC 6890).
    private static let special = [AddressRange](
        known: """
            192.0.0.0/24 192.0.2.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 2001:db8::/32 2001:2::/48 3fff::/20
            """
    )

    /// Global unicast, and IPv4 by NAT64, whose embedded address is judged by itself.
    private static let globalV6 = [AddressRange](known: "2000::/3 64:ff9b::/96")
}

/// A block of addresses in CIDR notation.
struct AddressRange: Hashable, Sendable {
    private let address: IPAddress
    /// Of 128 bits.
    private let prefixLength: Int

    /// Reads `10.0.0.0/8`, `fd00::/8`, or a single address. Nil where bits after the prefix are set: probably a mistake.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = IPAddress(String(parts[0])) else { return nil }
        let width = address.v4 != nil && !parts[0].contains(":") ? 32 : 128
        var length = width
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let given = Int(parts[1]),
                given <= width
            else { return nil }
            length = given
        }
        self.address = address
        prefixLength = 128 - width + length
        guard Self.masked(address.bytes, to: prefixLength) == address.bytes else { return nil }
    }

    /// A constant range.
    init(known text: String) {
        guard let range = Self(text) else { preconditionFailure("not a range: \(text)") }
        self = range
    }

    func contains(_ other: IPAddress) -> Bool {
        Self.masked(other.bytes, to: prefixLength) == address.bytes
    }

    private static func masked(_ bytes: [UInt8], to length: Int) -> [UInt8] {
        bytes.enumerated().map { index, byte in
            let kept = min(max(length - index * 8, 0), 8)
            return byte & ~UInt8(truncatingIfNeeded: 0xff >> kept)
        }
    }
}

extension [AddressRange] {
    /// Constant ranges, separated by spaces.
    init(known texts: String) {
        self = texts.split(separator: " ").map { AddressRange(known: String($0)) }
    }

    func contains(_ address: IPAddress) -> Bool { contains { $0.contains(address) } }
}
