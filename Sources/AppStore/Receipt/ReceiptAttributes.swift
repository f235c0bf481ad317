/// Reads a set of receipt attributes: `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`.
///
/// Ignores further elements of a sequence, for forward compatibility.
struct ReceiptAttributes {
    /// A receipt has one attribute per purchase, hundreds at most, and about forty others; a hostile one could have a hundred thousand.
    static let maximumCount = 20_000

    private var elements: BERReader
    private var count = 0

    /// Reads the header of the set and refuses trailing bytes. The set may be wrapped in an octet string.
    init(_ content: BERReader) throws(ASN1Error) {
        var content = content
        if let wrapped = try content.nextIf(.octetString) {
            try content.expectEnd()
            content = content.reader(in: wrapped)
        }
        elements = try content.enter(.set)
        try content.expectEnd()
    }

    /// Calls `body` with the next attribute's type, version and a reader of its value; returns nil at the end.
    mutating func withNext<Value>(
        _ body: (_ type: Int64, _ version: Int64, _ value: BERReader) throws(MalformedReceipt) -> Value
    ) throws(MalformedReceipt) -> Value? {
        guard !elements.isAtEnd else { return nil }
        let result: Result<Value, MalformedReceipt>
        do throws(ASN1Error) {
            guard count < Self.maximumCount else { throw ASN1Error(.tooMany, at: elements.position) }
            count += 1
            var attribute = try elements.enter(.sequence)
            let type = try attribute.readInteger()
            let version = try attribute.readInteger()
            result = try attribute.withOctets { value throws(MalformedReceipt) in try body(type, version, value) }
        } catch {
            throw MalformedReceipt(path: "", cause: error)
        }
        return try result.get()
    }
}

extension BERReader {
    /// A copy of the unread bytes.
    var remainder: [UInt8] { Array(bytes[range]) }
}
