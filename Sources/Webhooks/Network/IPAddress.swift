import Glibc

/// An IPv4 or IPv6 address, without a scope.
struct IPAddress: Hashable, Sendable {
    /// 16 bytes; an IPv4 address is IPv4-mapped (RFC 4291 §2.5.5.2), so that both notations of one address are equal.
    let bytes: [UInt8]

    private static let mappedPrefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

    /// - Parameter bytes: 4 or 16 bytes.
    init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes.count == 4 ? Self.mappedPrefix + bytes : bytes
    }

    init(v4: UInt32) {
        bytes = Self.mappedPrefix + withUnsafeBytes(of: v4.bigEndian) { Array($0) }
    }

    /// Reads the usual notations, as inet_pton(3) does: four decimal numbers, or IPv6 without brackets and scope.
    init?(_ text: String) {
        var (v4, v6) = ([UInt8](repeating: 0, count: 4), [UInt8](repeating: 0, count: 16))
        if inet_pton(AF_INET, text, &v4) == 1 {
            self.init(bytes: v4)
        } else if inet_pton(AF_INET6, text, &v6) == 1 {
            self.init(bytes: v6)
        } else {
            return nil
        }
    }

    /// The IPv4 address; nil for an IPv6 address that is not IPv4-mapped.
    var v4: UInt32? { bytes.starts(with: Self.mappedPrefix) ? number(at: 12) : nil }

    /// The four bytes from `offset`, as a number.
    func number(at offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}

extension IPAddress: CustomStringConvertible {
    var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isV4 = v4 != nil
        let packed = isV4 ? Array(bytes.suffix(4)) : bytes
        guard inet_ntop(isV4 ? AF_INET : AF_INET6, packed, &text, socklen_t(text.count)) != nil else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
