/// A cursor over the elements of an ASN.1 encoding in BER (X.690 §8), of which DER is a part, that never reads outside its range.
///
/// It follows the structure that its caller expects and recurses into nothing by itself, so that nested lengths cost neither stack nor
/// time: passing over an element of indefinite length is a loop with a limit of depth. Nothing is copied and nothing allocated.
///
/// The reader borrows the buffer; it must not outlive the closure that lent it.
struct BERReader {
    /// How many indefinite lengths, and how many segmented octet strings, may be open inside one another; a receipt has four.
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

    /// What is left, in the buffer.
    var range: Range<Int> { position..<end }

    /// The tag at the cursor, nil at the end.
    var nextTag: BERTag? { isAtEnd ? nil : BERTag(octet: bytes[position]) }

    /// A reader of what is in an element of this reader's.
    func reader(in element: BERElement) -> BERReader { BERReader(bytes, element.content) }

    /// Moves over the next element, whatever it is.
    mutating func next() throws(ASN1Error) -> BERElement {
        let offset = position
        let (tag, length) = try readHeader()
        guard tag.octet != 0 else { throw ASN1Error(.unexpectedEndOfContents, at: offset) }
        let start = position
        if let length {
            position = start + length
            return BERElement(tag: tag, offset: offset, content: start..<position, end: position)
        }
        let contentEnd = try passIndefiniteContent(of: offset)
        return BERElement(tag: tag, offset: offset, content: start..<contentEnd, end: position)
    }

    /// Moves over the next element, which must have that tag.
    mutating func next(_ tag: BERTag) throws(ASN1Error) -> BERElement {
        guard let found = nextTag else { throw ASN1Error(.truncated, at: position) }
        guard found == tag else { throw ASN1Error(.unexpectedTag, at: position) }
        return try next()
    }

    /// Moves over the next element if it has that tag.
    mutating func nextIf(_ tag: BERTag) throws(ASN1Error) -> BERElement? {
        nextTag == tag ? try next() : nil
    }

    /// Moves into the next element, which must have that tag, and returns a reader of its content.
    mutating func enter(_ tag: BERTag) throws(ASN1Error) -> BERReader {
        reader(in: try next(tag))
    }

    /// Refuses anything up to the end.
    func expectEnd() throws(ASN1Error) {
        guard isAtEnd else { throw ASN1Error(.trailingBytes, at: position) }
    }

    /// Reads tag and length; nil is an indefinite one. A definite one fits into what is left.
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
                // Leading zeros are BER, so that the number of octets limits nothing; the value does.
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

    /// Moves behind the end-of-contents that belongs to the element at `offset`, whose header was read; returns where that begins.
    private mutating func passIndefiniteContent(of offset: Int) throws(ASN1Error) -> Int {
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
