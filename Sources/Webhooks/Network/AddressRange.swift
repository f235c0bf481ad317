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
