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
}
