/// A P-256 signature in the two forms that protocols use: r and s side by side (RFC 7518 §3.4) and DER (RFC 3279 §2.2.3).
package enum ECDSASignature {
    static let rawByteCount = 64

    /// Whether `raw` is r and s side by side in 64 bytes, each in 1 ..< n.
    ///
    /// A high s is valid: half of Apple's signatures have one.
    package static func isWellFormed(raw: [UInt8]) -> Bool {
        raw.count == rawByteCount && isInRange(raw[..<32]) && isInRange(raw[32...])
    }

    /// The order n of P-256's base point (SEC 2 §2.4.2): r and s lie in 1 ..< n.
    private static let order: [UInt8] = [
        0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
    ]

    /// `SEQUENCE { INTEGER r, INTEGER s }`, or nil unless `raw` is well-formed.
    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard isWellFormed(raw: raw) else { return nil }
        var der: [UInt8] = [0x30, 0]
        der.reserveCapacity(72)
        appendInteger(raw[..<32], to: &der)
        appendInteger(raw[32...], to: &der)
        der[1] = UInt8(der.count - 2)
        return der
    }

    private static func isInRange(_ integer: ArraySlice<UInt8>) -> Bool {
        integer.contains { $0 != 0 } && integer.lexicographicallyPrecedes(order)
    }

    private static func appendInteger(_ bigEndian: ArraySlice<UInt8>, to der: inout [UInt8]) {
        let magnitude = bigEndian.drop { $0 == 0 }
        let needsSignByte = (magnitude.first ?? 0) >= 0x80
        der.append(0x02)
        der.append(UInt8(magnitude.count + (needsSignByte ? 1 : 0)))
        if needsSignByte { der.append(0) }
        der.append(contentsOf: magnitude)
    }
}
