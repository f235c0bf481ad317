/// Writes ASN.1 for receipts and their envelopes, in DER or in the BER that Xcode and some of Apple's servers write.
struct ASN1Writer {
    let encoding: ReceiptEncoding

    func sequence(_ parts: [UInt8]...) -> [UInt8] { constructed(0x30, parts) }

    func set(_ parts: [[UInt8]]) -> [UInt8] { constructed(0x31, parts) }

    /// A context-specific tag `[number]`, around a value or instead of a set's own tag.
    func context(_ number: UInt8, _ parts: [[UInt8]]) -> [UInt8] { constructed(0xa0 | number, parts) }

    func octetString(_ content: [UInt8]) -> [UInt8] {
        guard encoding == .indefinite else { return primitive(0x04, content) }
        let segments = stride(from: 0, to: content.count, by: Self.segmentSize).map {
            primitive(0x04, Array(content[$0..<min($0 + Self.segmentSize, content.count)]))
        }
        return constructed(0x24, segments)
    }

    func primitive(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag] + Self.length(content.count) + content }

    func integer(_ value: Int64) -> [UInt8] {
        var octets = withUnsafeBytes(of: value.bigEndian) { Array($0) }
        while octets.count > 1, octets[0] == (octets[1] < 0x80 ? 0 : 0xff) { octets.removeFirst() }
        return primitive(0x02, octets)
    }

    func utf8(_ text: String) -> [UInt8] { primitive(0x0c, Array(text.utf8)) }

    func ia5(_ text: String) -> [UInt8] { primitive(0x16, Array(text.utf8)) }

    private static let segmentSize = 1000

    private func constructed(_ tag: UInt8, _ parts: [[UInt8]]) -> [UInt8] {
        let content = Array(parts.joined())
        return encoding == .indefinite ? [tag, 0x80] + content + [0, 0] : [tag] + Self.length(content.count) + content
    }

    private static func length(_ count: Int) -> [UInt8] {
        guard count > 127 else { return [UInt8(count)] }
        let octets = withUnsafeBytes(of: count.bigEndian) { Array($0.drop { $0 == 0 }) }
        return [0x80 | UInt8(octets.count)] + octets
    }
}

/// How a receipt's envelope is encoded; the content is DER in both.
package enum ReceiptEncoding: Hashable, Sendable, CaseIterable {
    /// DER, as Apple's servers write receipts.
    case der
    /// BER with indefinite lengths and the content in segments, as Xcode writes them.
    case indefinite
}
