/// Reads a set of receipt attributes: `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`.
///
/// What may follow in a sequence is passed over: it would be new.
struct ReceiptAttributes {
    /// Apple's receipts with hundreds of purchases have some forty besides; a hostile one could have a hundred thousand.
    static let maximumCount = 20_000

    private var elements: BERReader
    private var count = 0

    /// Reads the set's own header and refuses what follows it. The whole may be in one more octet string.
    init(_ content: BERReader) throws(ASN1Error) {
        var content = content
        if let wrapped = try content.nextIf(.octetString) {
            try content.expectEnd()
            content = content.reader(in: wrapped)
        }
        elements = try content.enter(.set)
        try content.expectEnd()
    }

    /// Lends the next attribute's type, version and a reader of its value; nil at the end.
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
    /// All that this reader has not passed, copied.
    var remainder: [UInt8] { Array(bytes[range]) }
}
