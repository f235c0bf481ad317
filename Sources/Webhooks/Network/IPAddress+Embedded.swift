extension IPAddress {
    /// The IPv4 addresses that a packet to this IPv6 address may be delivered to, by translation or in a tunnel. Empty for an IPv4 address.
    var embedded: [IPAddress] {
        guard v4 == nil else { return [] }
        var found: [UInt32] = []
        // Compatible (RFC 4291 §2.5.5.1) and translated (RFC 2765 §2.1): the last 32 bits.
        if bytes.prefix(12).allSatisfy({ $0 == 0 }) && number(at: 12) > 1 { found.append(number(at: 12)) }
        if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0]) { found.append(number(at: 12)) }
        // NAT64 (RFC 6052 §2.2): the well-known prefix has 96 bits, a prefix of a network's own 48 to 96.
        if bytes.starts(with: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]) { found.append(number(at: 12)) }
        if bytes.starts(with: [0, 0x64, 0xff, 0x9b, 0, 1]) {
            let candidates = [
                [6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], [12, 13, 14, 15],
            ].map { $0.reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[$1]) } }
            // Zeros are a part of the prefix or of the suffix.
            found += candidates.filter { $0 >> 24 != 0 }
        }
        // 6to4 (RFC 3056 §2).
        if bytes.starts(with: [0x20, 0x02]) { found.append(number(at: 2)) }
        // Teredo (RFC 4380 §4): the server, and the client with its bits inverted.
        if bytes.starts(with: [0x20, 0x01, 0, 0]) { found += [number(at: 4), ~number(at: 12)] }
        // ISATAP (RFC 5214 §6.1): the interface identifier, with or without the bit of a global one.
        if number(at: 8) & 0xfdff_ffff == 0x0000_5efe { found.append(number(at: 12)) }
        return found.map(IPAddress.init(v4:))
    }
}
