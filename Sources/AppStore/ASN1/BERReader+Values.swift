import StrictJSON

extension BERReader {
    /// Reads an octet string and lends a reader of its content: in place, or of a copy when it is segmented.
    mutating func withOctets<Value, Failure: Error>(
        _ body: (BERReader) throws(Failure) -> Value
    ) throws(ASN1Error) -> Result<Value, Failure> {
        let element = try nextOctetString()
        guard element.tag == .segmentedOctetString else {
            let reader = reader(in: element)
            return Result { () throws(Failure) in try body(reader) }
        }
        let joined = try octets(of: element)
        return joined.withUnsafeBufferPointer { buffer in Result { () throws(Failure) in try body(BERReader(buffer)) } }
    }

    /// Reads an octet string and returns its content.
    mutating func readOctets() throws(ASN1Error) -> [UInt8] { try octets(of: try nextOctetString()) }

    /// Reads an octet string, whole or segmented.
    mutating func nextOctetString() throws(ASN1Error) -> BERElement {
        try nextTag == .segmentedOctetString ? next() : next(.octetString)
    }

    /// The content of an octet string, never larger than the encoding.
    func octets(of element: BERElement) throws(ASN1Error) -> [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(element.content.count)
        try append(element, to: &octets, depth: 1)
        return octets
    }

    private func append(_ element: BERElement, to octets: inout [UInt8], depth: Int) throws(ASN1Error) {
        guard element.tag == .segmentedOctetString else {
            octets.append(contentsOf: bytes[element.content])
            return
        }
        guard depth <= Self.maximumDepth else { throw ASN1Error(.tooDeep, at: element.offset) }
        var segments = reader(in: element)
        while !segments.isAtEnd {
            try append(try segments.nextOctetString(), to: &octets, depth: depth + 1)
        }
    }

    /// Reads an integer of at most 64 bits; ignores redundant leading zeros or ones, which BER allows.
    mutating func readInteger() throws(ASN1Error) -> Int64 {
        let element = try next(.integer)
        guard let first = element.content.first else { throw ASN1Error(.integerInvalid, at: element.offset) }
        let filling: UInt8 = bytes[first] & 0x80 == 0 ? 0 : 0xff
        var digits = element.content
        while digits.count > 8, bytes[digits.lowerBound] == filling { digits = digits.dropFirst() }
        guard digits.count <= 8, bytes[digits.lowerBound] & 0x80 == filling & 0x80 else {
            throw ASN1Error(.integerInvalid, at: element.offset)
        }
        return digits.reduce(filling == 0 ? Int64(0) : -1) { $0 << 8 | Int64(bytes[$1]) }
    }

    /// Reads a UTF8String, IA5String, PrintableString or VisibleString.
    mutating func readText() throws(ASN1Error) -> String {
        let element = try nextText()
        let content = UnsafeBufferPointer(rebasing: bytes[element.content])
        // Nearly all text is ASCII, and the validating initializer is slow.
        if ByteScan.isASCII(content) { return String(decoding: content, as: UTF8.self) }
        guard element.tag == .utf8String, let text = String(validating: content, as: UTF8.self) else {
            throw ASN1Error(.textInvalid, at: element.offset)
        }
        return text
    }

    /// Reads a string with an RFC 3339 date; an empty string is nil.
    mutating func readDate() throws(ASN1Error) -> Timestamp? {
        let element = try nextText()
        if element.content.isEmpty { return nil }
        guard let date = Timestamp(rfc3339: UnsafeBufferPointer(rebasing: bytes[element.content])) else {
            throw ASN1Error(.dateInvalid, at: element.offset)
        }
        return date
    }

    private mutating func nextText() throws(ASN1Error) -> BERElement {
        switch nextTag {
        case .utf8String?, .ia5String?, .printableString?, .visibleString?: try next()
        case nil: throw ASN1Error(.truncated, at: position)
        default: throw ASN1Error(.unexpectedTag, at: position)
        }
    }
}
