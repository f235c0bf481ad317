/// Writes the few ASN.1 types that certificate extensions need, in DER (X.690).
enum DER {
    static func sequence(_ parts: [UInt8]...) -> [UInt8] { tagged(0x30, Array(parts.joined())) }

    static let null: [UInt8] = [0x05, 0x00]

    static func utf8(_ text: String) -> [UInt8] { tagged(0x0c, Array(text.utf8)) }

    static func ia5(_ text: String) -> [UInt8] { tagged(0x16, Array(text.utf8)) }

    /// A context-specific tag around ready-made content.
    static func context(_ number: UInt8, constructed: Bool = true, _ content: [UInt8]) -> [UInt8] {
        tagged((constructed ? 0xa0 : 0x80) | number, content)
    }

    /// An object identifier of at least two arcs.
    static func oid(_ arcs: UInt64...) -> [UInt8] {
        var content: [UInt8] = []
        for arc in [arcs[0] * 40 + arcs[1]] + arcs.dropFirst(2) {
            var groups = [UInt8(truncatingIfNeeded: arc & 0x7f)]
            var rest = arc >> 7
            while rest > 0 {
                groups.append(UInt8(truncatingIfNeeded: rest & 0x7f) | 0x80)
                rest >>= 7
            }
            content += groups.reversed()
        }
        return tagged(0x06, content)
    }

    private static func tagged(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        guard content.count > 127 else { return [tag, UInt8(content.count)] + content }
        let length = withUnsafeBytes(of: content.count.bigEndian) { Array($0.drop { $0 == 0 }) }
        return [tag, 0x80 | UInt8(length.count)] + length + content
    }
}
