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
