/// Why bytes are no ASN.1 of the form that is expected, and where.
package struct ASN1Error: Error, Hashable, Sendable {
    /// The ways in which an encoding can be refused.
    package enum Code: String, CaseIterable, Sendable {
        /// The bytes end within a tag or a length.
        case truncated
        /// A length reaches beyond the end of what surrounds it.
        case lengthBeyondEnd = "length_beyond_end"
        /// A length that no number of bytes here can have, or in the reserved form.
        case lengthInvalid = "length_invalid"
        /// An indefinite length of something that is not constructed.
        case indefinitePrimitive = "indefinite_primitive"
        /// An indefinite length whose end-of-contents never comes.
        case unterminated
        /// End-of-contents where nothing of indefinite length is open.
        case unexpectedEndOfContents = "unexpected_end_of_contents"
        /// More nested than anything genuine.
        case tooDeep = "too_deep"
        /// Another type than the one that belongs here.
        case unexpectedTag = "unexpected_tag"
        /// Something follows where everything should have been read.
        case trailingBytes = "trailing_bytes"
        /// More elements than anything genuine has.
        case tooMany = "too_many"
        /// An integer without digits, or one that does not fit into 64 bits.
        case integerInvalid = "integer_invalid"
        /// Text that is no UTF-8, or not ASCII where only that is allowed.
        case textInvalid = "text_invalid"
        /// Text that is no date of RFC 3339.
        case dateInvalid = "date_invalid"
    }

    package let code: Code
    /// Offset in bytes from the beginning of the encoding; within an octet string that came in segments, of the segments put together.
    package let offset: Int

    /// That fault at that place.
    package init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }
}

extension ASN1Error: CustomStringConvertible {
    package var description: String { "ASN.1: \(code.rawValue) at byte \(offset)" }
}
