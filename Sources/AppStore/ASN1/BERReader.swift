import StrictJSON

/// A cursor over the elements of a BER encoding (X.690 §8; includes DER) that never reads outside its range.
///
/// The caller drives the structure. Skipping an element of indefinite length is a loop with a depth limit, so hostile nesting costs
/// neither stack nor quadratic time. The reader neither copies nor allocates.
///
/// The reader borrows the buffer; it must not outlive the closure that lent it.
struct BERReader {
    /// How deep indefinite lengths, or segmented octet strings, may nest; receipts use four levels.
    static let maximumDepth = 16

    let bytes: UnsafeBufferPointer<UInt8>
    private(set) var position: Int
    private let end: Int

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.init(bytes, 0..<bytes.count)
    }

    /// A reader of a part of the buffer; the range lies within it.
    init(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    var isAtEnd: Bool { position >= end }

    /// The unread range of the buffer.
    var range: Range<Int> { position..<end }

    /// The tag at the cursor, nil at the end.
    var nextTag: BERTag? { isAtEnd ? nil : BERTag(octet: bytes[position]) }

    /// A reader of an element's content.
    func reader(in element: BERElement) -> BERReader { BERReader(bytes, element.content) }

    /// Reads the next element, of any tag.
    mutating func next() throws(ASN1Error) -> BERElement {
        let offset = position
        let (tag, length) = try readHeader()
        guard tag.octet != 0 else { throw ASN1Error(.unexpectedEndOfContents, at: offset) }
        let start = position
        if let length {
            position = start + length
            return BERElement(tag: tag, offset: offset, content: start..<position, end: position)
        }
        let contentEnd = try skipIndefiniteContent(of: offset)
        return BERElement(tag: tag, offset: offset, content: start..<contentEnd, end: position)
    }

    /// Reads the next element, which must have that tag.
    mutating func next(_ tag: BERTag) throws(ASN1Error) -> BERElement {
        guard let found = nextTag else { throw ASN1Error(.truncated, at: position) }
        guard found == tag else { throw ASN1Error(.unexpectedTag, at: position) }
        return try next()
    }

    /// Reads the next element if it has that tag.
    mutating func nextIf(_ tag: BERTag) throws(ASN1Error) -> BERElement? {
        nextTag == tag ? try next() : nil
    }

    /// Reads the next element, which must have that tag, and returns a reader of its content.
    mutating func enter(_ tag: BERTag) throws(ASN1Error) -> BERReader {
        reader(in: try next(tag))
    }

    /// Throws unless the reader is at its end.
    func expectEnd() throws(ASN1Error) {
        guard isAtEnd else { throw ASN1Error(.trailingBytes, at: position) }
    }

    /// Reads tag and length; a nil length is indefinite, a definite one fits the remaining bytes.
    private mutating func readHeader() throws(ASN1Error) -> (BERTag, length: Int?) {
        let offset = position
        let tag = BERTag(octet: try readOctet())
        if tag.octet & 0x1f == 0x1f {
            while try readOctet() & 0x80 != 0 {}
        }
        let first = try readOctet()
        if first == 0x80 {
            guard tag.isConstructed else { throw ASN1Error(.indefinitePrimitive, at: offset) }
            return (tag, nil)
        }
        var length = Int(first)
        if first > 0x80 {
            guard first != 0xff else { throw ASN1Error(.lengthInvalid, at: offset) }
            length = 0
            for _ in 0..<(first & 0x7f) {
                // BER allows leading zeros: limit the value, not the number of octets.
                guard length < 1 << 32 else { throw ASN1Error(.lengthInvalid, at: offset) }
                length = length << 8 | Int(try readOctet())
            }
        }
        guard length <= end - position else { throw ASN1Error(.lengthBeyondEnd, at: offset) }
        return (tag, length)
    }

    private mutating func readOctet() throws(ASN1Error) -> UInt8 {
        guard position < end else { throw ASN1Error(.truncated, at: position) }
        defer { position += 1 }
        return bytes[position]
    }

    /// Skips to after the end-of-contents of the element at `offset`, whose header was read; returns where the content ends.
    private mutating func skipIndefiniteContent(of offset: Int) throws(ASN1Error) -> Int {
        var open = 1
        while !isAtEnd {
            let start = position
            let (tag, length) = try readHeader()
            if tag.octet == 0 {
                guard length == 0 else { throw ASN1Error(.unexpectedEndOfContents, at: start) }
                open -= 1
                if open == 0 { return start }
            } else if let length {
                position += length
            } else {
                open += 1
                guard open <= Self.maximumDepth else { throw ASN1Error(.tooDeep, at: start) }
            }
        }
        throw ASN1Error(.unterminated, at: offset)
    }

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
    private mutating func nextOctetString() throws(ASN1Error) -> BERElement {
        try nextTag == .segmentedOctetString ? next() : next(.octetString)
    }

    /// The content of an octet string, never larger than the encoding.
    private func octets(of element: BERElement) throws(ASN1Error) -> [UInt8] {
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

    /// Reads an object identifier and returns its content.
    mutating func readObjectIdentifier() throws(ASN1Error) -> [UInt8] { Array(bytes[try next(.objectIdentifier).content]) }

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

/// One element of an ASN.1 encoding: its tag and its position.
struct BERElement {
    let tag: BERTag
    /// Where the tag begins.
    let offset: Int
    /// The content, without the end-of-contents of an indefinite length.
    let content: Range<Int>
    /// Where the next element begins.
    let end: Int
}

/// The first octet of a tag (X.690 §8.1.2): class, constructed bit, and the number when it is below 31.
///
/// Tag numbers from 31 on all compare equal; Apple uses none.
struct BERTag: Hashable {
    let octet: UInt8

    static let integer = BERTag(octet: 0x02)
    static let bitString = BERTag(octet: 0x03)
    static let octetString = BERTag(octet: 0x04)
    /// An octet string in segments (X.690 §8.7.3), BER only.
    static let segmentedOctetString = BERTag(octet: 0x24)
    static let null = BERTag(octet: 0x05)
    static let objectIdentifier = BERTag(octet: 0x06)
    static let utf8String = BERTag(octet: 0x0c)
    static let printableString = BERTag(octet: 0x13)
    static let ia5String = BERTag(octet: 0x16)
    static let visibleString = BERTag(octet: 0x1a)
    static let sequence = BERTag(octet: 0x30)
    static let set = BERTag(octet: 0x31)

    /// The explicit tag `[number]`.
    static func context(_ number: UInt8) -> BERTag { BERTag(octet: 0xa0 | number) }

    var isConstructed: Bool { octet & 0x20 != 0 }
}

/// The encoded object identifiers of signed receipts and of certificates' keys.
enum ObjectIdentifier {
    /// 1.2.840.10045.2.1
    static let ecPublicKey: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]
    /// 1.2.840.10045.3.1.7
    static let p256: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
    /// 1.3.132.0.34
    static let p384: [UInt8] = [0x2b, 0x81, 0x04, 0x00, 0x22]
    /// 1.2.840.113549.1.7.1
    static let data: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01]
    /// 1.2.840.113549.1.7.2
    static let signedData: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02]
    /// 1.2.840.113549.1.9.3
    static let contentType: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03]
    /// 1.2.840.113549.1.9.4
    static let messageDigest: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04]
    /// 1.3.14.3.2.26
    static let sha1: [UInt8] = [0x2b, 0x0e, 0x03, 0x02, 0x1a]
    /// 2.16.840.1.101.3.4.2.1
    static let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
    /// 1.2.840.113549.1.1.1
    static let rsaEncryption: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]
    /// 1.2.840.113549.1.1.5
    static let sha1WithRSA: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05]
    /// 1.2.840.113549.1.1.11
    static let sha256WithRSA: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b]
}

/// Why an encoding is not the expected ASN.1, and at which byte.
package struct ASN1Error: Error, Hashable, Sendable {
    package enum Code: String, CaseIterable, Sendable {
        /// The bytes end within a tag or a length.
        case truncated
        /// A length exceeds the enclosing element.
        case lengthBeyondEnd = "length_beyond_end"
        /// A length out of range, or in the reserved form.
        case lengthInvalid = "length_invalid"
        /// A primitive element with an indefinite length.
        case indefinitePrimitive = "indefinite_primitive"
        /// An indefinite length without end-of-contents.
        case unterminated
        /// End-of-contents outside an element of indefinite length.
        case unexpectedEndOfContents = "unexpected_end_of_contents"
        /// Nested deeper than ``BERReader/maximumDepth``.
        case tooDeep = "too_deep"
        /// An element of another type than expected.
        case unexpectedTag = "unexpected_tag"
        /// Bytes after the expected end.
        case trailingBytes = "trailing_bytes"
        /// More elements than the limit.
        case tooMany = "too_many"
        /// An empty integer, or one of more than 64 bits.
        case integerInvalid = "integer_invalid"
        /// Text that is not UTF-8, or not ASCII in a type that allows only ASCII.
        case textInvalid = "text_invalid"
        /// Text that is not an RFC 3339 date.
        case dateInvalid = "date_invalid"
    }

    package let code: Code
    /// Byte offset in the encoding; inside a segmented octet string, the offset in the joined segments.
    package let offset: Int

    package init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }
}

extension ASN1Error: CustomStringConvertible {
    package var description: String { "ASN.1: \(code.rawValue) at byte \(offset)" }
}
